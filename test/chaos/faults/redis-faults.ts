import { setTimeout as sleep } from 'node:timers/promises'
import { type CliResult, runCli } from '../../support/cli.js'
import type { Violation } from '../checker.js'
import type { Redis } from '../redis.js'
import type { Scenario } from '../run-scenario.js'
import { fault, healed, type World, waitFor } from '../world.js'
import { moments } from './worker-faults.js'

/** What happens to Redis itself. */

export function redisOf(world: World): Redis {
  if (world.redis === null) throw new Error('this fault needs a Redis')
  return world.redis
}

/** `kill -9` and a start on the same directory. */
export async function restarts(world: World, count: number): Promise<void> {
  const { server } = redisOf(world)
  for (const moment of moments(world.random, count)) {
    await world.until(moment)
    fault(world, 'redis restart')
    await server.restart()
    healed(world)
    world.count('Redis restart')
    await sleep(500)
  }
}

const RESTARTED: Scenario = {
  id: 'X11',
  title: 'Redis killed and started again, append-only file every second',
  needsRedis: true,
  injects: ['Redis restart'],
  rules: { resumeWithinMs: 5_000 },
  inject: (world) => restarts(world, 4),
}

const AWAY_MS = 60_000

const AWAY: Scenario = {
  id: 'X13',
  title: 'Redis away for 60 s',
  needsRedis: true,
  injects: ['outage of 60 s'],
  rules: { resumeWithinMs: 5_000 },
  async inject(world) {
    const { server } = redisOf(world)
    await world.until(0.4)
    fault(world, 'redis away')
    await server.kill()
    await sleep(AWAY_MS / 2)
    const { code, stderr } = await status(world)
    world.figure('health in between', code === 0 ? 'green' : `red: ${stderr.trim().split('\n')[0]}`)
    await sleep(AWAY_MS / 2)
    await server.restart()
    healed(world)
    world.count('outage of 60 s')
    await waitFor(async () => (await world.stats()) !== null, 10_000)
    await sleep(3_000)
    world.figure('health after', (await status(world)).code === 0 ? 'green' : 'red')
  },
  judge({ fleet }) {
    const ended = fleet.started - fleet.size
    return ended > 0 ? [{ invariant: 'I11', detail: `${ended} workers did not wait, but ended` }] : []
  },
}

function status(world: World): Promise<CliResult> {
  return runCli(['status', world.crawl, '--queue', redisOf(world).server.url, '--store', world.store])
}

const SLOW: Scenario = {
  id: 'X15',
  title: 'Redis stands still for seconds',
  needsRedis: true,
  redis: { args: ['--enable-debug-command', 'local'] },
  injects: ['DEBUG SLEEP 3', 'CLIENT PAUSE 4000'],
  async inject(world) {
    const { cli } = redisOf(world)
    for (const [index, moment] of moments(world.random, 4).entries()) {
      await world.until(moment)
      fault(world, 'redis slow')
      if (index % 2 === 0) await cli('DEBUG', 'SLEEP', '3')
      else {
        await cli('CLIENT', 'PAUSE', '4000', 'WRITE')
        await sleep(4_000)
      }
      healed(world)
      world.count(index % 2 === 0 ? 'DEBUG SLEEP 3' : 'CLIENT PAUSE 4000')
    }
  },
}

const OUT_OF_MEMORY: Scenario = {
  id: 'X19',
  title: 'Redis has reached maxmemory',
  needsRedis: true,
  injects: ['maxmemory reached'],
  rules: { resumeWithinMs: 5_000 },
  async inject(world) {
    const { cli } = redisOf(world)
    for (const moment of [0.2, 0.5]) {
      await world.until(moment)
      fault(world, 'maxmemory')
      await cli('CONFIG', 'SET', 'maxmemory', '1mb')
      await sleep(8_000)
      const refused = Number(/errorstat_OOM:count=(\d+)/.exec(await cli('INFO', 'errorstats'))?.[1] ?? 0)
      await cli('CONFIG', 'SET', 'maxmemory', '0')
      healed(world)
      world.count('maxmemory reached', refused > 0 ? 1 : 0)
      world.figure('calls refused for want of memory', refused)
    }
  },
}

const NO_SCRIPTS: Scenario = {
  id: 'X22',
  title: 'the script cache is lost',
  needsRedis: true,
  injects: ['SCRIPT FLUSH'],
  async inject(world) {
    const { cli } = redisOf(world)
    for (const moment of moments(world.random, 20)) {
      await world.until(moment)
      await cli('SCRIPT', 'FLUSH')
      world.count('SCRIPT FLUSH')
    }
  },
  judge(world, { history }) {
    const unknown = history.filter(({ phase, op }) => phase === 'info' && (op === 'lease' || op === 'settle'))
    world.figure('errors that a worker saw', unknown.length)
    return unknown.map(({ op, proc }): Violation => ({ invariant: 'I7', detail: `a ${op} of ${proc} failed` }))
  },
}

const HOUR_MS = 3_600_000
const JUMP_EVERY_MS = 3_000

const CLOCK_JUMPS: Scenario = {
  id: 'X25',
  title: "Redis's clock jumps an hour ahead and back",
  needsRedis: true,
  injects: ['clock jump'],
  order: () => ({ serverJumps: { everyMs: JUMP_EVERY_MS, jumpsMs: [0, HOUR_MS, 0, -HOUR_MS] } }),
  async inject(world) {
    const began = performance.now()
    await world.until(0.95)
    world.count('clock jump', Math.floor((performance.now() - began) / JUMP_EVERY_MS))
  },
  judge(world, { history }) {
    const refused = history.filter(({ op, phase }) => op === 'settle' && phase === 'fail')
    world.figure('leases reaped wrongly', refused.length)
    return refused.map(
      ({ id }): Violation => ({ invariant: 'I4', detail: `${id}: its lease was taken by a jump of the clock` }),
    )
  },
}

export const REDIS_FAULTS: readonly Scenario[] = [RESTARTED, AWAY, SLOW, OUT_OF_MEMORY, NO_SCRIPTS, CLOCK_JUMPS]
