import { beforeEach, describe, expect, it } from 'vitest'
import { oneLine } from '../../../src/cli/commands/status.js'
import { ManualClock } from '../../../src/clock.js'
import type { Frontier, Lease } from '../../../src/frontier/frontier.js'
import { LOST_AFTER_MS } from '../../../src/frontier/liveness.js'
import { MemoryFrontier } from '../../../src/frontier/memory/memory-frontier.js'
import { memoryNotes } from '../../../src/notes/memory/memory-notes.js'
import { crawlSnapshotOf, workerSnapshots } from '../../../src/observe/snapshots/snapshot.js'
import { missingText } from '../../../src/observe/snapshots/waits.js'
import { DONE, linkTo, specOf, workerOf } from '../../contract/frontier-fixtures.js'

const SECOND = 1_000
const CONCURRENCY = 4
const PAGE_MS = 500
/** Two pages a second and slot. */
const FULL_RATE = (CONCURRENCY * SECOND) / PAGE_MS

/**
 * A worker has every slot of the only host and dies; three others have just started. What is shown each second is compared with what the test itself knows: who
 * died when, what it held, what ended when.
 */
describe('what is shown while a dead worker holds the only host', () => {
  let clock: ManualClock
  let frontier: Frontier
  let workers: Map<string, ReturnType<typeof workerOf>>
  let alive: string[]
  let underWay: { worker: string; lease: Lease; endsAt: number }[]
  let endedAt: number[]

  beforeEach(async () => {
    clock = new ManualClock()
    frontier = new MemoryFrontier({ clock })
    workers = new Map(['w1', 'w2', 'w3', 'w4'].map((name) => [name, workerOf(frontier, name)]))
    alive = ['w1']
    underWay = []
    endedAt = []
    await frontier.open(specOf({ limits: { delayMs: 0, concurrency: CONCURRENCY } }))
    await frontier.add(
      'c1',
      Array.from({ length: 1_000 }, (_, n) => linkTo(`a.test/${n}`)),
    )
    await frontier.seeded('c1')
  })

  /** Half a second of the fleet: pages end, workers ask and beat, somebody reaps. */
  async function pass() {
    const now = clock.now()
    for (const { worker, lease, endsAt } of underWay) {
      if (endsAt > now || !alive.includes(worker)) continue
      const elapsedMs = PAGE_MS
      await frontier.release([{ lease, host: 'a.test', elapsedMs, report: { kind: 'ok' } }])
      const [settled] = await frontier.settle([{ lease, outcome: DONE }])
      if (settled) endedAt.push(now)
    }
    underWay = underWay.filter(({ worker, endsAt }) => alive.includes(worker) && endsAt > now)
    for (const name of alive) {
      await frontier.beat(name, LOST_AFTER_MS)
      const { leases = [] } = (await workers.get(name)?.lease(CONCURRENCY)) ?? {}
      underWay.push(...leases.map((lease) => ({ worker: name, lease, endsAt: now + PAGE_MS })))
    }
    await frontier.reap(100)
    clock.advance(PAGE_MS)
  }

  async function seconds(count: number) {
    for (let half = 0; half < 2 * count; half++) await pass()
  }

  async function snapshot() {
    const now = clock.now()
    const seen = await workerSnapshots({ frontier, notes: memoryNotes({ clock }) }, now)
    const store = { visits: { counts: async () => null } }
    const [crawl] = await frontier.crawls()
    if (crawl === undefined) throw new Error('no crawl')
    return crawlSnapshotOf({ frontier, store: store as never }, crawl, seen, now, true)
  }

  it('is true every second, from the death to the return of its links', async () => {
    await seconds(12)
    expect((await snapshot()).stats.rate).toBeCloseTo(FULL_RATE, 0)
    const held = underWay.filter(({ worker }) => worker === 'w1').length
    expect(held).toBe(CONCURRENCY)
    const diedAt = clock.now() - PAGE_MS
    alive = ['w2', 'w3', 'w4']
    const lines: string[] = []
    let firstPageAt: number | null = null
    for (let second = 1; second <= 18; second++) {
      await seconds(1)
      const now = clock.now()
      const { stats, waits, estimate, advice } = await snapshot()
      lines.push(oneLine({ stats, waits, estimate, now }))
      const silentMs = now - diedAt
      firstPageAt ??= endedAt.find((at) => at > diedAt + PAGE_MS) ?? null
      const recent = endedAt.filter((at) => at > now - 10_000).length
      // Until it is over, the stall is part of the last ten seconds; after it, the rate is that of the pages since.
      if (firstPageAt === null) expect(Math.abs(stats.rate * 10 - recent), lines.at(-1)).toBeLessThanOrEqual(FULL_RATE)
      else if (now - firstPageAt >= 3 * SECOND) {
        expect(Math.abs(stats.rate - FULL_RATE), lines.at(-1)).toBeLessThan(0.25 * FULL_RATE)
        expect(estimate.etaSeconds, lines.at(-1)).toBeLessThan((1.25 * stats.queued) / FULL_RATE)
      }
      const isHeld = stats.leased > 0 && silentMs < LOST_AFTER_MS
      if (silentMs < 5_000) {
        expect(waits.missing, lines.at(-1)).toEqual([])
      } else if (isHeld) {
        expect(waits.missing, lines.at(-1)).toEqual([
          {
            ...{ worker: 'w1', machine: null, since: diedAt, links: held, backAt: diedAt + LOST_AFTER_MS },
            hosts: ['a.test'],
          },
        ])
        const left = (LOST_AFTER_MS - silentMs) / SECOND
        const drain = (stats.queued * (PAGE_MS / CONCURRENCY)) / SECOND
        expect(estimate.decidedBy).toEqual({ kind: 'host', host: 'a.test', reason: 'missing' })
        expect(estimate.etaSeconds).toBeGreaterThan(left + 0.9 * drain)
        expect(estimate.etaSeconds).toBeLessThan(left + 1.1 * drain + 1)
        const [missing] = waits.missing
        expect(advice).toMatchObject({ stage: 'workers', moreWorkers: 0 })
        expect(advice.sentence).toBe(missing === undefined ? '' : missingText(missing, now))
      } else {
        expect(waits.missing, lines.at(-1)).toEqual([])
      }
    }
    // A stall of ten seconds is 0/s before it ends; then the others have the host.
    expect(lines.filter((line) => line.includes(' 0.0/s '))).not.toEqual([])
    expect((firstPageAt ?? 0) - diedAt).toBeLessThanOrEqual(LOST_AFTER_MS + 2 * SECOND)
    expect(lines.find((line) => line.includes('w1'))).toMatch(
      /^running · \d+ pending · 4 in flight · \d+ done · 0 failed · 0 dead · [\d.]+\/s · ends in about .*, limited by a\.test \(its slots are held by a missing worker\) · worker w1 is missing, last seen [\d.]+ s ago; its 4 links return to the queue in [\d.]+ s$/,
    )
  })
})
