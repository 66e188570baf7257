import { afterAll, beforeAll } from 'vitest'
import { openRedisFrontier } from '../../../src/frontier/redis/redis-frontier.js'
import { openRedis, type RedisConnection } from '../../../src/redis/connection.js'
import type { MakeFrontier } from '../../contract/frontier-fixtures.js'
import { redisCommand } from '../../support/redis-server.js'

/** A cluster takes two seconds before it serves. */
const START_MS = 30_000

let namespaces = 0

/**
 * Frontiers on servers that the whole file shares: each has a namespace of its own, and nothing is flushed between them, so that one test
 * that reaches into another's keys is seen.
 */
export function onServers(
  start: () => Promise<{ readonly url: string; readonly ports: readonly number[]; stop(): Promise<void> }>,
): (shards: number) => MakeFrontier {
  let started: Awaited<ReturnType<typeof start>>
  let connection: RedisConnection

  beforeAll(async () => {
    started = await start()
    connection = await openRedis(started.url)
  }, START_MS)

  afterAll(async () => {
    await connection?.close()
    await started?.stop()
  })

  return (shards) => async (clock) => {
    const frontier = await openRedisFrontier(connection, { namespace: `t${++namespaces}`, shards, clock })
    return {
      frontier,
      // The connection is the file's.
      close: async () => {},
      disturb: async () => {
        for (const port of started.ports) await redisCommand(port, 'SCRIPT', 'FLUSH')
      },
    }
  }
}
