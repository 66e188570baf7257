import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../redis.js'
import type { Scenario } from '../run-scenario.js'
import { fault, healed, type World } from '../world.js'
import { moments } from './worker-faults.js'

/** What happens to Redis, and on the way to it. */

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

export async function lostReplies(world: World, count: number): Promise<void> {
  const { proxies } = redisOf(world)
  for (const moment of moments(world.random, count)) {
    await world.until(moment)
    const proxy = proxies[Math.floor(world.random() * proxies.length)]
    if (proxy === undefined) continue
    // A frozen or dead worker asks for nothing: somebody else's reply is lost then.
    const lost = await Promise.race([proxy.dropNextReply().then(() => true), sleep(20_000).then(() => false)])
    world.count('lost reply', lost ? 1 : 0)
  }
}

export const REDIS_FAULTS: readonly Scenario[] = []
