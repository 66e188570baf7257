import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { watchQueue } from '../../src/coordinator/queue-watch.js'
import { lostCrawl, recoverCrawl } from '../../src/coordinator/recover.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { FetchRow } from '../../src/store/record-store.js'
import { fingerprint } from '../../src/url/fingerprint.js'

const spider = spiderFromDefinition(
  defineSpider({
    name: 's',
    start: ['https://a.example/'],
    pace: { delay: 0, concurrency: 100 },
    routes: { page: { match: '**' } },
  }),
)
const random = () => 0.5
const ADDRESS = 'redis://queue.example:6379'

/** A queue whose data can be taken away or set back, as a Redis without persistence or with an old snapshot. */
async function world() {
  const clock = new ManualClock()
  const store = memoryRecordStore()
  const backendsOn = (frontier: MemoryFrontier) => ({ frontier, store, queueAddress: ADDRESS })
  const first = new MemoryFrontier({ clock })
  const backends = backendsOn(first)
  const signal = new AbortController().signal
  const { crawl } = await openCrawl(backends, spider, { fresh: false, clock, random })
  await seedCrawl(backends, spider, crawl, { clock, signal }).all
  const fetched = async (path: string, error: string | null, more: Partial<FetchRow> = {}) => {
    const url = `https://a.example${path}`
    const row: FetchRow = {
      spider: 'books',
      crawl,
      gen: 1,
      epoch: '1',
      fp: fingerprint(url),
      url,
      host: 'a.example',
      route: 'page',
      depth: 2,
      link: null,
      status: 200,
      bytes: 1,
      ms: 1,
      attempt: 1,
      worker: 'w',
      error,
      page: null,
      headers: null,
      pool: null,
      at: clock.now(),
      ...more,
    }
    await store.records.write({ records: [], rejected: [], fetches: [row] })
  }
  return {
    clock,
    store,
    crawl,
    backends,
    backendsOn,
    signal,
    fetched,
    empty: () => backendsOn(new MemoryFrontier({ clock })),
  }
}

/** As a snapshot that was made before the mark moved on. */
function setBack(frontier: MemoryFrontier, mark: number): void {
  let next = mark
  frontier.mark = async () => ++next
}

describe('a queue', () => {
  it('is sound while its marks grow, in whatever order processes note them', async () => {
    const { backends, store, crawl } = await world()
    const watches = [watchQueue(backends), watchQueue(backends)]
    for (let i = 0; i < 5; i++) {
      expect(await Promise.all(watches.map((watch) => watch.look()))).toEqual([[], []])
    }
    expect(await store.crawls.notes()).toMatchObject([{ crawl, state: 'open' }])
  })

  it('that came back empty loses its unfinished crawls, once', async () => {
    const { empty, store, crawl } = await world()
    const watch = watchQueue(empty())
    expect(await watch.look()).toEqual([{ crawl, spider: 's', why: 'gone' }])
    expect(await watch.look()).toEqual([])
    expect(await store.crawls.notes()).toMatchObject([{ crawl, state: 'lost' }])
  })

  it('that is replaced under the feet of a worker is noticed by it, whatever its address', async () => {
    const { backends, empty, crawl } = await world()
    const live: { frontier: MemoryFrontier } = { frontier: backends.frontier }
    const frontier = new Proxy(backends.frontier, {
      get: (_target, name) => {
        const member: unknown = Reflect.get(live.frontier, name, live.frontier)
        return typeof member === 'function' ? member.bind(live.frontier) : member
      },
    })
    const watch = watchQueue({ ...backends, frontier, queueAddress: 'elsewhere' })
    expect(await watch.look()).toEqual([])
    live.frontier = empty().frontier
    expect(await watch.look()).toEqual([{ crawl, spider: 's', why: 'gone' }])
  })

  it('of another address is not mistaken for it', async () => {
    const { store, clock, crawl } = await world()
    const other = { frontier: new MemoryFrontier({ clock }), store, queueAddress: 'redis://other.example:6379' }
    expect(await watchQueue(other).look()).toEqual([])
    expect(await store.crawls.notes()).toMatchObject([{ crawl, state: 'open' }])
  })

  it('that went back gives no more links, and a larger generation', async () => {
    const { backends, store, crawl } = await world()
    const watch = watchQueue(backends)
    for (let i = 0; i < 5; i++) await watch.look()
    const gen = await store.generations.of(await backends.frontier.identity())
    setBack(backends.frontier, 1)
    expect(await watch.look()).toEqual([{ crawl, spider: 's', why: 'back' }])
    expect(await backends.frontier.stats(crawl)).toMatchObject({ state: 'paused' })
    expect(await store.generations.of(await backends.frontier.identity())).toBeGreaterThan(gen)
    expect(await watch.look()).toEqual([])
  })

  it('does not lose what had ended', async () => {
    const { backends, empty, crawl, store } = await world()
    await backends.frontier.setState(crawl, 'cancelled')
    await watchQueue(backends).look()
    expect(await store.crawls.notes()).toMatchObject([{ state: 'ended' }])
    expect(await watchQueue(empty()).look()).toEqual([])
  })
})

describe('a lost crawl', () => {
  it('is not resumed by accident, and given up by starting anew', async () => {
    const { empty, clock, crawl, store } = await world()
    const backends = empty()
    await expect(openCrawl(backends, spider, { fresh: false, clock, random })).rejects.toMatchObject({
      code: 'crawl_lost',
      hint: expect.stringContaining(`shoal recover ${crawl}`),
    })
    clock.advance(1_000)
    const opened = await openCrawl(backends, spider, { fresh: true, clock, random })
    expect(opened.crawl).not.toBe(crawl)
    expect(await store.crawls.notes()).toMatchObject([{ state: 'ended' }, { state: 'open' }])
  })

  it('is recovered with its seeds and the pages that were not fetched', async () => {
    const { empty, clock, crawl, signal, fetched, store } = await world()
    await fetched('/', null)
    await fetched('/1', 'timeout')
    await fetched('/1', null)
    await fetched('/2', 'server_error')
    const backends = empty()
    const note = await lostCrawl(backends, 's')
    expect(note).toMatchObject({ crawl, state: 'lost' })
    const recovered = await recoverCrawl(backends, spider, note, { refetch: false, clock, signal })
    expect(recovered).toMatchObject({
      crawl,
      gen: 2,
      known: 2,
      queued: 1,
      unwanted: 0,
      seeded: true,
      seeds: { added: 1 },
    })
    const { leases } = await backends.frontier.lease({ worker: 'w', seq: 1, want: 9, spiders: ['s'] })
    expect(leases.map(({ link, gen }) => [link.url, link.route, gen])).toEqual([
      ['https://a.example/2', 'page', 2],
      ['https://a.example/', 'page', 2],
    ])
    expect(await backends.frontier.stats(crawl)).toMatchObject({ total: 3, done: 1, seeding: false, state: 'running' })
    expect(await store.crawls.notes()).toMatchObject([{ state: 'open' }])
    await expect(lostCrawl(backends, crawl)).rejects.toMatchObject({ code: 'usage' })
    expect(await openCrawl(backends, spider, { fresh: false, clock, random })).toMatchObject({ crawl, resumed: true })
  })

  it('visits every known page again when asked to', async () => {
    const { empty, clock, crawl, signal, fetched } = await world()
    for (const path of ['/', '/1', '/2']) await fetched(path, null)
    const backends = empty()
    const recovered = await recoverCrawl(backends, spider, await lostCrawl(backends, crawl), {
      refetch: true,
      clock,
      signal,
    })
    expect(recovered).toMatchObject({ known: 0, queued: 3 })
    expect(await backends.frontier.stats(crawl)).toMatchObject({ queued: 3, done: 0 })
  })

  it('asks for a page as it was asked for, whatever it was redirected to', async () => {
    const { empty, clock, crawl, signal, fetched } = await world()
    const request = { method: 'POST', body: 'q=1' }
    const link = {
      url: 'https://a.example/search',
      fp: 'abcdefabcdefabcd',
      host: 'a.example',
      route: 'page',
      depth: 2,
      priority: 0,
    }
    const posted = { ...link, request, data: { q: 1 } }
    await fetched('/answer', 'server_error', { fp: link.fp, link: posted })
    await fetched('/moved', null, { status: 301 })
    const backends = empty()
    await recoverCrawl(backends, spider, await lostCrawl(backends, crawl), { refetch: false, clock, signal })
    const links = await backends.frontier.links({ crawl, limit: 9 })
    expect(links.map(({ url, depth, state }) => [url, depth, state])).toEqual([
      ['https://a.example/search', 2, 'queued'],
      ['https://a.example/moved', 2, 'queued'],
      ['https://a.example/', 0, 'queued'],
    ])
    expect(links[0]).toMatchObject({ fp: link.fp, request, data: { q: 1 } })
  })

  it('leaves seeds that must be fetched to whoever runs the crawl, and stays open for them', async () => {
    const { empty, clock, crawl, signal } = await world()
    const backends = empty()
    const hanging = {
      label: 'a server that never answers',
      sources: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }),
    }
    const options = { refetch: false, clock, signal, groups: [hanging] }
    const recovered = await recoverCrawl(backends, spider, await lostCrawl(backends, crawl), options)
    expect(recovered).toMatchObject({ seeded: false, seeds: { added: 1 } })
    expect(await backends.frontier.stats(crawl)).toMatchObject({ state: 'running', seeding: true })
  })

  it('goes on from an older state of its queue', async () => {
    const { backends, clock, crawl, signal, fetched } = await world()
    await watchQueue(backends).look()
    await watchQueue(backends).look()
    setBack(backends.frontier, 0)
    await fetched('/1', null)
    await fetched('/2', 'timeout')
    const recovered = await recoverCrawl(backends, spider, await lostCrawl(backends, 's'), {
      refetch: false,
      clock,
      signal,
    })
    expect(recovered).toMatchObject({ crawl, known: 1, queued: 1 })
    expect(await backends.frontier.stats(crawl)).toMatchObject({ state: 'running', queued: 2, done: 1 })
  })

  it('leaves out pages that the spider does not want any more', async () => {
    const { empty, clock, crawl, signal, fetched } = await world()
    await fetched('/old/1', 'timeout')
    const backends = empty()
    const strict = { ...spider, admit: { ...spider.admit, deny: ['/old/*'] } }
    const recovered = await recoverCrawl(backends, strict, await lostCrawl(backends, crawl), {
      refetch: false,
      clock,
      signal,
    })
    expect(recovered).toMatchObject({ queued: 0, unwanted: 1 })
  })

  it('must be known to the store', async () => {
    await expect(lostCrawl((await world()).backends, 'nothing')).rejects.toMatchObject({ code: 'not_found' })
  })
})
