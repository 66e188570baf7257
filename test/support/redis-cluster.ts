import { type RedisServer, redisCommand, startRedis, until } from './redis-server.js'

export interface RedisCluster {
  readonly masters: readonly RedisServer[]
  /** Follows the first master, when asked for. */
  readonly replica: RedisServer | null
  /** `redis+cluster://` with all masters. */
  readonly url: string
  stop(): Promise<void>
}

const SLOTS = 16_384

interface RedisClusterOptions {
  readonly aof?: 'always' | 'everysec'
  readonly withReplica?: boolean
}

/** The slots shared evenly over the masters. Takes two seconds: a fresh node waits so long before it serves. */
export async function startCluster(
  count = 3,
  { withReplica = false, ...options }: RedisClusterOptions = {},
): Promise<RedisCluster> {
  const nodeArgs = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', '2000']
  nodeArgs.push('--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1')
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
  // Everybody meets everybody: to hear of each other by gossip takes seconds.
  for (const { port } of masters) {
    for (const other of masters) {
      if (other.port !== port) await redisCommand(port, 'CLUSTER', 'MEET', '127.0.0.1', String(other.port))
    }
  }
  await until('the cluster is whole', async () => {
    const states = await Promise.all(masters.map(({ port }) => redisCommand(port, 'CLUSTER', 'INFO')))
    return states.every((state) => /cluster_state:ok.*cluster_size:(\d+)/s.exec(String(state))?.[1] === String(count))
  })
  const replica = withReplica ? await startRedis({ ...options, args: nodeArgs }) : null
  if (replica !== null) await follow(replica, masters)
  return {
    masters,
    replica,
    url: `redis+cluster://${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    async stop() {
      for (const server of masters) await server.stop()
      await replica?.stop()
    },
  }
}

async function follow(replica: RedisServer, masters: readonly RedisServer[]): Promise<void> {
  for (const { port } of masters) await redisCommand(replica.port, 'CLUSTER', 'MEET', '127.0.0.1', String(port))
  const id = String(await redisCommand(masters[0]?.port ?? 0, 'CLUSTER', 'MYID'))
  await until('the replica knows its master', () =>
    redisCommand(replica.port, 'CLUSTER', 'REPLICATE', id).then(
      () => true,
      () => false,
    ),
  )
  await until('all know the replica and it follows', async () => {
    const known = await Promise.all(masters.map(({ port }) => redisCommand(port, 'CLUSTER', 'SLOTS')))
    const info = String(await redisCommand(replica.port, 'INFO', 'replication'))
    return (
      info.includes('master_link_status:up') && known.every((slots) => String(slots).includes(String(replica.port)))
    )
  })
}
