import { expect, test } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { HostReport, Lease } from '../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { type Profile, profileOf } from '../../src/simulate/profile.js'
import type { ProfileInput } from '../../src/simulate/profile-schema.js'
import { BEGIN, Simulation } from '../../src/simulate/simulation.js'
import { type Answer, Web } from '../../src/simulate/web.js'
import type { Link } from '../../src/url/link.js'

/**
 * The independent oracle: the same web, asked through the memory frontier, which answers every question by looking through everything. Both must start the
 * same hosts at the same times, in the same order.
 */
const SLOTS = 4

interface Start {
  readonly at: number
  readonly host: number
}

function simulatedStarts(profile: Profile): Start[] {
  const starts: Start[] = []
  const simulation = new Simulation(profile, (event, at, host) => {
    if (event === 'start') starts.push({ at: at - BEGIN, host })
  })
  while (!simulation.run(10_000));
  return starts
}

async function realStarts(profile: Profile): Promise<Start[]> {
  const clock = new ManualClock(BEGIN)
  const frontier = new MemoryFrontier({ clock })
  const web = new Web(profile)
  const starts: Start[] = []
  // No lease runs out: nobody renews them here.
  await frontier.open({ ...profile.spec, id: 'c', spider: 's', visibilityMs: 1e9 })
  for (let host = 0; host < profile.hosts; host++)
    await frontier.add(
      'c',
      Array.from({ length: web.urls[host] ?? 0 }, (_, nth) => linkTo(host, nth)),
    )
  await frontier.seeded('c')
  const flying: { lease: Lease; host: number; sentAt: number; endAt: number; answer: Answer }[] = []
  for (let seq = 1; ; seq++) {
    const { leases } = await frontier.lease({ worker: 'w', seq, want: SLOTS - flying.length, spiders: ['s'] })
    for (const lease of leases) {
      const host = Number(lease.link.host.slice(1))
      const answer: Answer = { kind: 'page', latencyMs: 0 }
      const now = clock.now()
      web.answer(host, now, answer)
      starts.push({ at: now - BEGIN, host })
      flying.push({ lease, host, sentAt: now, endAt: now + answer.latencyMs, answer })
    }
    flying.sort((a, b) => a.endAt - b.endAt)
    const stats = await frontier.stats('c')
    if (stats.state === 'finished') return starts
    // The next end, or the next millisecond at which a host may open.
    const { idleMs } = await frontier.lease({ worker: 'w', seq: ++seq, want: 0, spiders: ['s'] })
    const first = flying[0]
    const nextAt = Math.min(
      first?.endAt ?? Number.POSITIVE_INFINITY,
      flying.length < SLOTS ? clock.now() + idleMs : Number.POSITIVE_INFINITY,
    )
    clock.advance(nextAt - clock.now())
    if (first === undefined || first.endAt > clock.now()) continue
    flying.shift()
    const report: HostReport = first.answer.kind === 'server_error' ? { kind: 'failed' } : { kind: 'ok' }
    const elapsedMs = clock.now() - first.sentAt
    await frontier.release([
      { lease: first.lease, host: first.lease.link.host, elapsedMs, latencyMs: first.answer.latencyMs, report },
    ])
    const failure = { code: 'server_error' as const, message: 'simulated' }
    const isDead = first.lease.attempt > profile.retries.max
    await frontier.settle([
      {
        lease: first.lease,
        outcome:
          first.answer.kind === 'page'
            ? { kind: 'done', links: [], bytes: 0 }
            : isDead
              ? { kind: 'dead', failure }
              : { kind: 'retry', afterMs: RETRY_MS, failure, countsAsAttempt: true },
      },
    ])
  }
}

const RETRY_MS = 2_000

function linkTo(host: number, nth: number): Link {
  return {
    url: `http://h${host}/${nth}`,
    fp: `${host}-${nth}`,
    host: `h${host}`,
    route: 'page',
    depth: 0,
    priority: 0,
  } as Link
}

const CALM: ProfileInput = {
  ...{ seeds: 'all', zipf: 1, concurrency: SLOTS },
  failures: { serverErrors: 0, timeouts: 0, connections: 0, notFound: 0, hostsDown: 0 },
  robots: { enabled: false },
  page: { cpu: 0 },
  queue: { call: 0 },
}

/** Nothing but the queue decides: its server answers at once, and retries wait for a fixed time. */
function profileFor(input: ProfileInput): Profile {
  const profile = profileOf({ ...CALM, ...input })
  return {
    ...profile,
    retries: { ...profile.retries, backoff: { kind: 'fixed', ms: RETRY_MS } },
    queue: { ...profile.queue, cpuMs: 0 },
  }
}

const CASES: readonly [string, ProfileInput][] = [
  ['a delay', { urls: 60, hosts: 5, pace: { delay: '1s' } }],
  ['an adaptive delay on slow hosts', { urls: 60, hosts: 5, pace: { delay: '200ms' }, latency: { median: '2s' } }],
  ['a rate with a burst', { urls: 80, hosts: 4, pace: { rate: '3/s', burst: 3 } }],
  ['no delay, two at once', { urls: 80, hosts: 6, pace: { delay: 0, concurrency: 2 } }],
  ['retries', { urls: 60, hosts: 5, pace: { delay: '500ms' }, failures: { ...CALM.failures, serverErrors: 0.3 } }],
  ['more hosts than slots', { urls: 60, hosts: 30, pace: { delay: '300ms' } }],
]

test.each(CASES)('starts as the memory frontier does: %s', async (_, input) => {
  for (let seed = 1; seed <= 3; seed++) {
    const profile = profileFor({ ...input, seed })
    const real = await realStarts(profile)
    const simulated = simulatedStarts(profile)
    expect(simulated).toEqual(real)
  }
})
