import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { specFor } from '../../src/coordinator/crawls.js'
import { feedSpider } from '../../src/coordinator/feeding.js'
import { ShoalError } from '../../src/errors.js'
import type { Feed, FeedEntry, RefusedEntry } from '../../src/feed/feed.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { createLog } from '../../src/log.js'
import { defineSpider, type FeedDefinition } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { ENTRIES } from '../feed/odd-entries.js'

/** A feed in memory whose takers can die. */
function memoryFeed(): Feed & { dies: boolean; expire(): void } {
  let waiting: FeedEntry[] = []
  const taken = new Map<string, FeedEntry>()
  const refused: RefusedEntry[] = []
  let number = 0
  return {
    key: 'memory',
    dies: false,
    async take(count) {
      const batch = waiting.slice(0, count)
      waiting = waiting.slice(batch.length)
      for (const entry of batch) taken.set(entry.id, entry)
      return batch
    },
    async done(entries) {
      if (this.dies) throw new Error('the taker died before it could say so')
      for (const { id } of entries) taken.delete(id)
    },
    async refuse(refusals) {
      for (const { entry, parts } of refusals) {
        if (taken.delete(entry.id)) refused.unshift(...parts.map((part) => ({ ...part, at: 0 })))
      }
    },
    refused: async (limit) => ({ entries: refused.slice(0, limit), kept: refused.length, dropped: 0 }),
    async retryRefused() {
      const texts = refused.splice(0).map(({ text }) => text)
      await this.push(texts)
      return { retried: texts.length, left: 0 }
    },
    empty: async () => waiting.length + taken.size === 0,
    expire() {
      this.dies = false
      waiting = [...taken.values(), ...waiting]
      taken.clear()
    },
    async push(texts) {
      waiting = [...waiting, ...texts.map((text) => ({ id: String(++number), text, bytes: text.length }))]
    },
  }
}

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function world(
  feedOptions: true | FeedDefinition | undefined,
  more: { maxPending?: number; budget?: { pages: number } } = {},
) {
  const clock = new ManualClock()
  const frontier = new MemoryFrontier({ clock })
  const store = memoryRecordStore()
  const feed = memoryFeed()
  const definition = {
    name: 's',
    start: ['https://a.example/'],
    pace: { delay: 0 as const, concurrency: 100 },
    routes: { page: { match: '**' } },
  }
  const spider = spiderFromDefinition(
    defineSpider({ ...definition, ...more, ...(feedOptions === undefined ? {} : { feed: feedOptions }) }),
  )
  const lines: { event: string; [field: string]: unknown }[] = []
  const log = createLog('warn', clock, (line) => lines.push(JSON.parse(line)))
  const controller = new AbortController()
  const begin = (given: Feed | null = feed) => {
    const ended = feedSpider({ backends: { frontier, store }, spider, feed: given, clock, log }, controller.signal)
    stops.push(async () => {
      controller.abort()
      await ended
    })
    return ended
  }
  const stop = async () => {
    for (const one of stops.splice(0)) await one()
  }
  /** Lets the feeder come round so many times. */
  const rounds = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(500)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  let seq = 0
  const visitAll = async () => {
    const { leases } = await frontier.lease({ worker: 'w', seq: ++seq, want: 1_000, spiders: ['s'] })
    await frontier.settle(leases.map((lease) => ({ lease, outcome: { kind: 'done', links: [], bytes: 0 } })))
    return leases.map(({ link }) => link.url)
  }
  const open = () => frontier.open(specFor(spider, 'c', 1))
  return { clock, frontier, store, feed, spider, begin, rounds, visitAll, open, lines, stop }
}

describe('a fed spider', () => {
  it('gets what is pushed, through its own door', async () => {
    const { frontier, feed, begin, rounds, open } = world(true)
    await open()
    begin()
    await feed.push([
      'https://a.example/1',
      '{"url":"https://a.example/2","priority":9,"data":{"n":2}}',
      'https://elsewhere.example/',
      'nonsense',
      '{"url":"https://a.example/3","route":"none"}',
    ])
    await rounds(2)
    expect(await frontier.links({ crawl: 'c', limit: 9 })).toMatchObject([
      { url: 'https://a.example/1' },
      { url: 'https://a.example/2', priority: 9, data: { n: 2 } },
      { url: 'https://a.example/3', route: 'page', data: { route: 'none' } },
    ])
    expect(await feed.empty()).toBe(true)
    expect((await feed.refused(9)).entries.map(({ text }) => text).sort()).toEqual([
      'https://elsewhere.example/',
      'nonsense',
    ])
  })

  it('takes the URLs of an entry that are in scope, and sets the others aside as entries of their own', async () => {
    const { frontier, feed, begin, rounds, open } = world(true)
    await open()
    begin()
    await feed.push(['{"urls":["https://a.example/1","https://b.example/","https://a.example/2"],"shop":7}'])
    await rounds(2)
    expect(await frontier.links({ crawl: 'c', limit: 9 })).toMatchObject([
      { url: 'https://a.example/1', data: { shop: 7 } },
      { url: 'https://a.example/2', data: { shop: 7 } },
    ])
    expect((await feed.refused(9)).entries).toMatchObject([
      { text: '{"url":"https://b.example/","data":{"shop":7}}', reason: expect.stringContaining('scope') },
    ])
    expect(await feed.empty()).toBe(true)
  })

  it('names a key that it does not know once, and garbage once in ten seconds', async () => {
    const { feed, begin, rounds, open, lines } = world(true)
    await open()
    begin()
    const entries = (from: number, more: object) =>
      Array.from({ length: 50 }, (_, n) => JSON.stringify({ url: `https://a.example/${from + n}`, ...more }))
    await feed.push([...entries(0, { attempts: 3, max_retries: 1 }), ...Array(50).fill('nonsense')])
    await rounds(2)
    await feed.push([...entries(50, { attempts: 4, shop: 1 }), ...Array(50).fill('https://user:secret@b.example/')])
    await rounds(2)
    expect(lines.filter(({ event }) => event === 'feed.noted')).toMatchObject([
      { spider: 's', keys: ['max_retries'], note: expect.stringContaining('of the spider') },
      { spider: 's', keys: ['attempts'], note: expect.stringContaining('kept in data') },
      { spider: 's', keys: ['shop'] },
    ])
    const refused = () => lines.filter(({ event }) => event === 'feed.refused')
    expect(refused()).toMatchObject([{ entries: 50, entry: 'nonsense', reason: expect.stringContaining('not a URL') }])
    await rounds(20)
    expect(refused()).toMatchObject([{ entries: 50 }, { entries: 50, entry: 'https://b.example/' }])
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  it('stops naming keys when every entry has another one', async () => {
    const { feed, begin, rounds, open, lines } = world(true)
    await open()
    begin()
    await feed.push(
      Array.from({ length: 300 }, (_, n) => JSON.stringify({ url: 'https://a.example/1', [`key${n}`]: 1 })),
    )
    await rounds(9)
    const keys = lines.flatMap(({ event, keys: named }) => (event === 'feed.noted' ? (named as string[]) : []))
    expect(keys).toHaveLength(100)
    expect(lines.at(-1)).toMatchObject({ note: 'further keys are not named' })
    expect(await feed.empty()).toBe(true)
  })

  it('refuses nothing because it stops while the queue is full', async () => {
    const { frontier, feed, rounds, open, begin, stop } = world(true, { maxPending: 2 })
    await open()
    begin()
    await feed.push([
      '{"urls":["https://a.example/1","https://a.example/2","https://a.example/3","https://a.example/4"]}',
    ])
    await rounds(4)
    expect(await frontier.stats('c')).toMatchObject({ queued: 1, refused: 0 })
    await stop()
    expect(await feed.refused(9)).toMatchObject({ kept: 0 })
    expect(await feed.empty()).toBe(false)
  })

  it('skips what it has seen, unless it is wanted again', async () => {
    const { frontier, feed, begin, rounds, open, visitAll } = world(true)
    await open()
    begin()
    await feed.push(['https://a.example/1'])
    await rounds(2)
    expect(await visitAll()).toEqual(['https://a.example/1'])
    await feed.push(['https://a.example/1'])
    await rounds(2)
    expect(await visitAll()).toEqual([])
    await feed.push(['{"url":"https://a.example/1","again":true}'])
    await rounds(2)
    expect(await visitAll()).toEqual(['https://a.example/1'])
    expect(await frontier.stats('c')).toMatchObject({ done: 1, state: 'running' })
  })

  it('adds an entry once when the taker died in between', async () => {
    const { frontier, feed, begin, rounds, open, visitAll } = world(true)
    await open()
    begin()
    feed.dies = true
    await feed.push(['https://a.example/1'])
    await rounds(2)
    expect(await visitAll()).toEqual(['https://a.example/1'])
    expect(await feed.empty()).toBe(false)
    feed.expire()
    await rounds(20)
    expect(await feed.empty()).toBe(true)
    expect(await visitAll()).toEqual([])
    expect(await frontier.stats('c')).toMatchObject({ total: 1, done: 1 })
  })

  it('stays open, or ends when it has been idle for long enough', async () => {
    for (const feedOptions of [true, { idleTimeout: '30s' }] as const) {
      const { frontier, feed, begin, rounds, open, visitAll } = world(feedOptions)
      await open()
      begin()
      await feed.push(['https://a.example/1'])
      await rounds(30)
      await visitAll()
      await rounds(40)
      expect(await frontier.stats('c')).toMatchObject({ state: 'running' })
      await feed.push(['https://a.example/2'])
      await rounds(50)
      expect(await frontier.stats('c')).toMatchObject({ state: 'running', queued: 1 })
      await rounds(50)
      await visitAll()
      await rounds(50)
      expect(await frontier.stats('c')).toMatchObject({ state: 'running' })
      await rounds(30)
      expect(await frontier.stats('c')).toMatchObject({ state: feedOptions === true ? 'running' : 'finished' })
    }
  })

  it('ends when idle also on a queue without feeds', async () => {
    const { frontier, begin, rounds, open } = world({ idleTimeout: '5s' })
    await open()
    begin(null)
    await rounds(5)
    expect(await frontier.stats('c')).toMatchObject({ state: 'running' })
    await rounds(10)
    expect(await frontier.stats('c')).toMatchObject({ state: 'finished' })
  })

  it('has nothing to do on a queue without feeds when it never ends', async () => {
    await world(true).begin(null)
  })

  it('waits while the queue is full, and loses nothing', async () => {
    const { frontier, feed, begin, rounds, open, visitAll } = world(true, { maxPending: 10 })
    await open()
    begin()
    const urls = Array.from({ length: 50 }, (_, n) => `https://a.example/${n}`)
    await feed.push(urls)
    const visited: string[] = []
    await rounds(4)
    expect((await frontier.stats('c')).queued).toBe(9)
    for (let i = 0; i < 30; i++) {
      visited.push(...(await visitAll()))
      await rounds(2)
    }
    expect(visited.sort()).toEqual(urls.sort())
    expect(await frontier.stats('c')).toMatchObject({ refused: 0 })
  })

  it('sets aside each odd entry alone, and takes what comes after it', async () => {
    const { feed, begin, rounds, open, frontier, lines } = world(true)
    await open()
    begin()
    const bad = ENTRIES.filter(([, , expected]) => expected instanceof RegExp).map(([, text]) => text)
    await feed.push([...bad, 'https://a.example/after'])
    await rounds(3)
    // One of them has a good line as well.
    expect((await frontier.links({ crawl: 'c', limit: 9 })).map(({ url }) => url)).toEqual([
      'https://a.example/p',
      'https://a.example/after',
    ])
    expect(await feed.empty()).toBe(true)
    expect((await feed.refused(99)).kept).toBe(bad.length)
    expect(lines.map(({ event }) => event)).not.toContain('feed.failed')
  })

  it('sets aside what a budget refuses', async () => {
    const { frontier, feed, begin, rounds, open } = world(true, { budget: { pages: 2 } })
    await open()
    begin()
    await feed.push(['https://a.example/1', 'https://a.example/2', 'https://a.example/3'])
    await rounds(3)
    expect(await frontier.stats('c')).toMatchObject({ total: 2 })
    expect((await feed.refused(9)).entries).toMatchObject([
      { text: 'https://a.example/3', reason: expect.stringMatching(/budget/) },
    ])
  })

  it('reports a feed that cannot be read once, with what to do, and continues when it can', async () => {
    const { frontier, feed, begin, rounds, open, lines } = world(true)
    await open()
    const empty = feed.empty.bind(feed)
    feed.empty = async () => {
      throw new ShoalError('config_invalid', "the key 'in' of the feed is a string", { hint: 'Set another key.' })
    }
    begin()
    await feed.push(['https://a.example/1'])
    await rounds(40)
    expect(lines.filter(({ event }) => event === 'feed.failed')).toMatchObject([
      { spider: 's', message: "the key 'in' of the feed is a string", next: 'Set another key.' },
    ])
    feed.empty = empty
    await rounds(12)
    expect(await frontier.links({ crawl: 'c', limit: 9 })).toMatchObject([{ url: 'https://a.example/1' }])
  })

  it('opens a crawl when there is none, and feeds none that was cancelled', async () => {
    const { frontier, feed, begin, rounds } = world(undefined)
    begin()
    await rounds(2)
    expect(await frontier.crawls()).toEqual([])
    await feed.push(['https://a.example/1'])
    await rounds(2)
    expect(await frontier.crawls()).toMatchObject([{ id: 's-feed', state: 'running' }])
    await frontier.setState('s-feed', 'cancelled')
    await feed.push(['https://a.example/2'])
    await rounds(4)
    expect(await frontier.crawls()).toHaveLength(1)
    expect(await feed.empty()).toBe(false)
  })
})
