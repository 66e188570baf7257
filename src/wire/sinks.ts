import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { RedisOutlet } from '../outlets/outlet.js'
import { redisSink } from '../outlets/redis/redis-sink.js'
import type { Sink } from '../outlets/sink.js'

/** A sink on Redis: at the outlet's own address, or on the queue's server. It has a connection of its own, so that a slow sink holds up no lease. */
export function openRedisSink(outlet: RedisOutlet, queue: string, clock: Clock): Sink {
  const address = outlet.address ?? (queue.startsWith('redis') ? queue : null)
  if (address === null)
    throw new ShoalError('spider_invalid', `outlet ${outlet.name} has no address, and the queue is not on Redis`, {
      hint: "Give it one: { redis: 'list', address: 'redis://host:port' }.",
    })
  return redisSink(outlet, async () => {
    // Loaded only here: most processes have no use for a Redis client.
    const { openRedis } = await import('../redis/connection.js')
    return openRedis(address, { clock, checked: false })
  })
}
