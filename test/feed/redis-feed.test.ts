import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import type { Feed, FeedEntry, FeedPlace } from '../../src/feed/feed.js'
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

const refusal = (entry: FeedEntry, reason: string) => ({ entry, parts: [{ text: entry.text, reason }] })
const keysOf = ({ key }: FeedPlace) => feedKeys(key ?? 'shoal:feed:books')

async function refuseAll(feed: Feed, pushed: readonly string[]): Promise<void> {
  await feed.push(pushed)
  for (;;) {
    const taken = await feed.take(2_000)
    if (taken.length === 0) return
    await feed.refuse(taken.map((entry) => refusal(entry, 'x')))
  }
}

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

  it('sets entries aside with the reason, each once', async () => {
    const feed = feedOf(place)
    await feed.push(['bad', 'worse', 'https://a.example/ https://b.example/'])
    const [bad, worse, both] = await feed.take(3)
    if (bad === undefined || worse === undefined || both === undefined) throw new Error('nothing was taken')
    await feed.refuse([refusal(bad, 'no URL')])
    await feed.refuse([refusal(bad, 'no URL'), refusal(worse, 'no URL either')])
    const parts = [
      { text: 'first half', reason: 'one' },
      { text: 'second half', reason: 'two' },
    ]
    await feed.refuse([{ entry: both, parts }])
    const { entries, kept, dropped } = await feed.refused(10)
    expect(entries).toMatchObject([
      { text: 'second half', reason: 'two' },
      { text: 'first half', reason: 'one' },
      { text: 'worse', reason: 'no URL either' },
      { text: 'bad', reason: 'no URL' },
    ])
    expect({ kept, dropped }).toEqual({ kept: 4, dropped: 0 })
    expect(Object.keys(entries[0] ?? {}).sort()).toEqual(['at', 'reason', 'text'])
    expect(await feed.empty()).toBe(true)
  })

  it('keeps ten thousand of them, and counts the older ones that it drops', async () => {
    const feed = feedOf(place)
    await refuseAll(
      feed,
      Array.from({ length: 10_500 }, (_, n) => `bad ${n}`),
    )
    expect(await feed.refused(1)).toMatchObject({ entries: [{ text: 'bad 10499' }], kept: 10_000, dropped: 500 })
    const all = await feed.refused(20_000)
    expect(all.entries.at(-1)).toMatchObject({ text: 'bad 500' })
  })

  it('keeps no more than 32 MiB of them', async () => {
    const feed = feedOf(place)
    const large = 'x'.repeat(250_000)
    await refuseAll(
      feed,
      Array.from({ length: 150 }, (_, n) => `${n} ${large}`),
    )
    const { kept, dropped } = await feed.refused(1)
    expect(kept + dropped).toBe(150)
    expect(kept).toBeGreaterThan(120)
    expect(kept).toBeLessThan(135)
    await feed.retryRefused()
    expect(await feed.refused(1)).toMatchObject({ kept: 0, dropped })
    expect(Number(await redis.command(null, ['HGET', keysOf(place).refusedSums, 'bytes']))).toBe(0)
  })

  it('puts back what was refused, in the order in which it came, and never twice', async () => {
    const feed = feedOf(place)
    const pushed = Array.from({ length: 450 }, (_, n) => `entry ${n}`)
    await refuseAll(feed, pushed)
    const both = await Promise.all([feed.retryRefused(), feedOf(place, 'w2').retryRefused()])
    expect(both.reduce((sum, { retried }) => sum + retried, 0)).toBe(450)
    expect(await feed.refused(10)).toEqual({ entries: [], kept: 0, dropped: 0 })
    expect(await feed.empty()).toBe(false)
    const again = await feed.take(1_000)
    expect(texts(again).sort()).toEqual(pushed.toSorted())
    await feed.done(again)
    expect(await feed.empty()).toBe(true)
    expect(await feed.retryRefused()).toEqual({ retried: 0, left: 0 })
    await refuseAll(feed, ['one', 'two', 'three'])
    expect(await feed.retryRefused()).toEqual({ retried: 3, left: 0 })
    expect(texts(await feed.take(3))).toEqual(['one', 'two', 'three'])
  })

  it('does not choke on entries of ten megabytes', async () => {
    const feed = feedOf(place)
    const huge = 'y'.repeat(10 * 1024 * 1024)
    await feed.push([huge, 'small', huge, huge, 'last'])
    const taken = await feed.take(100)
    expect(taken.map(({ text, bytes }) => [text.length, bytes >= text.length])).toEqual(
      place.kind === 'list'
        ? [2048, 5, 2048, 2048, 4].map((length) => [length, true])
        : [expect.anything(), [5, true], expect.anything(), expect.anything(), [4, true]],
    )
    expect(Math.max(...taken.map(({ text }) => text.length))).toBeLessThan(3_000)
    await feed.refuse(taken.filter(({ bytes }) => bytes > 300_000).map((entry) => refusal(entry, 'too long')))
    await feed.done(taken)
    const { entries } = await feed.refused(10)
    expect(entries).toMatchObject([{ cut: true }, { cut: true }, { cut: true }])
    expect(await feed.retryRefused()).toEqual({ retried: 0, left: 3 })
    expect(await feed.empty()).toBe(true)
  })

  it('takes entries in portions of a few megabytes, and all of them', async () => {
    const feed = feedOf(place)
    const large = 'z'.repeat(200_000)
    await feed.push(Array.from({ length: 60 }, (_, n) => `${n} ${large}`))
    const portions: number[] = []
    for (;;) {
      const taken = await feed.take(100)
      if (taken.length === 0) break
      portions.push(taken.length)
      await feed.done(taken)
    }
    expect(portions.reduce((sum, length) => sum + length, 0)).toBe(60)
    expect(Math.max(...portions)).toBeLessThan(35)
  })
})

describe('a stream', () => {
  it('gives a retried entry to its own group only, and adds one that was trimmed', async () => {
    const feed = feedOf(STREAM)
    await redis.command('my stream', ['XGROUP', 'CREATE', 'my stream', 'others', '0', 'MKSTREAM'])
    await refuseAll(feed, ['one', 'two'])
    const others = () =>
      redis.command('my stream', ['XREADGROUP', 'GROUP', 'others', 'o', 'STREAMS', 'my stream', '>']) as Promise<
        unknown[] | null
      >
    await others()
    await feed.retryRefused()
    expect(texts(await feed.take(10))).toEqual(['one', 'two'])
    expect(await others()).toBeNull()
    await expire(STREAM)
    const [one, two] = await feed.take(10)
    if (one === undefined || two === undefined) throw new Error('nothing was taken')
    await feed.refuse([refusal(one, 'x')])
    await feed.done([two])
    await redis.command('my stream', ['XTRIM', 'my stream', 'MAXLEN', '0'])
    expect(await feed.retryRefused()).toEqual({ retried: 1, left: 0 })
    expect(texts(await feed.take(10))).toEqual(['one'])
  })
})

describe('a set or a sorted set, as scrapy-redis can use them', () => {
  it.each([
    ['set', ['SADD', 'shoal:feed:books', 'one', 'two', 'three']],
    ['sorted set', ['ZADD', 'shoal:feed:books', '1', 'three', '9', 'one', '5', 'two']],
  ])('a %s is a feed', async (kind, command) => {
    await redis.command(null, command)
    const feed = feedOf(LIST)
    expect(await feed.empty()).toBe(false)
    const [first, ...more] = await feed.take(2)
    if (first === undefined) throw new Error('nothing was taken')
    if (kind === 'sorted set') expect([first, ...more].map(({ text }) => text)).toEqual(['one', 'two'])
    await feed.push(['four'])
    await feed.refuse([refusal(first, 'bad')])
    expect(await feed.retryRefused()).toEqual({ retried: 1, left: 0 })
    const rest = await feed.take(10)
    expect([...texts(more), ...texts(rest)].sort()).toEqual(['four', 'one', 'three', 'two'])
    await feed.done([...more, ...rest])
    expect(await feed.empty()).toBe(true)
  })
})

describe('a key that belongs to something else', () => {
  const key = 'shoal:feed:books'
  it.each([
    [['SET', key, 'x'], LIST, "the key 'shoal:feed:books' of the feed is a string"],
    [['HSET', key, 'a', 'b'], LIST, "the key 'shoal:feed:books' of the feed is a hash"],
    [['XADD', key, '*', 'a', 'b'], LIST, "the key 'shoal:feed:books' of the feed is a stream"],
    [['LPUSH', key, 'x'], { ...STREAM, key }, "the key 'shoal:feed:books' of the feed is not a stream"],
  ])('%j is named, and left alone', async (command, place, message) => {
    await redis.command(null, command)
    const feed = feedOf(place)
    for (const call of [() => feed.empty(), () => feed.take(1), () => feed.push(['x'])])
      await expect(call()).rejects.toMatchObject({
        code: 'config_invalid',
        message,
        hint: expect.stringContaining('feed.'),
      })
    expect(await redis.command(null, ['EXISTS', key])).toBe(1)
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
    await add('url', 'https://a.example/', 'id', '12345678901234567890', 'n', '7', 'zip', '01234')
    expect(JSON.parse((await feed.take(1))[0]?.text ?? '')).toMatchObject({
      id: '12345678901234567890',
      n: 7,
      zip: '01234',
    })
  })

  it('keep the digits of what they contain, and are given out however deep they are nested', async () => {
    const feed = feedOf(STREAM)
    const add = (...fields: string[]) => redis.command('my stream', ['XADD', 'my stream', '*', ...fields])
    const deep = `${'['.repeat(6_000)}${']'.repeat(6_000)}`
    await add('url', 'https://a.example/', 'data', deep)
    await add('url', 'https://b.example/', 'data', '{"id":12345678901234567890}')
    // One entry that could not be parsed had kept all others from being taken.
    expect(texts(await feed.take(10))).toEqual([
      `{"url":"https://a.example/","data":${deep}}`,
      '{"url":"https://b.example/","data":{"id":12345678901234567890}}',
    ])
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
