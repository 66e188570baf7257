import { afterAll, beforeAll, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { redisNotes } from '../../src/notes/redis/redis-notes.js'
import { redisLedger } from '../../src/proxy/redis/redis-ledger.js'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { type RedisCluster, startCluster } from '../support/redis-cluster.js'
import { redisCommand } from '../support/redis-server.js'

let cluster: RedisCluster
let connection: RedisConnection

beforeAll(async () => {
  cluster = await startCluster(3)
  connection = await openRedis(cluster.url)
})
afterAll(async () => {
  await connection?.close()
  await cluster?.stop()
})

it('has the ledger on one node of a cluster', async () => {
  const ledger = redisLedger(connection, { clock: new ManualClock() })
  const place = { ask: '1', pool: 'p', host: 'a.test', site: 'a.test', limits: { delayMs: 0, concurrency: 1 } }
  expect(await ledger.grant([{ ...place, proxies: ['x'], holdMs: 1000 }])).toMatchObject([{ ok: true, proxy: 'x' }])
  const outcome = { verdict: { kind: 'good' }, elapsedMs: 5, bytes: 1, cost: 0 } as const
  await ledger.report([{ ...place, proxy: 'x', ...outcome, rest: { strikes: 3, baseMs: 1, capMs: 1 } }])
  await ledger.wake('p', 'x')
  expect(await ledger.scores('p', { limit: 10 })).toHaveLength(2)
  expect(await ledger.scoresOn('p', 'a.test')).toHaveLength(1)
})

it('has the notes on all nodes of a cluster', async () => {
  const notes = redisNotes(connection, { clock: new ManualClock() })
  // A hundred: CRC16 is linear, and the slots of thirty names that differ in two digits miss a node.
  for (let i = 0; i < 100; i++) {
    const key = `robots https://h${i}.test`
    expect(await notes.claim(key, 'a', 1000, 60_000)).toEqual({ kind: 'yours', old: null })
    expect(await notes.post(key, 'a', `text ${i}`, 60_000)).toBe(true)
    expect(await notes.read(key)).toEqual({ text: `text ${i}`, ageMs: 0 })
  }
  for (const { port } of cluster.masters) {
    expect(Number(await redisCommand(port, 'DBSIZE'))).toBeGreaterThan(1)
  }
})
