import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../src/clock.js'
import type { FetchRequest, FetchResponse } from '../../src/fetch/fetcher.js'
import type { Lease, Outcome, Permit, Release } from '../../src/frontier/frontier.js'
import type { Log } from '../../src/log.js'
import { createMeter } from '../../src/observe/vitals/meter.js'
import { createRobotsCache } from '../../src/politeness/robots-cache.js'
import { memoryLedger } from '../../src/proxy/memory/memory-ledger.js'
import { loadPools } from '../../src/proxy/pools.js'
import { createProxyAllocator } from '../../src/proxy/proxy-allocator.js'
import { spiderProxies } from '../../src/run/workers/spider-proxies.js'
import { defineSpider, type SpiderDefinition } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { WriteBatch } from '../../src/store/rows.js'
import type { LastVisit } from '../../src/store/visits.js'
import { createAdmitter } from '../../src/url/admit.js'
import { hostIn } from '../../src/url/host.js'
import type { Link } from '../../src/url/link.js'
import { KnownLinks } from '../../src/worker/known-links.js'
import type { Held, Layer, Sending, SiteRequest } from '../../src/worker/layer.js'
import { newVisit, type Visit, type VisitParts } from '../../src/worker/visit-parts.js'
import { visitorsOf } from '../../src/worker/visitors.js'

export const PAGE = 'https://site.test/page'
export const PERMIT_MS = 2_000

export interface Setting {
  /** Added to a spider named `visits` that takes every URL and obeys no robots.txt. */
  readonly spider?: Partial<SpiderDefinition>
  /** The site, and the proxies in front of it: a status, parts of a response, or an error that is thrown. Time passes by `clock`. */
  readonly answer?: (request: FetchRequest, clock: ManualClock) => number | Partial<FetchResponse>
  /** The queue's answer when a slot of a host is asked for. */
  readonly permit?: (host: string, clock: ManualClock) => Permit
  readonly lastVisit?: LastVisit | null
  readonly parts?: Partial<VisitParts>
}

/**
 * Everything a visit works with, in memory: a site that answers everything, a queue that grants everything, two proxies (ports 8001 and 8002) for
 * spiders that name the pool `dc`, and a clock that is moved by hand.
 */
export function visitParts({
  spider: own = {},
  answer = () => 200,
  permit,
  lastVisit = null,
  parts: over = {},
}: Setting = {}) {
  const clock = new ManualClock()
  const sent: FetchRequest[] = []
  const asked: string[] = []
  const released: Release[] = []
  const written: WriteBatch[] = []
  const settled: Outcome[] = []
  const kept: { readonly bytes: Uint8Array; readonly type: string }[] = []
  const events: { readonly event: string; readonly [field: string]: unknown }[] = []
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'visits',
      start: [PAGE],
      robots: false,
      routes: { page: { match: '/**', handler() {} } },
      ...own,
    }),
  )
  const [dc] = loadPools('http://proxy.test:8001 http://proxy.test:8002', {})
  const pools = dc === undefined ? new Map() : new Map([['dc', { ...dc, name: 'dc' }]])
  const allocator = createProxyAllocator({ ledger: memoryLedger({ clock }), clock, random: () => 0.5, worker: 'w' })
  const say: Log['info'] = (event, fields) => void events.push({ event, ...fields })
  const parts: VisitParts = {
    worker: 'w',
    spider,
    admitter: createAdmitter(spider.admit),
    frontier: {
      doubts: 0,
      async setHost() {},
      async permit(_lease, host) {
        asked.push(host)
        return permit?.(host, clock) ?? { ok: true, permitMs: PERMIT_MS }
      },
    },
    outbox: {
      crowded: false,
      async write(batch) {
        written.push(batch)
        return batch.records.map(() => 'written' as const)
      },
      lastVisit: async () => lastVisit,
      release: (release) => void released.push(release),
      async released() {},
      async settle(_lease, outcome) {
        settled.push(outcome())
        return true
      },
      async keep(_pages, bytes, type) {
        kept.push({ bytes, type })
        return `sha256:${kept.length}`
      },
    },
    pages: null,
    screenshots: null,
    fetcher: {
      async fetch(request) {
        const given = answer(request, clock)
        request.onDispatch?.()
        sent.push(request)
        const plain = {
          url: request.url,
          status: 200,
          headers: {},
          cookies: [],
          body: Buffer.alloc(0),
          wireBytes: 9,
          ms: 1,
        }
        return { ...plain, ...(typeof given === 'number' ? { status: given } : given) }
      },
      async close() {},
    },
    proxies: spiderProxies(spider, allocator, pools),
    visitors: visitorsOf(spider, clock, () => 0.5),
    robots: createRobotsCache({ clock, productToken: 'Shoal', notes: null, holder: 'w' }),
    known: new KnownLinks(),
    fields: { note() {} },
    matches: { note() {} },
    meter: createMeter(1, clock),
    slots: { answered() {} },
    clock,
    random: () => 0.5,
    log: {
      ...{ verbose: false, debug: say, info: say, warn: say, error: say },
      spider: (level, event, fields) => void events.push({ event, level, ...fields }),
    },
    ...over,
  }
  /** A visit that was leased just now. */
  const leased = (link: Partial<Link> & { readonly url?: string } = {}, lease: Partial<Lease> = {}): Visit => {
    const url = link.url ?? PAGE
    const leased = {
      ...{ crawl: 'c', token: url, attempt: 1, throttles: 0, gen: 1, epoch: '1', permitMs: PERMIT_MS },
      ...{ visibilityMs: 60_000, bypassFresh: false },
      link: { url, host: hostIn(url), fp: url, route: 'page', depth: 0, priority: 0, ...link },
    }
    return newVisit({ ...leased, ...lease }, clock.mono())
  }
  /** What comes of `work` while time passes, five minutes at most: its result, or what it throws. */
  const ended = async (work: Promise<unknown>): Promise<unknown> => {
    let result: unknown = PENDING
    work.then(
      (value) => {
        result = value
      },
      (error: unknown) => {
        result = error
      },
    )
    for (let turns = 0; result === PENDING && turns < 3_000; turns++) {
      for (let n = 0; n < 4; n++) await setImmediate()
      if (result === PENDING) clock.advance(100)
    }
    return result
  }
  return { parts, spider, clock, leased, ended, sent, asked, released, written, settled, kept, events }
}

const PENDING = Symbol('pending')

/** One request of a visit, to the host of its URL. */
export function sendingOf(current: Visit, parts: VisitParts, request: Partial<SiteRequest> = {}): Sending {
  const { url, host } = current.lease.link
  return { current, parts, keys: [host], request: { url, ...request } }
}

export const HOLDS_NOTHING: Held = { permits: [], lent: null, visitor: null, stay: undefined }

/** The layer inside another one: notes what it is given, and answers with an empty page. */
export function innermost() {
  const seen: Held[] = []
  const layer: Layer = async ({ request: { url } }, held) => {
    seen.push(held)
    return { url, status: 200, headers: {}, cookies: [], body: Buffer.alloc(0), wireBytes: 0, ms: 0 }
  }
  return { layer, seen }
}
