import { type RedisServer, redisCommand, startRedis, until } from './redis-server.js'

export interface RedisCluster {
  readonly masters: readonly RedisServer[]
  /** `redis+cluster://` with all masters. */
  readonly url: string
  stop(): Promise<void>
}

const SLOTS = 16_384

/** Masters only, the slots shared evenly. Takes two seconds: a fresh node waits so long before it serves. */
export async function startCluster(count = 3, options: { aof?: 'always' | 'everysec' } = {}): Promise<RedisCluster> {
  const nodeArgs = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', '2000']
  const masters: RedisServer[] = []
  // One after the other, so that no two are given the same port.
  for (let index = 0; index < count; index++) masters.push(await startRedis({ ...options, args: nodeArgs }))
  await Promise.all(
    masters.map(async ({ port }, index) => {
      const first = Math.floor((SLOTS * index) / count)
      const end = Math.floor((SLOTS * (index + 1)) / count)
      const slots = Array.from({ length: end - first }, (_, offset) => String(first + offset))
      await redisCommand(port, 'CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
      await redisCommand(port, 'CLUSTER', 'ADDSLOTS', ...slots)
    }),
  )
  const [first, ...others] = masters
  for (const { port } of others) await redisCommand(port, 'CLUSTER', 'MEET', '127.0.0.1', String(first?.port))
  await until('the cluster is whole', async () => {
    const states = await Promise.all(masters.map(({ port }) => redisCommand(port, 'CLUSTER', 'INFO')))
    return states.every((state) => /cluster_state:ok.*cluster_size:(\d+)/s.exec(String(state))?.[1] === String(count))
  })
  return {
    masters,
    url: `redis+cluster://${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    async stop() {
      for (const server of masters) await server.stop()
    },
  }
}
