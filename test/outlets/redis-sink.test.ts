import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import type { RedisOutlet } from '../../src/outlets/outlet.js'
import type { Sink } from '../../src/outlets/sink.js'
import type { StoredRecord } from '../../src/store/record-store.js'
import { openRedisSink } from '../../src/wire/sinks.js'
import { type RedisServer, redisCommand, startRedis } from '../support/redis-server.js'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const toClose: Sink[] = []
afterEach(async () => {
  for (const sink of toClose.splice(0)) await sink.close()
})
beforeEach(() => command('FLUSHALL'))

const command = (...args: string[]) => redisCommand(redis.port, ...args)

function record(key: string, fields: Partial<StoredRecord> = {}): StoredRecord {
  const times = { scrapedAt: 1, firstSeenAt: 1, updatedAt: 1 }
  const place = { spider: 'books', site: 'books.example', kind: 'book', url: `https://books.example/${key}` }
  return { ...place, key, data: { title: `Title ${key} ü` }, crawl: 'c1', ...times, ...fields }
}

function outlet(fields: Partial<RedisOutlet> = {}): RedisOutlet {
  return {
    ...{ name: 'books/list', spider: 'books', kinds: null, batch: 100, to: 'list', key: 'items', address: null },
    ...{
      maxLength: null,
      serialize: (one: StoredRecord) => JSON.stringify(one),
      field: (one: StoredRecord) => one.url,
    },
    ...fields,
  }
}

function open(fields: Partial<RedisOutlet> = {}, queue = redis.url): Sink {
  const sink = openRedisSink(outlet(fields), queue, systemClock)
  toClose.push(sink)
  return sink
}

const send = (sink: Sink, records: readonly StoredRecord[], epoch = 1, id = 'outlet-1') =>
  sink.send({ records, hold: { id, epoch } }, new AbortController().signal)

const LIST = (key = 'items') => command('LRANGE', key, '0', '-1') as Promise<string[]>

describe('a Redis sink', () => {
  it('pushes records as JSON on the right of a list, and drops and counts the oldest beyond its length', async () => {
    const sink = open({ maxLength: 3 })
    expect(await send(sink, [record('a'), record('b')])).toEqual({ kind: 'taken', trimmed: 0 })
    expect((await LIST()).map((text) => JSON.parse(text) as unknown)).toEqual([record('a'), record('b')])
    expect(
      await send(
        sink,
        ['c', 'd', 'e'].map((key) => record(key)),
      ),
    ).toEqual({ kind: 'taken', trimmed: 2 })
    expect((await LIST()).map((text) => (JSON.parse(text) as StoredRecord).key)).toEqual(['c', 'd', 'e'])
    expect(
      await send(
        sink,
        ['f', 'g', 'h', 'i'].map((key) => record(key)),
      ),
    ).toEqual({ kind: 'taken', trimmed: 4 })
    expect(await command('LLEN', 'items')).toBe(3)
  })

  it('adds entries to a stream, trimmed and counted', async () => {
    const sink = open({ to: 'stream', key: 'books:stream', maxLength: 2 })
    expect(await send(sink, [record('a'), record('b'), record('c')])).toEqual({ kind: 'taken', trimmed: 1 })
    const entries = (await command('XRANGE', 'books:stream', '-', '+')) as [string, [string, string]][]
    expect(entries.map(([, [field, text]]) => [field, JSON.parse(text) as unknown])).toEqual([
      ['record', record('b')],
      ['record', record('c')],
    ])
  })

  it('sets fields of a hash by URL; of a capped one those that were set longest ago go', async () => {
    const plain = open({ to: 'hash', key: 'h1' })
    expect(await send(plain, [record('a'), record('b')])).toEqual({ kind: 'taken', trimmed: 0 })
    await send(plain, [record('a', { data: 'new' })])
    expect(JSON.parse(String(await command('HGET', 'h1', 'https://books.example/a')))).toMatchObject({ data: 'new' })
    expect(await command('HLEN', 'h1')).toBe(2)
    expect(await command('EXISTS', '{h1}:order')).toBe(0)

    const capped = open({ to: 'hash', key: 'h2', maxLength: 2, field: ({ kind, key }) => `${kind}/${key}` })
    await send(capped, [record('a'), record('b')])
    await send(capped, [record('a', { data: 'again' })])
    expect(await send(capped, [record('c')])).toEqual({ kind: 'taken', trimmed: 1 })
    expect(((await command('HKEYS', 'h2')) as string[]).sort()).toEqual(['book/a', 'book/c'])
  })

  it('caps a hash that was there before: its old fields go first, those just sent stay', async () => {
    const many = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => record(`k${String(from + i).padStart(5, '0')}`))
    const keysOf = async (key: string) =>
      ((await command('HKEYS', key)) as string[]).map((url) => url.replace('https://books.example/', '')).sort()
    await send(open({ to: 'hash', key: 'h' }), many(0, 20))
    const capped = open({ to: 'hash', key: 'h', maxLength: 10 })
    expect(await send(capped, [])).toEqual({ kind: 'taken', trimmed: 0 })
    expect(await command('HLEN', 'h')).toBe(20)
    expect(await send(capped, many(20, 25))).toEqual({ kind: 'taken', trimmed: 15 })
    expect((await keysOf('h')).slice(-5)).toEqual(many(20, 25).map(({ key }) => key))
    await send(capped, many(25, 32))
    expect(await keysOf('h')).toEqual(many(22, 32).map(({ key }) => key))
    expect(await send(capped, many(40, 60))).toEqual({ kind: 'taken', trimmed: 10 })
    expect(await keysOf('h')).toEqual(many(40, 60).map(({ key }) => key))
    await send(capped, many(60, 61))
    expect(await keysOf('h')).toEqual(many(51, 61).map(({ key }) => key))

    // Too many to look at in one call: it catches up.
    await send(open({ to: 'hash', key: 'large' }), many(0, 5_000))
    const large = open({ to: 'hash', key: 'large', maxLength: 100 })
    for (let at = 10_000; at < 10_600; at += 10) {
      await send(large, many(at, at + 10))
      expect(await command('HMGET', 'large', ...many(at, at + 10).map(({ url }) => url))).not.toContain(null)
    }
    expect(await keysOf('large')).toEqual(many(10_500, 10_600).map(({ key }) => key))
  })

  it('does not remember fields of a capped hash for ever that readers deleted', async () => {
    const sink = open({ to: 'hash', key: 'h', maxLength: 1_000 })
    await send(sink, [record('kept')])
    for (let at = 0; at < 100; at++) {
      const sent = Array.from({ length: 20 }, (_, i) => record(`${at}-${i}`))
      await send(sink, sent)
      await command('HDEL', 'h', ...sent.map(({ url }) => url))
    }
    expect(await command('HKEYS', 'h')).toEqual(['https://books.example/kept'])
    expect(await command('ZCARD', '{h}:order')).toBeLessThan(200)
    expect(await command('ZSCORE', '{h}:order', 'https://books.example/kept')).not.toBeNull()
  })

  it('trims nothing for a batch without records', async () => {
    for (const to of ['list', 'stream'] as const) {
      await send(open({ to, key: to }), [record('a'), record('b')])
      expect(await send(open({ to, key: to, maxLength: 1 }), [])).toEqual({ kind: 'taken', trimmed: 0 })
    }
    expect(await command('LLEN', 'list')).toBe(2)
    expect(await command('XLEN', 'stream')).toBe(2)
  })

  it('takes what a serializer of the user gives, text or bytes', async () => {
    const text = open({ serialize: ({ key, data }) => `${key}\t${JSON.stringify(data)}` })
    await send(text, [record('a')])
    expect(await LIST()).toEqual(['a\t{"title":"Title a ü"}'])
    const bytes = open({ key: 'bytes', serialize: () => new Uint8Array([0x66, 0x6f, 0x6f]).subarray(1) })
    await send(bytes, [record('a')])
    expect(await LIST('bytes')).toEqual(['oo'])
  })

  it('stops for a serializer that throws or gives nothing, and writes nothing of the batch', async () => {
    const throws = open({
      serialize: ({ key }) => {
        if (key === 'b') throw new Error('no title')
        return key
      },
    })
    expect(await send(throws, [record('a'), record('b')])).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('no title'),
    })
    const nothing = open({ serialize: () => undefined as unknown as string })
    expect(await send(nothing, [record('a')])).toMatchObject({ kind: 'refused' })
    expect(await command('EXISTS', 'items')).toBe(0)
  })

  it('refuses a holder that was replaced, and keeps outlets of two databases apart', async () => {
    const sink = open({ to: 'hash' })
    await send(sink, [record('a', { data: 'old' })], 1)
    await send(sink, [record('a', { data: 'new' })], 2)
    expect(await send(sink, [record('a', { data: 'old' })], 1)).toEqual({ kind: 'fenced' })
    expect(String(await command('HGET', 'items', 'https://books.example/a'))).toContain('new')
    expect(await send(sink, [record('b')], 1, 'outlet-of-another-database')).toMatchObject({ kind: 'taken' })
  })

  it('says what is wrong: another type, no server, no right to write, full memory', async () => {
    await command('SET', 'items', 'a string')
    expect(await send(open(), [record('a')])).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/WRONGTYPE/),
    })
    expect(await send(open(), [])).toMatchObject({ kind: 'refused' })
    const nobody = open({ address: 'redis://127.0.0.1:1' })
    expect(await send(nobody, [record('a')])).toMatchObject({
      kind: 'down',
      message: expect.stringContaining('127.0.0.1:1'),
    })
    await command('ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '+@read', '+ping', '+info', '+evalsha', '+eval')
    const reader = open({ address: redis.url.replace('redis://', 'redis://reader:pw@') })
    expect(await send(reader, [record('a')])).toMatchObject({ kind: 'refused' })
    const wrong = open({ address: redis.url.replace('redis://', 'redis://reader:wrong-pw@') })
    const refused = await send(wrong, [record('a')])
    expect(refused).toMatchObject({ kind: 'refused' })
    expect(JSON.stringify(refused)).not.toContain('wrong-pw')
    await command('DEL', 'items')
    await command('CONFIG', 'SET', 'maxmemory', '1')
    try {
      expect(await send(open(), [record('a')])).toMatchObject({
        kind: 'down',
        message: expect.stringMatching(/OOM|memory/),
      })
    } finally {
      await command('CONFIG', 'SET', 'maxmemory', '0')
    }
    expect(await send(open(), [record('a')])).toEqual({ kind: 'taken', trimmed: 0 })
  })

  it('takes a server that evicts, which a queue would not, and dials again when it was away', async () => {
    const own = await startRedis({ args: ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru'] })
    try {
      const sink = open({ address: own.url }, 'sqlite:some.db')
      expect(await send(sink, [record('a')])).toEqual({ kind: 'taken', trimmed: 0 })
      await own.kill()
      expect(await send(sink, [record('b')])).toMatchObject({ kind: 'down' })
      await own.restart()
      expect(await send(sink, [record('b')])).toEqual({ kind: 'taken', trimmed: 0 })
    } finally {
      await own.stop()
    }
  })

  it('needs an address where the queue is not on Redis', () => {
    expect(() => open({}, 'sqlite:some.db')).toThrow(expect.objectContaining({ code: 'spider_invalid' }))
  })
})
