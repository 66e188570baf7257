import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { ProxyLedger } from '../../src/proxy/proxy-ledger.js'
import { redisLedger } from '../../src/proxy/redis/redis-ledger.js'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { type MakeLedger, proxyLedgerContract } from '../contract/proxy-ledger-contract.js'
import { type RedisServer, redisCommand, startRedis } from '../support/redis-server.js'
import { proxyLedgerProperties } from './ledger-properties.js'

let server: RedisServer
let connection: RedisConnection
let namespaces = 0

beforeAll(async () => {
  server = await startRedis()
  connection = await openRedis(server.url)
})
afterAll(async () => {
  await connection?.close()
  await server?.stop()
})

const onRedis: MakeLedger = async (clock) => ({
  ledger: redisLedger(connection, { namespace: `t${++namespaces}`, clock }),
  close: async () => {},
})

proxyLedgerContract('redis', onRedis)
proxyLedgerProperties('redis', onRedis, 40)

const DAY = 86_400_000
const LIMITS = { delayMs: 1000, concurrency: 2 }
const REST = { strikes: 3, baseMs: 10_000, capMs: 60_000 }

async function use(ledger: ProxyLedger, proxy: string, host = 'a.test'): Promise<void> {
  const place = { ask: `${proxy} ${host}`, pool: 'p', host, site: host, limits: LIMITS }
  await ledger.grant([{ ...place, proxies: [proxy], holdMs: 60_000 }])
  const outcome = { verdict: { kind: 'good' }, elapsedMs: 5, bytes: 1, cost: 0, rest: REST } as const
  await ledger.report([{ ...place, proxy, ...outcome }])
}

describe('the ledger on Redis', () => {
  it('lives by the time of the server, and lets it forget every key', async () => {
    const ledger = redisLedger(connection, { namespace: 'own' })
    await use(ledger, 'x')
    const held = {
      ask: 'held',
      pool: 'p',
      proxies: ['x', 'y'],
      host: 'a.test',
      site: 'a.test',
      limits: LIMITS,
      holdMs: 60_000,
    }
    expect(await ledger.grant([held])).toMatchObject([{ ok: true, proxy: 'y' }])
    const keys = (await redisCommand(server.port, 'KEYS', '{own.proxies}*')) as string[]
    expect(keys.sort()).toEqual(
      ['ends', 'holds', 'n:p', 'p:p\na.test', 's:p\na.test', 'w:p'].map((key) => `{own.proxies}:${key}`),
    )
    for (const key of keys) expect(Number(await redisCommand(server.port, 'PTTL', key))).toBeGreaterThan(6 * DAY)
    const [score] = await ledger.scoresOn('p', 'a.test')
    const [seconds] = (await redisCommand(server.port, 'TIME')) as string[]
    expect(Math.abs((score?.usedAt ?? 0) - Number(seconds) * 1000)).toBeLessThan(30_000)
  })

  it('keeps keys alive that are used every half hour', async () => {
    const clock = new ManualClock()
    const ledger = redisLedger(connection, { namespace: 'alive', clock })
    await use(ledger, 'x')
    const keys = ['w:p', 's:p\na.test', 'p:p\na.test', 'n:p'].map((key) => `{alive.proxies}:${key}`)
    for (const key of keys) await redisCommand(server.port, 'PEXPIRE', key, '60000')
    for (const _halfHour of [1, 2]) {
      clock.advance(1_800_000)
      await use(ledger, 'x')
    }
    for (const key of keys) expect(Number(await redisCommand(server.port, 'PTTL', key))).toBeGreaterThan(6 * DAY)
  })

  it('forgets sessions that are used once and never again', async () => {
    const clock = new ManualClock()
    const ledger = redisLedger(connection, { namespace: 'many', clock })
    for (let i = 0; i < 100; i++) await use(ledger, `old-${i}`)
    clock.advance(8 * DAY)
    for (let i = 0; i < 200; i++) await use(ledger, `new-${i}`)
    expect(await ledger.scoresOn('p', 'a.test')).toHaveLength(200)
    for (const key of ['w:p', 's:p\na.test', 'p:p\na.test']) {
      expect(Number(await redisCommand(server.port, 'HLEN', `{many.proxies}:${key}`))).toBeLessThan(240)
    }
    expect(Number(await redisCommand(server.port, 'ZCARD', '{many.proxies}:n:p'))).toBeLessThan(480)
    expect(await redisCommand(server.port, 'EXISTS', '{many.proxies}:holds', '{many.proxies}:ends')).toBe(0)
  })

  it('reads and writes the same with its scripts forgotten', async () => {
    const ledger = redisLedger(connection, { namespace: 'flushed', clock: new ManualClock() })
    await use(ledger, 'x')
    await redisCommand(server.port, 'SCRIPT', 'FLUSH')
    await use(ledger, 'y')
    await redisCommand(server.port, 'SCRIPT', 'FLUSH')
    await ledger.wake('p', 'x')
    expect(await ledger.scores('p', { limit: 10 })).toHaveLength(4)
  })

  it('takes as many reads for a hundred proxies that are busy as for two hundred', async () => {
    const ledger = redisLedger(connection, { namespace: 'reads', clock: new ManualClock() })
    const busy = Array.from({ length: 200 }, (_, i) => `e${i}`)
    for (const proxy of busy) await use(ledger, proxy)
    const readsOf = async (proxies: readonly string[]) => {
      await redisCommand(server.port, 'CONFIG', 'RESETSTAT')
      const ask = { ask: 'n', pool: 'p', proxies, host: 'a.test', site: 'a.test', limits: LIMITS, holdMs: 1000 }
      expect(await ledger.grant([ask])).toMatchObject([{ ok: false, why: 'paced' }])
      const stats = String(await redisCommand(server.port, 'INFO', 'commandstats'))
      return [...stats.matchAll(/cmdstat_(?:hmget|hget|zrangebyscore):calls=(\d+)/g)].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      )
    }
    expect(await readsOf(busy.slice(0, 100))).toBe(8)
    expect(await readsOf(busy)).toBe(11)
  })
})
