import type { Scenario } from '../run-scenario.js'
import { lostReplies } from './network-faults.js'
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
  pages: 12_000,
  injects: ['kill -9', 'SIGSTOP', 'Redis restart', 'lost reply'],
  rules: { resumeWithinMs: 5_000 },
  inject: async (world) => {
    await Promise.all([kills(world, 5), freezes(world, 1, 0.3), restarts(world, 1), lostReplies(world, 6)])
  },
}
