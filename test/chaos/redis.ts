import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type RedisServer, type RedisServerOptions, startRedis } from '../support/redis-server.js'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js'

/** A redis-server of the run's own, and one proxy in front of it for each worker. */
export interface Redis {
  readonly server: RedisServer
  readonly proxies: readonly TcpProxy[]
  /** A command by redis-cli, which knows nothing of Shoal. */
  cli(...args: string[]): Promise<string>
  close(): Promise<void>
}

export async function startChaosRedis(options: RedisServerOptions, proxies: number): Promise<Redis> {
  const server = await startRedis({ aof: 'everysec', ...options })
  const started = await Promise.all(Array.from({ length: proxies }, () => startTcpProxy(server.port)))
  const run = promisify(execFile)
  const host = new URL(server.url).hostname
  return {
    server,
    proxies: started,
    async cli(...args) {
      const { stdout } = await run('redis-cli', ['-h', host, '-p', String(server.port), ...args], {
        maxBuffer: 1 << 26,
      })
      return stdout.trim()
    },
    async close() {
      await Promise.all(started.map((proxy) => proxy.stop()))
      await server.stop()
    },
  }
}
