import { afterEach } from 'vitest'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { type RedisServer, type RedisServerOptions, startRedis } from './redis-server.js'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js'

const toClose: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close()
})

/** Ends it after the test. */
export function endAfterTest<T extends { stop(): Promise<void> }>(started: T): T {
  toClose.push(() => started.stop())
  return started
}

export async function redisForTest(options: RedisServerOptions = {}): Promise<RedisServer> {
  return endAfterTest(await startRedis(options))
}

export async function proxyForTest(port: number): Promise<TcpProxy> {
  return endAfterTest(await startTcpProxy(port))
}

export async function openForTest(...args: Parameters<typeof openRedis>): Promise<RedisConnection> {
  const connection = await openRedis(...args)
  toClose.push(() => connection.close())
  return connection
}
