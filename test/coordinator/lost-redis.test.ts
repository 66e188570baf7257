import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { moveCrawl } from '../../src/coordinator/move.js'
import { watchQueue } from '../../src/coordinator/queue-watch.js'
import { lostCrawl, recoverCrawl } from '../../src/coordinator/recover.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import type { Frontier } from '../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { openRedisFrontier } from '../../src/frontier/redis/redis-frontier.js'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { DONE, dead, FAILURE, retry } from '../contract/frontier-fixtures.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

const clock = systemClock
const random = () => 0.5
const signal = new AbortController().signal
const spider = spiderFromDefinition(
  defineSpider({
    name: 's',
    start: Array.from({ length: 20 }, (_, n) => `https://h${n % 5}.example/${n}`),
    pace: { delay: 0, concurrency: 100 },
    routes: { page: { match: '**' } },
  }),
)

let server: RedisServer
let redis: RedisConnection
let frontier: Frontier

beforeAll(async () => {
  server = await startRedis()
})
afterAll(async () => {
  await redis.close()
  await server.stop()
})
beforeEach(async () => {
  await redis?.close()
  redis = await openRedis(server.url)
  await redis.command(null, ['FLUSHALL'])
  frontier = await openRedisFrontier(redis)
})

async function visit(frontier: Frontier, seq: number, want: number): Promise<string[]> {
  const { leases } = await frontier.lease({ worker: 'w', seq, want, spiders: ['s'] })
  await frontier.settle(leases.map((lease) => ({ lease, outcome: DONE })))
  return leases.map(({ link }) => link.url)
}

describe('a Redis that comes back', () => {
  it.each(['older', 'empty'])('%s is noticed, its crawl lost and recovered in a larger generation', async (how) => {
    const store = memoryRecordStore()
    const backendsOn = (on: Frontier) => ({ frontier: on, store, queueAddress: server.url })
    const backends = backendsOn(frontier)
    const { crawl } = await openCrawl(backends, spider, { fresh: false, clock, random })
    await seedCrawl(backends, spider, crawl, { clock, signal }).all
    const watch = watchQueue(backends)
    expect(await watch.look()).toEqual([])
    if (how === 'older') await redis.command(null, ['SAVE'])
    expect(await visit(frontier, 1, 5)).toHaveLength(5)
    expect(await watch.look()).toEqual([])
    const gen = await store.generations.of(await frontier.identity())
    await server.restart()
    if (how === 'empty') await redis.command(null, ['FLUSHALL']).catch(() => redis.command(null, ['FLUSHALL']))

    await redis.close()
    redis = await openRedis(server.url)
    frontier = await openRedisFrontier(redis)
    const again = backendsOn(frontier)
    const why = how === 'older' ? 'back' : 'gone'
    expect(await watchQueue(again).look()).toEqual([{ crawl, spider: 's', why }])
    if (how === 'older') expect(await frontier.stats(crawl)).toMatchObject({ state: 'paused', queued: 20 })
    expect((await frontier.lease({ worker: 'w', seq: 1, want: 9, spiders: ['s'] })).leases).toEqual([])

    const note = await lostCrawl(again, crawl)
    const recovered = await recoverCrawl(again, spider, note, { refetch: false, clock, signal })
    expect(recovered.gen).toBeGreaterThan(gen)
    const { leases } = await frontier.lease({ worker: 'w', seq: 2, want: 50, spiders: ['s'] })
    expect(new Set(leases.map(({ link }) => link.url)).size).toBe(20)
    expect(leases[0]?.gen).toBe(recovered.gen)
    expect(await watchQueue(again).look()).toEqual([])
  })
})

it('a crawl is moved into Redis as it is', async () => {
  const store = memoryRecordStore()
  const from = new MemoryFrontier({ clock })
  const backends = { frontier: from, store, queueAddress: 'sqlite:x' }
  const { crawl } = await openCrawl(backends, spider, { fresh: false, clock, random })
  await seedCrawl(backends, spider, crawl, { clock, signal }).all
  const { leases } = await from.lease({ worker: 'w', seq: 1, want: 8, spiders: ['s'] })
  const outcomes = [DONE, DONE, dead(), { kind: 'skipped', failure: FAILURE } as const, retry(3_600_000), retry(0)]
  await from.settle(leases.map((lease, n) => ({ lease, outcome: outcomes[n] ?? { kind: 'back', afterMs: 0 } })))
  await from.setState(crawl, 'paused')

  const moved = await moveCrawl({ from, to: frontier, store, toAddress: server.url, now: clock.now() }, crawl)
  expect(moved).toEqual({ crawl, pending: 16, dead: 1, skipped: 1, done: 2 })
  expect(await frontier.stats(crawl)).toMatchObject({
    ...{ state: 'running', total: 20, queued: 15, delayed: 1, dead: 1, skipped: 1, done: 2, seeding: false },
  })
  const attempts = (await frontier.lease({ worker: 'w', seq: 1, want: 50, spiders: ['s'] })).leases.map(
    ({ attempt }) => attempt,
  )
  expect(attempts.sort()).toEqual([...Array(14).fill(1), 2])
  expect(await frontier.deadByError(crawl)).toMatchObject([{ code: FAILURE.code, count: 1 }])
  expect(await frontier.explain(crawl, leases[0]?.link.fp ?? '')).toMatchObject({ state: 'done' })
})
