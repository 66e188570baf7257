import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import type { Feed, FeedPlace } from '../../src/feed/feed.js'
import { feedKeys } from '../../src/feed/redis/keys.js'
import { redisFeed } from '../../src/feed/redis/redis-feed.js'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

const LIST: FeedPlace = { kind: 'list', key: null, group: 'shoal' }
const STREAM: FeedPlace = { kind: 'stream', key: 'my stream', group: 'shoal' }

let server: RedisServer
let redis: RedisConnection

beforeAll(async () => {
  server = await startRedis()
  redis = await openRedis(server.url)
})
afterAll(async () => {
  await redis.close()
  await server.stop()
})
beforeEach(async () => {
  await redis.command(null, ['FLUSHALL'])
})
afterEach(async () => {
  // The keys that Shoal adds to a feed do not grow.
  const keys = (await redis.command(null, ['KEYS', '*'])) as Buffer[]
  expect(keys.length).toBeLessThanOrEqual(10)
})

const feedOf = (place: FeedPlace, consumer = 'w1'): Feed =>
  redisFeed(redis, { spider: 'books', place, consumer, clock: systemClock })

const texts = (entries: readonly { text: string }[]) => entries.map(({ text }) => text)

/** The taker died: its time is over. */
async function expire(place: FeedPlace): Promise<void> {
  if (place.kind === 'list') {
    const { due } = feedKeys('shoal:feed:books')
    const members = (await redis.command(due, ['ZRANGE', due, '0', '-1'])) as Buffer[]
    for (const member of members) await redis.command(due, ['ZADD', due, '1', member])
    return
  }
  const pending = (await redis.command('my stream', ['XPENDING', 'my stream', 'shoal', '-', '+', '100'])) as Buffer[][]
  for (const [id] of pending) {
    await redis.command('my stream', ['XCLAIM', 'my stream', 'shoal', 'dead', '0', id ?? '', 'IDLE', '60000', 'JUSTID'])
  }
}

describe.each([
  ['list', LIST],
  ['stream', STREAM],
])('a Redis %s', (_kind, place) => {
  it('gives each entry to one taker, oldest first', async () => {
    const feed = feedOf(place)
    const other = feedOf(place, 'w2')
    expect(await feed.take(10)).toEqual([])
    expect(await feed.empty()).toBe(true)
    await feed.push(['one', 'two', '{"url":"three"}'])
    expect(await feed.empty()).toBe(false)
    const first = await feed.take(2)
    const second = await other.take(10)
    expect(texts(first)).toEqual(['one', 'two'])
    expect(texts(second)).toEqual(['{"url":"three"}'])
    expect(await feed.take(10)).toEqual([])
    expect(await feed.empty()).toBe(false)
    await feed.done(first)
    expect(await feed.empty()).toBe(false)
    await feed.done(second)
    await feed.done(second)
    expect(await feed.empty()).toBe(true)
  })

  it('gives the entries of a dead taker to another', async () => {
    const feed = feedOf(place)
    await feed.push(['one', 'two', 'three'])
    const [one] = await feed.take(2)
    if (one === undefined) throw new Error('nothing was taken')
    await feed.done([one])
    const other = feedOf(place, 'w2')
    expect(texts(await other.take(10))).toEqual(['three'])
    await expire(place)
    const again = await other.take(10)
    expect(texts(again)).toEqual(['two', 'three'])
    await other.done(again)
    expect(await other.empty()).toBe(true)
    expect(await other.take(10)).toEqual([])
  })

  it('takes no more than asked for, with those of the dead first', async () => {
    const feed = feedOf(place)
    await feed.push(['one', 'two', 'three', 'four'])
    await feed.take(2)
    await expire(place)
    expect(texts(await feed.take(3))).toEqual(['one', 'two', 'three'])
  })

  it('sets entries aside with the reason, each once, and a thousand of them', async () => {
    const feed = feedOf(place)
    await feed.push(['bad', 'worse'])
    const [bad, worse] = await feed.take(2)
    if (bad === undefined || worse === undefined) throw new Error('nothing was taken')
    await feed.refuse([{ entry: bad, reason: 'no URL' }])
    await feed.refuse([
      { entry: bad, reason: 'no URL' },
      { entry: worse, reason: 'no URL either' },
    ])
    expect(await feed.refused(10)).toMatchObject([
      { text: 'worse', reason: 'no URL either' },
      { text: 'bad', reason: 'no URL' },
    ])
    expect(await feed.empty()).toBe(true)
    await feed.push(Array.from({ length: 1_100 }, (_, n) => `bad ${n}`))
    const many = await feed.take(2_000)
    expect(many).toHaveLength(1_100)
    await feed.refuse(many.map((entry) => ({ entry, reason: 'x' })))
    expect(await feed.refused(5_000)).toHaveLength(1_000)
    expect(await feed.refused(1)).toMatchObject([{ text: 'bad 1099' }])
  })
})

describe('the keys of a feed', () => {
  it('are where others push, and on the same node of a cluster', async () => {
    await redis.command('x', ['LPUSH', 'shoal:feed:books', 'https://a.example/'])
    expect(texts(await feedOf(LIST).take(1))).toEqual(['https://a.example/'])
    await redis.command('x', ['LPUSH', 'other:key', 'https://b.example/'])
    expect(texts(await feedOf({ ...LIST, key: 'other:key' }).take(1))).toEqual(['https://b.example/'])
    expect(feedKeys('a')).toMatchObject({ source: 'a', taken: '{a}:taken' })
    expect(feedKeys('a:{b}')).toMatchObject({ source: 'a:{b}', taken: 'a:{b}:taken' })
  })
})

describe('the entries of a stream', () => {
  it('may have fields of their own', async () => {
    const feed = feedOf(STREAM)
    const add = (...fields: string[]) => redis.command('my stream', ['XADD', 'my stream', '*', ...fields])
    await add('url', 'https://a.example/', 'priority', '5', 'data', '{"a":1}', 'again', 'true')
    await add('entry', 'https://b.example/')
    await add('other', 'thing')
    const entries = await feed.take(10)
    expect(JSON.parse(entries[0]?.text ?? '')).toEqual({
      url: 'https://a.example/',
      priority: 5,
      data: { a: 1 },
      again: true,
    })
    expect(texts(entries).slice(1)).toEqual(['https://b.example/', '{"other":"thing"}'])
  })

  it('are all there again when somebody deleted the stream', async () => {
    const feed = feedOf(STREAM)
    await feed.push(['one'])
    await feed.done(await feed.take(1))
    await redis.command('my stream', ['DEL', 'my stream'])
    await redis.command('my stream', ['XADD', 'my stream', '*', 'entry', 'two'])
    expect(texts(await feed.take(1))).toEqual(['two'])
  })
})
