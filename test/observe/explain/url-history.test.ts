import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import type { HostInfo, LinkInfo, Outcome } from '../../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../../src/frontier/memory/memory-frontier.js'
import { memoryNotes } from '../../../src/notes/memory/memory-notes.js'
import { nextSlot } from '../../../src/observe/explain/next-slot.js'
import { attemptsOf, readUrlHistory } from '../../../src/observe/explain/url-history.js'
import { vitalsKey } from '../../../src/observe/note-keys.js'
import type { SpiderDefinition } from '../../../src/spider/definition.js'
import { resolveSpider } from '../../../src/spider/resolve.js'
import { memoryRecordStore } from '../../../src/store/memory/memory-record-store.js'
import { fingerprint } from '../../../src/url/fingerprint.js'
import type { Link } from '../../../src/url/link.js'
import { specOf } from '../../contract/frontier-fixtures.js'
import { batch, fetchRow, record } from '../../contract/record-store-contract.js'
import { someVitals } from '../vitals/some-vitals.js'

const SPIDER = resolveSpider(
  {
    name: 'books',
    start: ['https://a.test/'],
    routes: { book: { match: ['/b/*', '/books/**'] }, other: { match: '/**' } },
  } as SpiderDefinition,
  'hash',
)

function link(path: string, changes: Partial<Link> = {}): Link {
  const url = `https://a.test${path}`
  return { url, fp: fingerprint(url), host: 'a.test', route: 'book', depth: 2, priority: 7, ...changes }
}

async function backendsOf(links: readonly Link[], limits = { delayMs: 5_000, concurrency: 1 }) {
  const clock = new ManualClock()
  const frontier = new MemoryFrontier({ clock })
  const notes = memoryNotes({ clock })
  const store = memoryRecordStore(clock)
  await frontier.open(specOf({ limits }))
  await frontier.add('c1', links)
  let seq = 0
  const lease = async () => {
    const { leases } = await frontier.lease({ worker: 'w1', seq: ++seq, want: 1, spiders: ['books'] })
    if (leases[0] === undefined) throw new Error('nothing to lease')
    return leases[0]
  }
  const visit = async (outcome: Outcome) => {
    const held = await lease()
    const kind = outcome.kind === 'retry' ? 'throttled' : 'ok'
    const report = kind === 'ok' ? ({ kind } as const) : ({ kind, retryAfterMs: null } as const)
    await frontier.release([{ lease: held, host: 'a.test', elapsedMs: 5, report }])
    await frontier.settle([{ lease: held, outcome }])
    return held
  }
  const tell = (url: string, spider: typeof SPIDER | null = SPIDER) =>
    readUrlHistory({ frontier, notes, store }, { crawl: 'c1', url, spider, now: clock.now() })
  return { clock, frontier, notes, store, lease, visit, tell }
}

describe('the history of a URL', () => {
  it('of one that waits: its door, its route and pattern, its place, the next slot and why', async () => {
    const { visit, tell } = await backendsOf([
      link('/b/1', { priority: 9 }),
      link('/b/2', { priority: 8 }),
      link('/books/x/3'),
    ])
    await visit({ kind: 'done', links: [], bytes: 1 })
    const history = await tell('https://a.test/books/x/3?utm_source=mail#top')
    expect(history).toMatchObject({
      ...{ asked: 'https://a.test/books/x/3?utm_source=mail#top', url: 'https://a.test/books/x/3' },
      ...{ crawl: 'c1', spider: 'books', crawlState: 'running', state: 'queued', position: 1 },
      admitted: {
        by: 'found on a page at depth 1; route book by pattern /books/**',
        ...{ route: 'book', depth: 2, priority: 7 },
      },
      nextSlot: 'in 5.0 s: crawl delay of 5.0 s',
      ...{ attempts: [], records: [], can: ['promote', 'remove'] },
    })
    expect(history.why).toEqual([
      '1 link of its host is ahead of it',
      'next slot of a.test: in 5.0 s: crawl delay of 5.0 s',
      'asked for as https://a.test/books/x/3?utm_source=mail#top: parameters dropped (scope.canonical.dropParams)',
    ])
    const other = await backendsOf([link('/b/1', { route: 'other', depth: 0 })])
    expect((await other.tell('https://a.test/b/1')).admitted?.by).toBe(
      'a start URL, or a redirect from one; route other by name',
    )
    expect((await other.tell('https://a.test/b/1', null)).admitted?.by).toBe('a start URL, or a redirect from one')
  })

  it('of one that is tried again: each attempt with its error, and who is to blame', async () => {
    const { visit, tell, store, clock } = await backendsOf([link('/b/1')])
    const failure = { code: 'throttled', message: 'status 429' } as const
    const { link: held } = await visit({ kind: 'retry', afterMs: 60_000, failure, countsAsAttempt: true })
    const row = fetchRow({
      crawl: 'c1',
      fp: held.fp,
      url: held.url,
      status: 429,
      error: 'throttled',
      pool: 'home/proxy-3',
    })
    await store.records.write(batch({ fetches: [{ ...row, worker: 'w1', at: clock.now() }] }))
    const history = await tell(held.url)
    expect(history).toMatchObject({ state: 'delayed', can: ['promote', 'retry', 'remove'] })
    expect(history.why).toEqual([
      'due in 1 min 00 s',
      'the last visit ended with throttled: status 429, which does not count as an attempt',
      expect.stringMatching(/^next slot of a.test: in .*: rate limited by the host/),
    ])
    expect(history.attempts).toMatchObject([
      {
        attempt: 1,
        status: 429,
        worker: 'w1',
        proxy: 'home/proxy-3',
        error: { code: 'throttled', message: 'status 429' },
      },
    ])
    expect(history.nextSlot).toMatch(/^in .*: rate limited by the host \(429 or 503\)$/)
  })

  it('of one in flight: who has it, since when and through which proxy', async () => {
    const { lease, tell, notes, clock } = await backendsOf([link('/b/1')])
    const { link: held } = await lease()
    const proxy = { pool: 'home', proxy: 'proxy-3' }
    const vitals = someVitals({ worker: 'w1', inFlight: [{ crawl: 'c1', fp: held.fp, proxy, forMs: 10 }] })
    await notes.post(vitalsKey('w1'), 'w1', JSON.stringify(vitals), 60_000)
    clock.advance(3_000)
    const history = await tell(held.url)
    expect(history).toMatchObject({ state: 'leased', can: [] })
    expect(history.why).toEqual(['in flight on worker w1 for 3.0 s, attempt 1, through home/proxy-3'])
  })

  it('of one that is done: what it gave, also where it led elsewhere', async () => {
    const { visit, tell, store } = await backendsOf([link('/b/1')])
    const { link: held } = await visit({ kind: 'done', links: [], bytes: 1 })
    const moved = 'https://a.test/books/1'
    const row = { spider: 'books', crawl: 'c1', fp: held.fp, url: moved, page: 'sha256-1' }
    await store.records.write(
      batch({
        records: [
          record({ key: 'k1', url: moved, data: { title: 'T', long: 'x'.repeat(100_000) } }),
          record({ key: 'k2', url: held.url }),
          record({ key: 'k3', url: 'https://a.test/else' }),
          record({ key: 'k4', url: moved, spider: 'others' }),
        ],
        fetches: [fetchRow(row)],
      }),
    )
    const history = await tell(held.url)
    expect(history.state).toBe('done')
    expect(history.attempts).toMatchObject([{ status: 200, error: null, page: true }])
    expect(history.records.map(({ key }) => key).sort()).toEqual(['k1', 'k2'])
    expect(JSON.stringify(history.records).length).toBeLessThan(2_000)
  })

  it('of a dead letter, of one that may not be fetched, and of a crawl that stands still', async () => {
    const { visit, tell, frontier } = await backendsOf([link('/b/1', { priority: 9 }), link('/b/2')], {
      delayMs: 0,
      concurrency: 5,
    })
    await visit({ kind: 'dead', failure: { code: 'http_error', message: 'status 404' } })
    await visit({ kind: 'skipped', failure: { code: 'robots_disallowed', message: 'robots.txt forbids it' } })
    const dead = await tell('https://a.test/b/1')
    expect(dead).toMatchObject({ state: 'dead', can: ['replay', 'remove'] })
    expect(dead.why).toEqual(['1 attempt, the last ended with http_error: status 404'])
    expect(dead.attempts).toMatchObject([{ attempt: 0, error: { code: 'http_error' } }])
    const skipped = await tell('https://a.test/b/2')
    expect(skipped).toMatchObject({ state: 'skipped', can: [] })
    expect(skipped.why).toEqual(['not fetched: robots_disallowed: robots.txt forbids it'])
    await frontier.add('c1', [link('/b/3')])
    await frontier.setState('c1', 'paused')
    expect((await tell('https://a.test/b/3')).why).toContain('the crawl is paused: no links are handed out')
    await frontier.setState('c1', 'cancelled')
    expect(await tell('https://a.test/b/1')).toMatchObject({ crawlState: 'cancelled', can: [] })
  })

  it('of one that nobody knows: refused, in scope, or not to be judged', async () => {
    const { tell } = await backendsOf([])
    const outside = await tell('https://elsewhere.test/')
    expect(outside).toMatchObject({ state: 'unknown', link: null, host: null, admitted: null, can: [] })
    expect(outside.why[0]).toMatch(/^out_of_scope: /)
    expect((await tell('https://a.test/new')).why[0]).toBe('it is in scope, but no page fetched so far links to it')
    expect((await tell('https://a.test/new', null)).why[0]).toContain('without its spider')
    await expect(tell('not a url')).rejects.toMatchObject({ code: 'bad_url' })
    await expect(tell('ftp://a.test/')).rejects.toMatchObject({ code: 'bad_scheme' })
  })
})

describe('attempts', () => {
  const failed = (at: number, code: string, message = ''): LinkInfo['failures'][number] =>
    ({ at, code, message }) as LinkInfo['failures'][number]

  it('join each error to its request, however the clocks of queue and worker differ', () => {
    const fetches = [
      fetchRow({ at: 900, attempt: 3, error: 'timeout' }),
      fetchRow({ at: 600, attempt: 2, error: 'server_error' }),
      fetchRow({ at: 300, attempt: 1, error: 'timeout' }),
    ]
    const failures = [failed(1_300, 'timeout', 'a'), failed(1_600, 'server_error', 'b'), failed(1_900, 'timeout', 'c')]
    expect(attemptsOf(failures, fetches).map(({ attempt, error }) => [attempt, error?.message])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ])
  })

  it('keep what only one of the two knows', () => {
    const fetches = [fetchRow({ at: 500, attempt: 2 }), fetchRow({ at: 100, attempt: 1, error: 'timeout' })]
    const failures = [failed(300, 'connect_error', 'refused')]
    expect(attemptsOf(failures, fetches)).toMatchObject([
      { at: 100, attempt: 1, error: { code: 'timeout', message: '' } },
      { at: 300, attempt: 0, status: 0, error: { code: 'connect_error', message: 'refused' } },
      { at: 500, attempt: 2, error: null },
    ])
  })
})

describe('the next slot of a host', () => {
  const HOST: HostInfo = {
    ...{ host: 'a.test', pending: 1, inFlight: 0, done: 0, failed: 0, dead: 0, delayMs: 0, slowedFromMs: null },
    ...{ concurrency: 2, ratePerSecond: null, nextAt: 0, blockedUntil: null, throttles: 0, latencyMs: null, set: null },
  }
  it.each<[Partial<HostInfo>, string]>([
    [{}, 'now'],
    [{ inFlight: 2 }, 'when a response arrives: 2 of 2 requests are in flight'],
    [{ set: { blocked: true } }, 'when someone unblocks it: it was blocked manually'],
    [{ nextAt: 12_000, delayMs: 3_000 }, 'in 2.0 s: crawl delay of 3.0 s'],
    [{ nextAt: 12_000, delayMs: 3_000, set: { delayMs: 3_000 } }, 'in 2.0 s: crawl delay of 3.0 s, set manually'],
    [{ nextAt: 12_000, delayMs: 3_000, set: { floorMs: 3_000 } }, 'in 2.0 s: crawl delay of 3.0 s from its robots.txt'],
    [{ nextAt: 12_000, ratePerSecond: 0.5 }, 'in 2.0 s: rate limit of 30/min'],
    [
      { nextAt: 12_000, delayMs: 3_000, slowedFromMs: 100 },
      'in 2.0 s: crawl delay of 3.0 s, raised from 100 ms because it responds slowly or with errors',
    ],
    [{ blockedUntil: 70_000, throttles: 1 }, 'in 1 min 00 s: rate limited by the host (429 or 503)'],
    [
      { blockedUntil: 70_000, throttles: 3 },
      'in 1 min 00 s: rate limited by the host 3 times in a row, longer each time (429 or 503)',
    ],
    [{ blockedUntil: 70_000 }, 'in 1 min 00 s: all its proxies are resting, or its robots.txt cannot be reached'],
  ])('%j', (changes, said) => {
    expect(nextSlot({ ...HOST, ...changes }, 10_000)).toBe(said)
  })
})
