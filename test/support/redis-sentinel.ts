import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  freePort,
  type RedisServer,
  redisCommand,
  removeDirectory,
  startRedis,
  temporaryDirectory,
  until,
} from './redis-server.js'

export interface RedisSentinel {
  readonly master: RedisServer
  readonly replica: RedisServer
  readonly sentinels: readonly RedisServer[]
  /** `redis+sentinel://…/shoal` */
  readonly url: string
  /** The port of the master in the eyes of the first sentinel that answers. */
  masterPort(): Promise<number>
  stop(): Promise<void>
}

/** A master, a replica and three sentinels that know each other from the start; a dead master is replaced after about two seconds. */
export async function startSentinel(options: { password?: string } = {}): Promise<RedisSentinel> {
  const auth = options.password === undefined ? [] : ['--masterauth', options.password]
  const fast = ['--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0', ...auth]
  const master = await startRedis({ ...options, args: fast })
  const replica = await startRedis({ ...options, args: [...fast, '--replicaof', '127.0.0.1', String(master.port)] })
  const ids: { port: number; id: string }[] = []
  for (let index = 0; index < 3; index++) ids.push({ port: await freePort(), id: randomBytes(20).toString('hex') })
  const dir = temporaryDirectory('sentinel')
  const sentinels = await Promise.all(
    ids.map(async ({ port, id }) => {
      const configFile = join(dir, `${port}.conf`)
      const others = ids.filter((other) => other.port !== port)
      writeFileSync(
        configFile,
        [
          `sentinel myid ${id}`,
          `sentinel monitor shoal 127.0.0.1 ${master.port} 2`,
          'sentinel down-after-milliseconds shoal 500',
          'sentinel failover-timeout shoal 3000',
          ...(options.password === undefined ? [] : [`sentinel auth-pass shoal ${options.password}`]),
          `sentinel known-replica shoal 127.0.0.1 ${replica.port}`,
          ...others.map((other) => `sentinel known-sentinel shoal 127.0.0.1 ${other.port} ${other.id}`),
        ].join('\n'),
      )
      return await startRedis({ configFile, port, dir: join(dir, String(port)), args: ['--sentinel'] })
    }),
  )
  const masterPort = async () => {
    for (const { port } of sentinels) {
      const found = await redisCommand(port, 'SENTINEL', 'get-master-addr-by-name', 'shoal').catch(() => null)
      if (Array.isArray(found)) return Number(found[1])
    }
    throw new Error('no sentinel answers')
  }
  await until('the replica follows and the sentinels see it', async () => {
    const [, seen] = await Promise.all([
      masterPort(),
      Promise.all(sentinels.map(({ port }) => redisCommand(port, 'SENTINEL', 'replicas', 'shoal'))),
    ])
    return seen.every((replicas) => /master-link-status,ok/.test(String(replicas)))
  })
  return {
    master,
    replica,
    sentinels,
    url: `redis+sentinel://${options.password === undefined ? '' : `:${options.password}@`}${sentinels
      .map(({ port }) => `127.0.0.1:${port}`)
      .join(',')}/shoal`,
    masterPort,
    async stop() {
      for (const server of [...sentinels, replica, master]) await server.stop()
      removeDirectory(dir)
    },
  }
}
