import type { Scenario, StartMoment } from '../run-scenario.js'
import type { ChaosWorkerOrder } from '../worker.js'
import { lostReplies } from './network-faults.js'
import { away, crash, judgeOutages } from './postgres-faults.js'
import { restarts } from './redis-faults.js'
import { freezes, kills } from './worker-faults.js'

/** The run that every release must pass. */
export const STANDARD: Scenario = {
  id: 'standard',
  title: '40 kill -9, 10 SIGSTOP of three leases, 3 Redis restarts, 20 lost replies',
  needsRedis: true,
  proxied: true,
  pages: 100_000,
  injects: ['kill -9', 'SIGSTOP', 'Redis restart', 'lost reply'],
  rules: { resumeWithinMs: 5_000 },
  inject: async (world) => {
    await Promise.all([kills(world, 40), freezes(world, 10), restarts(world, 3), lostReplies(world, 20)])
  },
}

/** About a minute, for the tests of every day. */
export const SHORT: Scenario = {
  id: 'short',
  title: 'kill -9, SIGSTOP, Redis restart, lost replies',
  needsRedis: true,
  proxied: true,
  pages: 7_000,
  injects: ['kill -9', 'SIGSTOP', 'Redis restart', 'lost reply'],
  rules: { resumeWithinMs: 5_000 },
  inject: async (world) => {
    await Promise.all([kills(world, 5), freezes(world, 1, 0.3), restarts(world, 1), lostReplies(world, 6)])
  },
}

const DEATHS = 10

/** The run that every release must pass with its records in Postgres. */
export const RESULTS: Scenario = {
  id: 'results',
  title: 'Postgres stopped three times and away for 60 s, a worker dies ten times between commit and acknowledgement',
  needsRedis: true,
  needsPostgres: true,
  pages: 100_000,
  injects: ['immediate stop', 'outage', 'death after commit'],
  rules: { resumeWithinMs: 5_000 },
  order: (moment) => dieAfterCommit(moment, DEATHS),
  async inject(world) {
    for (const moment of [0.15, 0.35, 0.55]) {
      await world.until(moment)
      await crash(world, 'immediate stop')
    }
    await world.until(0.7)
    await away(world, world.awayMs ?? 60_000)
    await world.until(0.95)
    world.count('death after commit', world.fleet.killed)
  },
  judge: judgeOutages,
}

/** The same in a few seconds, for the tests of every day. */
export const RESULTS_SHORT: Scenario = {
  ...RESULTS,
  id: 'results-short',
  title: 'Postgres stopped, away for 2 s, a worker dies between commit and acknowledgement',
  pages: 900,
  order: (moment) => dieAfterCommit(moment, 1),
  async inject(world) {
    await world.until(0.2)
    await crash(world, 'immediate stop')
    await world.until(0.5)
    await away(world, 2_000)
    await world.until(0.95)
    world.count('death after commit', world.fleet.killed)
  },
}

/** Always the same worker, so many times. */
function dieAfterCommit({ random, slot, killed }: StartMoment, times: number): Partial<ChaosWorkerOrder> {
  if (slot !== 0 || killed >= times) return {}
  return { dieBefore: { op: 'settle', call: 5 + Math.floor(random() * 15) } }
}

export const MIXES: readonly Scenario[] = [SHORT, STANDARD, RESULTS_SHORT, RESULTS]
