import { createHash } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { openRedis, type RedisConnection, type Script } from '../../../src/frontier/redis/connection.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'

const opened: { close(): Promise<void> }[] = []
const servers: RedisServer[] = []

afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close()
  for (const server of servers.splice(0)) await server.stop()
})

async function started(...args: Parameters<typeof startRedis>): Promise<RedisServer> {
  const server = await startRedis(...args)
  servers.push(server)
  return server
}

async function open(...args: Parameters<typeof openRedis>): Promise<RedisConnection> {
  const connection = await openRedis(...args)
  opened.push(connection)
  return connection
}

function script(source: string): Script {
  return { name: 'test', source, sha: createHash('sha1').update(source).digest('hex') }
}

const COUNT = script("return { redis.call('INCRBY', KEYS[1], ARGV[1]), ARGV[1], false }")

test('A script runs, is loaded when the server does not know it, and strings come as bytes', async () => {
  const server = await started()
  const redis = await open(server.url)
  expect(await redis.run(COUNT, ['n'], ['2'])).toEqual([2, Buffer.from('2'), null])
  await redis.command(null, ['SCRIPT', 'FLUSH'])
  expect(await redis.run(COUNT, ['n'], ['3'])).toEqual([5, Buffer.from('3'), null])
  expect(await redis.command('n', ['GET', 'n'])).toEqual(Buffer.from('5'))
})

test('A server that was restarted is found again', async () => {
  const server = await started({ aof: 'always' })
  const redis = await open(server.url)
  await redis.command('n', ['SET', 'n', '1'])
  await server.restart()
  await expect
    .poll(() => redis.command('n', ['GET', 'n']).catch(() => 'away'), { timeout: 5000 })
    .toEqual(Buffer.from('1'))
})
