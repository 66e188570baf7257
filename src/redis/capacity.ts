import type { RedisConnection } from './connection.js'
import { readInfo } from './start-up-checks.js'

/**
 * Memory of the server (of one master of a cluster: keys spread evenly): what it uses, of maxmemory or, where that is not set, of the machine. Null: it does not
 * say, as some managed servers.
 */
export async function redisCapacity(
  connection: Pick<RedisConnection, 'command'>,
): Promise<{ readonly usedBytes: number; readonly limitBytes: number; readonly what: 'memory' } | null> {
  const info = readInfo(String(await connection.command(null, ['INFO', 'memory'])))
  const figure = (name: string) => Number(info.get(name) ?? 0)
  const limitBytes = figure('maxmemory') || figure('total_system_memory')
  if (!(limitBytes > 0)) return null
  return { usedBytes: figure('used_memory') - figure('mem_not_counted_for_evict'), limitBytes, what: 'memory' }
}
