import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { readRedirect, readSlots, slotOf } from '../../src/redis/slots.js'
import { type RedisCluster, startCluster } from '../support/redis-cluster.js'
import { type RedisServer, redisCommand, until } from '../support/redis-server.js'

const source = "return { redis.call('INCR', KEYS[1]), redis.call('INCR', KEYS[2]) }"
const COUNT_TWO = { name: 'count two', source, sha: createHash('sha1').update(source).digest('hex') }

describe('A cluster of three masters', () => {
  let cluster: RedisCluster
  let redis: RedisConnection

  beforeAll(async () => {
    cluster = await startCluster(3, { withReplica: true })
    redis = await openRedis(cluster.url, { deadlineMs: 1000 })
  }, 30_000)

  afterAll(async () => {
    await redis.close()
    await cluster.stop()
  })

  function server(index: number): RedisServer {
    const found = cluster.masters[index]
    if (found === undefined) throw new Error('no such master')
    return found
  }

  async function idOf({ port }: RedisServer): Promise<string> {
    return String(await redisCommand(port, 'CLUSTER', 'MYID'))
  }

  test('is found behind the address of any of its nodes', async () => {
    const plain = await openRedis(server(1).url)
    expect(plain.masters).toBe(3)
    expect(redis.masters).toBe(3)
    expect(redis.warnings).toEqual([expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+, .*, .* keeps nothing on disk/)])
    await plain.command('k', ['SET', 'k', '1'])
    expect(await redis.command('k', ['GET', 'k'])).toEqual(Buffer.from('1'))
    await plain.close()
    await expect(openRedis(`${server(1).url}/2`)).rejects.toMatchObject({
      code: 'queue_address',
      message: expect.stringContaining('only database 0'),
    })
  })

  test('computes slots as the server does', async () => {
    const keys = ['', 'a', 'shoal:{3}:ready', '{}x', 'x{}{y}', '{a}{b}', 'a}b{c}', 'x{y', 'ключ{é}', 'foo{{bar}}']
    for (const key of keys) {
      expect([key, await redisCommand(server(0).port, 'CLUSTER', 'KEYSLOT', key)]).toEqual([key, slotOf(key)])
    }
  })

  test('takes each key to its master, and runs scripts that it does not know there', async () => {
    for (let n = 0; n < 60; n++) expect(await redis.run(COUNT_TWO, [`{${n}}:a`, `{${n}}:b`], [])).toEqual([1, 1])
    for (const { port } of cluster.masters) expect(await redisCommand(port, 'DBSIZE')).toBeGreaterThan(20)
    for (const { port } of cluster.masters) await redisCommand(port, 'SCRIPT', 'FLUSH')
    for (let n = 0; n < 60; n++) expect(await redis.run(COUNT_TWO, [`{${n}}:a`, `{${n}}:b`], [])).toEqual([2, 2])
    expect(String(await redis.command(null, ['PING']))).toBe('PONG')
  })

  test('follows a slot while it moves and after it has moved', async () => {
    const key = 'moving'
    const slot = String(slotOf(key))
    const from = cluster.masters[Math.floor((slotOf(key) * 3) / 16_384)] ?? server(0)
    const to = from === server(0) ? server(1) : server(0)
    await redisCommand(to.port, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from))
    await redisCommand(from.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to))
    // The old master answers ASK for a key that it does not have.
    expect(await redis.command(key, ['INCR', key])).toBe(1)
    expect(await redisCommand(to.port, 'CLUSTER', 'COUNTKEYSINSLOT', slot)).toBe(1)
    for (const { port } of [to, from]) await redisCommand(port, 'CLUSTER', 'SETSLOT', slot, 'NODE', await idOf(to))
    // Now it answers MOVED; each call is counted once.
    expect(await redis.command(key, ['INCR', key])).toBe(2)
    expect(await redis.command(key, ['INCR', key])).toBe(3)
  })

  test('with one master down: its keys wait, the others are served, and it is found again', async () => {
    const keys = Array.from({ length: 30 }, (_, n) => `key${n}`)
    const lost = server(2)
    lost.pause()
    const results = await Promise.allSettled(keys.map((key) => redis.command(key, ['SET', key, '1'])))
    const refused = results.filter((result) => result.status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length).toBeLessThan(keys.length)
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'queue_down' })
    lost.resume()
    await until('all are served', async () => {
      const again = await Promise.allSettled(keys.map((key) => redis.command(key, ['SET', key, '1'])))
      return again.every((result) => result.status === 'fulfilled')
    })
  })

  test('continues with the replica when a master was killed', async () => {
    const key = Array.from({ length: 100 }, (_, n) => `key${n}`).find((one) => slotOf(one) < 16_384 / 3) ?? ''
    await redis.command(key, ['SET', key, '1'])
    await server(0).kill()
    await until('the replica is the master', () =>
      redis.command(key, ['SET', key, '2']).then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'queue_down' })
          return false
        },
      ),
    )
    expect(String(await redisCommand(cluster.replica?.port ?? 0, 'INFO', 'replication'))).toContain('role:master')
    expect(redis.masters).toBe(3)
  }, 30_000)
})

describe('What cluster nodes answer', () => {
  test('is read, also when a node does not know its own name', () => {
    const asked = { host: 'h', port: 1 }
    const reply = [
      [0, 99, [Buffer.from('10.0.0.1'), 7000, Buffer.from('id')]],
      [100, 16_383, [null, 7001, Buffer.from('id')]],
    ]
    expect(readSlots(reply, asked)).toEqual([
      { first: 0, last: 99, master: { host: '10.0.0.1', port: 7000 } },
      { first: 100, last: 16_383, master: { host: 'h', port: 7001 } },
    ])
    expect(readRedirect('MOVED 12 10.0.0.2:7002', asked)).toEqual({
      asking: false,
      to: { host: '10.0.0.2', port: 7002 },
    })
    expect(readRedirect('ASK 12 ::1:7002', asked)).toEqual({ asking: true, to: { host: '::1', port: 7002 } })
    expect(readRedirect('MOVED 12 :7002', asked)).toEqual({ asking: false, to: { host: 'h', port: 7002 } })
    expect(readRedirect('ERR MOVED', asked)).toBeNull()
  })
})
