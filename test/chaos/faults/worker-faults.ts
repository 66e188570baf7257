import { setTimeout as sleep } from 'node:timers/promises'
import type { AccessEntry } from '../../support/access-log.js'
import { startCli } from '../../support/cli.js'
import type { Violation } from '../checker.js'
import { deliveriesOf } from '../deliveries.js'
import type { HistoryEvent } from '../history.js'
import type { Scenario } from '../run-scenario.js'
import { type World, waitFor } from '../world.js'

/** What happens to worker processes. */

/** So many random moments of the crawl, early to late. */
export function moments(random: () => number, count: number, from = 0.05, to = 0.8): number[] {
  return Array.from({ length: count }, () => from + random() * (to - from)).sort((a, b) => a - b)
}

const anyWorker = ({ random, fleet }: World) => Math.floor(random() * fleet.size)

export async function kills(world: World, count: number, pauseMs = 300): Promise<void> {
  for (const moment of moments(world.random, count)) {
    await world.until(moment)
    // One that starts cannot be killed again at once: it would never get to its work.
    while (!world.fleet.kill(anyWorker(world))) await sleep(50)
    world.count('kill -9')
    await sleep(pauseMs)
  }
}

export async function freezes(world: World, count: number, to = 0.7): Promise<void> {
  const thawed: Promise<unknown>[] = []
  for (const moment of moments(world.random, count, 0.05, to)) {
    await world.until(moment)
    thawed.push(
      world.fleet
        .freeze(anyWorker(world), 3 * world.pace.leaseMs)
        .then((frozen) => world.count('SIGSTOP', frozen ? 1 : 0)),
    )
    // Two at a time at most: the others must have something to take over.
    if (thawed.length % 2 === 0) await Promise.all(thawed)
  }
  await Promise.all(thawed)
}

/** Shorter than the leases of these runs, so that silence is what ends those of a dead worker. */
const LOST_AFTER_MS = 5_000

const KILLED: Scenario = {
  id: 'X1',
  title: 'workers killed in mid-fetch',
  injects: ['kill -9'],
  leaseMs: 15_000,
  order: () => ({ lostAfterMs: LOST_AFTER_MS }),
  // The silence, the reaper's second, and one more.
  rules: { reclaimWithinMs: LOST_AFTER_MS + 2_000, lostAfterMs: LOST_AFTER_MS },
  // One at a time: the others must be there to take over.
  inject: (world) => kills(world, 6, 5_000),
}

const BEFORE_SETTLE: Scenario = {
  id: 'X2',
  title: 'workers die between commit and settle',
  injects: ['death'],
  order: ({ random, share }) =>
    share > 0.7 ? {} : { dieBefore: { op: 'settle', call: 20 + Math.floor(random() * 100) } },
  async inject(world) {
    await world.until(0.9)
    world.count('death', world.fleet.killed)
  },
}

const BEFORE_WRITE: Scenario = {
  id: 'X3',
  title: 'workers die between fetch and commit',
  injects: ['death'],
  order: ({ random, share }) =>
    share > 0.7 ? {} : { dieBefore: { op: 'write', call: 20 + Math.floor(random() * 100) } },
  async inject(world) {
    await world.until(0.9)
    world.count('death', world.fleet.killed)
  },
}

const FROZEN: Scenario = {
  id: 'X4',
  title: 'workers frozen for three leases',
  injects: ['SIGSTOP'],
  leaseMs: 8_000,
  order: () => ({ lostAfterMs: LOST_AFTER_MS }),
  rules: { lostAfterMs: LOST_AFTER_MS },
  inject: (world) => freezes(world, 4),
}

const ALL_FROZEN: Scenario = {
  id: 'X5',
  title: 'all workers frozen, woken at once',
  injects: ['SIGSTOP of all'],
  leaseMs: 8_000,
  // Nobody watches meanwhile, so nobody is lost.
  order: () => ({ lostAfterMs: LOST_AFTER_MS }),
  async inject(world) {
    for (const moment of [0.2, 0.5]) {
      await world.until(moment)
      const frozen = await world.fleet.freezeAll(3 * world.pace.leaseMs)
      world.injector.record([{ op: 'heal', phase: 'info', id: '', epoch: '', host: '' }])
      world.count('SIGSTOP of all', frozen > 0 ? 1 : 0)
    }
  },
  judge(world, { accesses, history }) {
    const wakes = history.filter(({ op }) => op === 'heal').map(({ tMono }) => tMono)
    world.figure('most requests of a host in the first second', mostInFirstSecond(accesses, wakes))
    return []
  },
}

function mostInFirstSecond(accesses: readonly AccessEntry[], wakes: readonly number[]): number {
  let most = 0
  for (const wake of wakes) {
    const counts = new Map<string, number>()
    for (const { host, t } of accesses) if (t >= wake && t < wake + 1000) counts.set(host, (counts.get(host) ?? 0) + 1)
    most = Math.max(most, ...counts.values())
  }
  return most
}

const BLOCKED: Scenario = {
  id: 'X6',
  title: 'a handler blocks the event loop for 10 s',
  site: { burns: 3 },
  injects: ['blocked loop'],
  async inject(world) {
    await world.until(1)
    world.count('blocked loop', world.site.site.options.burns)
  },
  judge(world, { history }) {
    world.figure('leases lost', deliveriesOf(history).all.filter(({ accepted }) => accepted === null).length)
    return []
  },
}

const OUT_OF_MEMORY: Scenario = {
  id: 'X7',
  title: 'a page that ends its worker for want of memory',
  site: { bloats: 2 },
  execArgv: ['--max-old-space-size=160'],
  injects: ['out of memory'],
  async inject(world) {
    await world.until(1)
    const { bloats } = world.site.site.options
    await waitFor(() => world.fleet.crashes.length >= 2 * bloats, 60_000)
    world.count('out of memory', world.fleet.crashes.length)
  },
  judge(world) {
    const crashes = world.fleet.crashes.length
    const each = crashes / world.site.site.options.bloats
    world.figure('crashes per poison page', each)
    return each > 3 ? [{ invariant: 'I7', detail: `${each} crashes for each page that kills its worker` }] : []
  },
}

/** A worker that stopped as asked leaves nothing in hand. */
function leftOver(history: readonly HistoryEvent[]): Violation[] {
  const stopped = new Set(history.filter(({ op, phase }) => op === 'exit' && phase === 'ok').map(({ proc }) => proc))
  return deliveriesOf(history)
    .all.filter(({ proc, accepted }) => stopped.has(proc) && accepted === null)
    .map(({ id, proc }) => ({ invariant: 'I11', detail: `${proc} stopped and kept ${id}` }))
}

const TERMINATED: Scenario = {
  id: 'X8',
  title: 'SIGTERM, SIGKILL after 10 s',
  injects: ['SIGTERM'],
  async inject(world) {
    let slowest = 0
    for (const moment of moments(world.random, 8)) {
      await world.until(moment)
      const took = await world.fleet.terminate(anyWorker(world))
      if (took === null) continue
      slowest = Math.max(slowest, took)
      world.count('SIGTERM')
    }
    world.figure('slowest stop, ms', Math.round(slowest))
  },
  judge(world, { history }) {
    const left = leftOver(history)
    world.figure('leases left over', left.length)
    return left
  },
}

const ROLLING: Scenario = {
  id: 'X9',
  title: 'rolling restart of all workers',
  pages: 10_000,
  injects: ['restart'],
  async inject(world) {
    await world.until(0.3)
    const before = rate(world)
    await sleep(3_000)
    const steady = before()
    const during = rate(world)
    for (let slot = 0; slot < world.fleet.size; slot++) {
      if ((await world.fleet.terminate(slot)) !== null) world.count('restart')
      await sleep(1_000)
    }
    world.figure('throughput dip, %', Math.round(100 * (1 - during() / steady)))
  },
  judge: (_, { history }) => leftOver(history),
}

/** Pages per second from now on. */
function rate(world: World): () => number {
  const began = performance.now()
  const served = world.site.served
  return () => (1000 * (world.site.served - served)) / (performance.now() - began)
}

const CHURN: Scenario = {
  id: 'X10',
  title: 'a hundred starts and stops in a minute',
  pages: 10_000,
  injects: ['stop'],
  async inject(world) {
    await world.until(0.05)
    const end = performance.now() + 60_000
    for (let stop = 0; stop < 100 && performance.now() < end; stop++) {
      const pick = anyWorker(world)
      if (stop % 2 === 0) world.count('stop', world.fleet.kill(pick) ? 1 : 0)
      else void world.fleet.terminate(pick).then((took) => world.count('stop', took === null ? 0 : 1))
      await sleep(600)
    }
  },
  async judge(world) {
    const workers = await world.backends.frontier.workers()
    world.figure('workers started', world.fleet.started)
    world.figure('workers in the registry', workers.length)
    return []
  },
}

const SKEWED: Scenario = {
  id: 'X24',
  title: 'clocks of the workers off by ten minutes, jumping',
  injects: ['skewed worker'],
  order: ({ random }) => ({
    clockOffsetsMs: Array.from({ length: 60 }, () => Math.round((random() * 2 - 1) * 600_000)),
  }),
  async inject(world) {
    await world.until(0.9)
    world.count('skewed worker', world.fleet.size)
  },
}

const FEW_FILES: Scenario = {
  id: 'X33',
  title: 'file descriptors run out',
  spareFiles: 4,
  injects: ['limited worker'],
  async inject(world) {
    await world.until(0.9)
    world.count('limited worker', world.fleet.size)
  },
  async judge(world) {
    const stats = await world.stats()
    world.figure('visits failed', stats?.failed ?? 'unknown')
    return []
  },
}

const TWO_COORDINATORS: Scenario = {
  id: 'X32',
  title: 'two coordinators at once, both killed; nobody coordinates',
  fleet: 'product',
  needsRedis: true,
  injects: ['coordinator killed', 'worker killed'],
  async inject(world) {
    const { redis, spiderFile, store } = world
    const args = ['run', spiderFile, '--queue', redis?.server.url ?? '', '--store', store, '--concurrency', '4']
    for (const moment of [0.1, 0.4]) {
      await world.until(moment)
      // Both open the crawl, seed it and work on it; then they are gone at once.
      const both = [startCli(args), startCli(args)]
      await sleep(5_000)
      for (const { child } of both) world.count('coordinator killed', child.kill('SIGKILL') ? 1 : 0)
      world.count('worker killed', world.fleet.kill(anyWorker(world)) ? 1 : 0)
    }
  },
}

export const WORKER_FAULTS: readonly Scenario[] = [
  KILLED,
  BEFORE_SETTLE,
  BEFORE_WRITE,
  FROZEN,
  ALL_FROZEN,
  BLOCKED,
  OUT_OF_MEMORY,
  TERMINATED,
  ROLLING,
  CHURN,
  SKEWED,
  TWO_COORDINATORS,
  FEW_FILES,
]
