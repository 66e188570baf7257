import { describe, expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import type { BlobStore } from '../../src/store/blob-store.js'
import { visit } from '../../src/worker/visit.js'
import type { Visit, VisitParts } from '../../src/worker/visit-parts.js'
import { PERMIT_MS, type Setting, visitParts } from './visit-parts.js'

const HTML = { headers: { 'content-type': 'text/html' }, body: Buffer.from('<h1>Title</h1><a href="/a">a</a>') }
const SPIDER: NonNullable<Setting['spider']> = {
  routes: {
    page: {
      match: '/**',
      follow: [{ links: 'a' }],
      handler: (page, out) => out.record('page', page.url, { title: 'Title' }),
    },
  },
  records: { page: {} },
}

/** A visit of a page with one record and one link. `change` adapts its parts, or the visit itself. */
function pageVisit(
  change: (parts: VisitParts, current: Visit) => Partial<VisitParts> = () => ({}),
  setting: Setting = {},
) {
  const { parts: plain, leased, ended, ...rest } = visitParts({ spider: SPIDER, answer: () => HTML, ...setting })
  const steps: string[] = []
  const { write, settle } = plain.outbox
  const outbox: VisitParts['outbox'] = {
    ...plain.outbox,
    write(batch) {
      steps.push('write')
      return write(batch)
    },
    settle(lease, outcome) {
      steps.push('settle')
      return settle(lease, outcome)
    },
  }
  const current = leased()
  const parts: VisitParts = { ...plain, outbox }
  const run = () => ended(visit(current, { ...parts, ...change(parts, current) }, () => void steps.push('produced')))
  return { run, steps, current, parts, ...rest }
}

/** The links that the next page, with the same link on it, sends to the queue. */
async function linksOfNext(parts: VisitParts, beforeSettle = () => {}): Promise<string[]> {
  const sent: string[] = []
  const settle: VisitParts['outbox']['settle'] = async (_lease, outcome) => {
    beforeSettle()
    const settled = outcome()
    if (settled.kind === 'done') sent.push(...settled.links.map(({ url }) => url))
    return true
  }
  const next = visitParts().leased({ url: 'https://site.test/next' })
  await visit(next, { ...parts, outbox: { ...parts.outbox, settle } }, () => {})
  return sent
}

describe('a visit', () => {
  it('produces, writes and settles, in this order', async () => {
    const { run, steps, written, settled, parts } = pageVisit()
    await run()
    expect(steps).toEqual(['produced', 'write', 'settle'])
    expect(written).toMatchObject([
      { records: [{ kind: 'page', data: { title: 'Title' } }], fetches: [{ status: 200 }] },
    ])
    expect(settled).toMatchObject([{ kind: 'done', links: [{ url: 'https://site.test/a' }], bytes: 9 }])
    expect(parts.meter.read([])).toMatchObject({ pages: 1, stale: 0 })
  })

  it.each([
    ['writes and settles nothing once its lease is lost', 'fetch', ['produced']],
    ['settles nothing when its lease is lost during the write', 'write', ['produced', 'write']],
  ])('%s', async (_what, during, expected) => {
    const { run, steps, events } = pageVisit(({ outbox, fetcher }, current) => {
      const losing =
        <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
        (...args: Args) => {
          current.lost = true
          return call(...args)
        }
      return during === 'fetch'
        ? { fetcher: { ...fetcher, fetch: losing(fetcher.fetch) } }
        : { outbox: { ...outbox, write: losing(outbox.write) } }
    })
    await run()
    expect(steps).toEqual(expected)
    expect(events.map(({ event }) => event)).toContain('visit.stale')
  })

  it('settles with what the filter did to its links, also when they are read again for a restored queue', async () => {
    const body = Buffer.from('<a href="/a?PHPSESSID=1">a</a><a href="https://elsewhere.test/">e</a>')
    const doubts = { now: 0 }
    const frontier = (parts: VisitParts) =>
      new Proxy(parts.frontier, {
        get: (target, name) => (name === 'doubts' ? doubts.now : (Reflect.get(target, name, target) as unknown)),
      })
    const { run, settled } = pageVisit(
      (parts) => ({
        frontier: frontier(parts),
        outbox: {
          ...parts.outbox,
          settle(lease, outcome) {
            doubts.now = 1
            return parts.outbox.settle(lease, outcome)
          },
        },
      }),
      { spider: SPIDER, answer: () => ({ ...HTML, body }) },
    )
    await run()
    expect(settled).toMatchObject([
      {
        kind: 'done',
        links: [{ url: 'https://site.test/a' }],
        filtered: [
          { reason: 'session_id', count: 1, example: { became: 'https://site.test/a' } },
          { reason: 'out_of_scope', count: 1 },
        ],
      },
    ])
  })

  it('logs the lines of its page with route and URL, and hands what it counts to the queue', async () => {
    const { run, events, settled } = pageVisit(undefined, {
      spider: {
        routes: {
          page: {
            match: '/**',
            handler(page) {
              page.log('a line', { n: 1 })
              page.count('sold out')
              page.count('nothing', 0)
            },
          },
        },
      },
    })
    await run()
    const about = { fp: 'https://site.test/page', route: 'page', url: 'https://site.test/page' }
    expect(events).toContainEqual({ event: 'page.log', level: 'info', ...about, message: 'a line { n: 1 }' })
    expect(settled).toMatchObject([{ kind: 'done', counts: [{ name: 'sold out', count: 1 }] }])
  })

  it('that is tried again has logged what it logged, and counted nothing yet', async () => {
    const { run, events, settled } = pageVisit(undefined, {
      spider: {
        routes: {
          page: {
            match: '/**',
            handler(page) {
              page.count('sold out')
              for (let line = 0; line < 250; line++) page.log(line)
              throw new Error('broken')
            },
          },
        },
      },
    })
    await run()
    const lines = events.filter(({ event }) => event === 'page.log')
    expect(lines).toHaveLength(101)
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      dropped: 150,
      message: '150 more lines were dropped: too many on one page',
    })
    expect(settled).toMatchObject([{ kind: 'retry' }])
    expect(settled[0]).not.toHaveProperty('counts')
  })

  it('learns its links only from a settle that the queue took', async () => {
    const refused = pageVisit(({ outbox }) => ({ outbox: { ...outbox, settle: async () => false } }))
    await refused.run()
    expect(refused.parts.meter.read([])).toMatchObject({ pages: 0, stale: 1 })
    expect(await linksOfNext(refused.parts)).toEqual(['https://site.test/a'])
    const taken = pageVisit()
    await taken.run()
    expect(await linksOfNext(taken.parts)).toEqual([])
  })

  it('sends links that it had left out to a queue that was restored while the settle waited', async () => {
    const { run, parts } = pageVisit()
    await run()
    const restore = () => void Object.assign(parts.frontier, { doubts: 1 })
    expect(await linksOfNext(parts, restore)).toEqual(['https://site.test/a'])
    // And remembers them for the queue as it is now.
    expect(await linksOfNext(parts)).toEqual([])
  })

  it('waits for its page to be kept before the next one is fetched, when many wait', async () => {
    const { run, steps } = pageVisit(({ outbox }) => ({
      pages: {} as BlobStore,
      outbox: {
        ...outbox,
        crowded: true,
        async keep() {
          await new Promise((resolve) => setImmediate(resolve))
          steps.push('kept')
          return 'sha256:1'
        },
      },
    }))
    await run()
    expect(steps).toEqual(['kept', 'produced', 'write', 'settle'])
  })

  it('of a route that the spider no longer has ends without a request', async () => {
    const { run, current, sent, settled } = pageVisit((_parts, visit) => {
      Object.assign(visit.lease, { link: { ...current.lease.link, route: 'gone' } })
      return {}
    })
    await run()
    expect([sent, settled]).toMatchObject([[], [{ kind: 'skipped', failure: { code: 'no_route' } }]])
  })

  it('of a page with an error status writes the fetch row alone', async () => {
    const { run, written, settled } = pageVisit(undefined, { spider: SPIDER, answer: () => ({ ...HTML, status: 500 }) })
    await run()
    expect(written).toMatchObject([{ records: [], fetches: [{ status: 500, error: 'server_error' }] }])
    expect(settled).toMatchObject([{ kind: 'retry', failure: { code: 'server_error' } }])
  })

  it('redirected to a busy host is done, with the target as its only link', async () => {
    const { run, written, settled } = pageVisit(undefined, {
      spider: { ...SPIDER, scope: { hosts: ['site.test', 'busy.test'] } },
      permit: () => ({ ok: false, lost: false, waitMs: 60_000 }),
      answer: () => ({ status: 302, headers: { location: 'https://busy.test/' } }),
    })
    await run()
    expect(written).toMatchObject([{ records: [], fetches: [{ status: 302 }] }])
    expect(settled).toMatchObject([{ kind: 'done', links: [{ url: 'https://busy.test/' }], bytes: 0 }])
  })
})

describe('a link without a slot goes back as it was', () => {
  const noSlot = { ok: false, lost: false, waitMs: 60_000 } as const

  it('with no wait where the queue keeps its host closed: somebody may open it by hand', async () => {
    const { run, current, steps, settled } = pageVisit(undefined, { spider: SPIDER, permit: () => noSlot })
    current.permitUsed = true
    await run()
    expect(steps).toEqual(['produced', 'settle'])
    expect(settled).toEqual([{ kind: 'back', afterMs: 0 }])
  })

  it('after a wait where another host is closed', async () => {
    const { run, settled } = pageVisit(undefined, {
      spider: { ...SPIDER, robots: true },
      permit: () => noSlot,
      answer: () => ({ status: 301, headers: { location: 'https://robots.test/robots.txt' } }),
    })
    await run()
    expect(settled).toEqual([{ kind: 'back', afterMs: 60_000 }])
  })

  it('after a wait where its permits were too old five times in a row: nobody closed its host', async () => {
    const { run, settled, sent } = pageVisit(undefined, {
      spider: SPIDER,
      answer(_request, clock) {
        clock.advance(PERMIT_MS + 1)
        return HTML
      },
    })
    await run()
    expect(sent).toEqual([])
    expect(settled).toEqual([{ kind: 'back', afterMs: 1_000 }])
  })

  it('after a wait where our own backend failed', async () => {
    const { run, settled, written } = pageVisit(undefined, {
      spider: SPIDER,
      answer() {
        throw new ShoalError('disk_full', 'the disk is full')
      },
    })
    await run()
    expect([written, settled]).toEqual([[], [{ kind: 'back', afterMs: 1_000 }]])
  })
})
