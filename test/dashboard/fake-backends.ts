import type {
  AlertNotes,
  AuditEntry,
  CrawlCard,
  CrawlView,
  DeadView,
  HostView,
  LinkView,
  Overview,
  ProxiesView,
  ProxyView,
  RecordsPage,
  SeriesView,
  UrlHistory,
  WorkersView,
} from '../../src/api/api-types.js'
import type { CrawlStats } from '../../src/frontier/frontier.js'
import type { Alert } from '../../src/observe/alerts/alert.js'
import type { Sample } from '../../src/observe/series/series.js'
import { describeFiltered } from '../../src/url/filter-reasons.js'

/** What the page is shown in its tests: busy, large, and with names and titles that want to do harm. */

export const NOW = Date.UTC(2026, 5, 3, 14, 0, 0)
export const HOSTILE = '"><img src=x onerror=globalThis.harmed=1><script>globalThis.harmed=1</script>'
const RTL = 'invoice\u202Efdp.exe'
const HOUR = 3_600_000

function stats(about: Partial<CrawlStats> & { readonly id: string }): CrawlStats {
  const { queued = 0, delayed = 0, leased = 0, done = 0, dead = 0, skipped = 0 } = about
  return {
    spider: about.id,
    state: 'running',
    endedBy: null,
    spiderHash: 'a1',
    spiderChanges: 0,
    createdAt: NOW - 2 * HOUR,
    startedAt: about.createdAt ?? NOW - 30 * HOUR,
    finishedAt: null,
    seeding: false,
    total: queued + delayed + leased + done + dead + skipped,
    queued,
    delayed,
    leased,
    done,
    dead,
    skipped,
    failed: 812,
    retried: 790,
    throttled: 46,
    reclaimed: 3,
    stale: 1,
    refused: 0,
    filtered: [],
    counts: [],
    bytes: 4.2e9,
    rate: 0,
    ...about,
  }
}

function wave(length: number, base: number, swing: number): number[] {
  return Array.from({ length }, (_, at) =>
    Math.max(0, base + swing * Math.sin(at / 5) + swing * 0.4 * Math.sin(at * 1.7)),
  )
}

const BOOKS: CrawlCard = {
  stats: stats({
    id: 'bookshops',
    queued: 41_230,
    delayed: 312,
    leased: 48,
    done: 128_400,
    dead: 211,
    skipped: 1_904,
    rate: 38.2,
  }),
  estimate: {
    etaSeconds: 4_380,
    decidedBy: { kind: 'host', host: 'slow-press.example', reason: 'delay' },
    plainSeconds: 1_080,
  },
  advice: {
    stage: 'host_pace',
    sentence: 'the pace of hosts decides: slow-press.example has 2,190 links left at one every 2 s',
    next: 'more workers change nothing; a shorter delay for that host would, if its owner agrees',
    moreWorkers: 0,
    host: 'slow-press.example',
  },
  spark: wave(60, 36, 6),
  trouble: null,
}

export const CARDS: readonly CrawlCard[] = [
  BOOKS,
  {
    stats: stats({ id: 'recipes-2', spider: 'recipes', queued: 88_000, leased: 64, done: 9_120, dead: 4, rate: 112.5 }),
    estimate: { etaSeconds: 790, decidedBy: { kind: 'workers' }, plainSeconds: 783 },
    advice: {
      stage: 'workers',
      sentence: 'workers: every one of 64 slots is busy, and the hosts have room',
      next: 'start 2 more workers',
      moreWorkers: 2,
      host: null,
    },
    spark: wave(60, 100, 20),
    trouble: null,
  },
  {
    stats: stats({ id: 'jobs', state: 'paused', queued: 5_100, delayed: 40, done: 2_300, dead: 12, skipped: 90 }),
    estimate: { etaSeconds: null, decidedBy: null, plainSeconds: null },
    advice: { stage: 'none', sentence: 'the crawl is paused', next: '', moreWorkers: 0, host: null },
    spark: [],
    trouble: null,
  },
  {
    stats: stats({
      id: 'news-archive',
      state: 'finished',
      done: 1_204_331,
      dead: 1_022,
      skipped: 8_100,
      finishedAt: NOW - 5 * HOUR,
      createdAt: NOW - 30 * HOUR,
    }),
    estimate: { etaSeconds: 0, decidedBy: null, plainSeconds: 0 },
    advice: null,
    spark: [],
    trouble: null,
  },
  {
    stats: stats({
      id: HOSTILE,
      spider: HOSTILE,
      state: 'cancelled',
      queued: 10,
      done: 3,
      finishedAt: NOW - 26 * HOUR,
    }),
    estimate: { etaSeconds: null, decidedBy: null, plainSeconds: null },
    advice: null,
    spark: [],
    trouble: null,
  },
]

const ALERTS: readonly Alert[] = [
  {
    rule: 'host_stalled',
    severity: 'warn',
    episode: 'e1',
    about: 'slow-press.example',
    crawl: 'bookshops',
    spider: 'bookshops',
    message: 'slow-press.example has answered nothing for 12 minutes, and 2,190 links wait for it',
    next: 'look at it with a browser; block it to let the crawl end without it',
    fields: { pending: 2190 },
    since: NOW - 12 * 60_000,
  },
  {
    rule: 'worker_lost',
    severity: 'critical',
    episode: 'e2',
    about: 'w-4',
    crawl: null,
    spider: null,
    message: `the worker w-4 on ${HOSTILE} was not heard of for 48 s`,
    next: 'its links return to the queue by themselves; look at its machine',
    fields: {},
    since: NOW - 48_000,
  },
]

export function overview(at: number): Overview {
  return {
    now: at,
    version: '0.1.0',
    queue: 'redis://queue.internal:6379/0',
    store: 'postgres://shoal:***@records.internal/shoal',
    health: { ok: false, stalled: [{ crawl: 'recipes-2', forMs: 21_000 }] },
    crawls: CARDS,
    workers: { alive: 5, missing: 1, busy: 112, slots: 160 },
    alerts: ALERTS,
    spiders: ['bookshops', 'jobs', 'recipes'],
  }
}

export function sample(at: number): Sample {
  const turn = at / 60_000
  const pages = 36 + 6 * Math.sin(turn) + 3 * Math.sin(turn * 7)
  const begun = (at - (NOW - 2 * HOUR)) / HOUR
  return {
    at,
    pagesPerSecond: pages,
    errorsPerSecond: Math.max(0, 0.8 + 0.9 * Math.sin(turn * 2.3)),
    bytesPerSecond: pages * 32_000,
    latencyMs: {
      p50: 180 + 20 * Math.sin(turn),
      p90: 620 + 90 * Math.sin(turn * 2),
      p99: 1_900 + 500 * Math.sin(turn * 3),
    },
    queued: Math.round(Math.max(0, 70_000 - 14_000 * begun)),
    delayed: 312,
    leased: 48,
    done: Math.round(64_000 * begun),
    dead: Math.round(105 * begun),
    skipped: Math.round(950 * begun),
    workers: 5,
  }
}

export function series(span: '30m' | '24h', at: number): SeriesView {
  const everyMs = span === '30m' ? 5_000 : 60_000
  const length = span === '30m' ? 360 : 120
  return { span, everyMs, samples: Array.from({ length }, (_, index) => sample(at - (length - index) * everyMs)) }
}

export function crawlView(id: string, at: number): CrawlView | null {
  const card = CARDS.find((one) => one.stats.id === id)
  if (card === undefined) return null
  return {
    ...card,
    now: at,
    latest: sample(at),
    kinds: [
      {
        kind: 'book',
        written: 91_200,
        unchanged: 3_310,
        rejected: 41,
        fields: [
          { field: 'isbn', filled: 0.412 },
          { field: 'publisher', filled: 0.871 },
          { field: 'price', filled: 0.993 },
          { field: 'title', filled: 1 },
        ],
      },
      { kind: HOSTILE, written: 12, unchanged: 0, rejected: 0, fields: [{ field: RTL, filled: 0.5 }] },
    ],
    limits: { delayMs: 1_000, concurrency: 2 },
    budget: { pages: 200_000, pagesPerHost: 5_000, bytes: 10e9, ms: null },
    filtered: describeFiltered([
      {
        reason: 'session_id',
        count: 812,
        example: { url: 'https://shop.example/a?PHPSESSID=4f1c', became: 'https://shop.example/a' },
      },
      { reason: 'likely_session_id', count: 140, example: { url: `https://shop.example/${HOSTILE}`, became: null } },
      { reason: 'trap_calendar', count: 3, example: { url: 'https://shop.example/calendar/2150/03', became: null } },
      { reason: 'spelling', count: 1, example: null },
    ]),
    alerts: ALERTS.filter(({ crawl }) => crawl === id),
    holders: { holders: 5, otherVersion: ['w-3'] },
    statuses: { '200': 127_800, '301': 420, '404': 610, '429': 46, '500': 120, '0': 33 },
    errors: { http_404: 610, timeout: 88, http_500: 120, connection: 33 },
  }
}

export function hosts(): HostView[] {
  return Array.from({ length: 10_000 }, (_, at) => ({
    host: at === 1 ? HOSTILE : `shop-${String(at).padStart(5, '0')}.example`,
    pending: 10_000 - at,
    inFlight: at % 3,
    done: at * 7,
    failed: at % 11,
    dead: at % 5,
    delayMs: at % 4 === 0 ? 2_000 : 1_000,
    slowedFromMs: at % 4 === 0 ? 1_000 : null,
    concurrency: 2,
    ratePerSecond: null,
    nextAt: NOW + (at % 10) * 100,
    blockedUntil: at % 17 === 5 ? NOW + 60_000 : null,
    throttles: at % 17 === 5 ? 3 : 0,
    latencyMs: 120 + (at % 300),
    set: at === 2 ? { blocked: true } : null,
    nextSlot: at % 17 === 5 ? 'in 60 s: it asked for time (429)' : 'in 0.4 s: its delay is 1 s',
    budget: { used: at % 5_000, of: 5_000 },
  }))
}

export function links(): LinkView[] {
  return Array.from({ length: 60 }, (_, at) => ({
    cursor: String(at),
    fp: at.toString(16).padStart(16, '0'),
    url:
      at === 0
        ? `https://shop.example/${HOSTILE}`
        : at === 1
          ? 'javascript:globalThis.harmed=1'
          : `https://shop.example/p/${at}?${'x'.repeat(at)}`,
    host: 'shop.example',
    route: 'product',
    state: 'leased',
    depth: 2,
    priority: 0,
    attempts: at % 3,
    throttles: 0,
    reclaims: 0,
    addedAt: NOW - HOUR,
    dueAt: null,
    worker: 'w-1',
    leasedAt: NOW - 2_000,
    endedAt: null,
    failures: at % 3 === 0 ? [] : [{ code: 'timeout', message: HOSTILE, at: NOW - 60_000 }],
    ageMs: 2_000 + at * 100,
    proxy: at % 2 === 0 ? 'dc/proxy-1' : null,
  }))
}

export const DEAD: DeadView = {
  groups: [
    {
      code: 'http_404',
      count: 170,
      sample: 'https://shop.example/gone',
      examples: [{ message: 'the server answered 404', url: 'https://shop.example/gone' }],
      hint: 'The page is gone.',
    },
    {
      code: 'timeout',
      count: 38,
      sample: `https://shop.example/${HOSTILE}`,
      examples: [{ message: HOSTILE, url: `https://shop.example/${HOSTILE}` }],
      hint: 'The host did not answer in time.',
    },
    { code: 'handler', count: 3, sample: 'javascript:globalThis.harmed=1', examples: [], hint: 'Look at the handler.' },
  ],
}

export function workers(at: number): WorkersView {
  return {
    now: at,
    workers: (['working', 'working', 'idle', 'missing'] as const).map((state, index) => ({
      worker: index === 2 ? HOSTILE : `w-${index + 1}`,
      inFlight: state === 'working' ? 28 : 0,
      done: 24_000 + index,
      failed: 120,
      startedAt: NOW - 2 * HOUR,
      seenAt: state === 'missing' ? NOW - 48_000 : at,
      progressAt: at - 800,
      beatAt: state === 'missing' ? NOW - 48_000 : at,
      lostAt: state === 'missing' ? NOW - 38_000 : at + 10_000,
      about: {
        machine: 'crawler-1',
        pid: 4_100 + index,
        version: '0.1.0',
        concurrency: 32,
        spiders: { bookshops: 'a1' },
      },
      state,
      rate: state === 'working' ? 12.4 : 0,
      rssBytes: state === 'missing' ? null : 212e6,
      loopBusy: state === 'missing' ? null : 0.46,
      loopLagMs: state === 'missing' ? null : 4,
      slots: state === 'missing' ? null : 32,
      slotsMost: 64,
      slotsBecause: state === 'missing' ? null : 'cpu',
      busy: state === 'missing' ? null : 28,
      draining: false,
    })),
  }
}

export const PROXIES: ProxiesView = {
  pools: [
    { pool: 'dc', proxies: 40, resting: 3, good: 81_000, bad: 420, more: false },
    { pool: HOSTILE, proxies: 2, resting: 2, good: 10, bad: 900, more: false },
  ],
}

export function proxies(): ProxyView[] {
  return Array.from({ length: 40 }, (_, at) => ({
    proxy: `proxy-${at + 1}`,
    good: 2_000 - at,
    neutral: 12,
    banned: at % 4,
    broken: at % 3,
    inFlight: at % 2,
    p50Ms: 210,
    p90Ms: 800,
    restsUntil: at < 3 ? NOW + 90_000 : null,
    cost: 1,
    sites: [{ site: HOSTILE, good: 3, bad: 9, restsUntil: at < 3 ? NOW + 90_000 : null }],
  }))
}

export const RECORDS: RecordsPage = {
  items: Array.from({ length: 30 }, (_, at) => ({
    spider: 'bookshops',
    site: 'shop.example',
    kind: 'book',
    key: `978-${at}`,
    url: at === 1 ? 'javascript:globalThis.harmed=1' : `https://shop.example/p/${at}`,
    changedAt: NOW - at * 60_000,
    data: {
      title: at === 0 ? HOSTILE : at === 2 ? RTL : at === 3 ? 'long '.repeat(20_000) : `Book ${at}`,
      price: 12.5,
    },
  })),
  next: null,
  searched: 30,
  kinds: [{ spider: 'bookshops', kind: 'book', count: 91_200 }],
}

export const ALERT_BOARD: AlertNotes = {
  active: ALERTS,
  ended: [{ ...(ALERTS[0] as Alert), episode: 'e0', rule: 'error_spike', endedAt: NOW - HOUR, since: NOW - 2 * HOUR }],
}

export const AUDIT: readonly AuditEntry[] = [
  { at: NOW - 60_000, by: 'dashboard', action: 'pause', target: 'jobs', details: {}, result: 'ok' },
  {
    at: NOW - 90_000,
    by: `cli ${HOSTILE}`,
    action: 'set_host',
    target: 'shop.example',
    details: { delayMs: 500 },
    result: 'ok',
  },
  { at: NOW - HOUR, by: 'cli ada@allocator', action: 'cancel', target: 'old-1', details: {}, result: 'crawl_ended' },
]

export function history(url: string): UrlHistory {
  const [link] = links()
  const [host] = hosts()
  return {
    asked: url,
    url: `https://shop.example/${HOSTILE}`,
    fp: '0'.repeat(16),
    crawl: 'bookshops',
    spider: 'bookshops',
    crawlState: 'running',
    state: 'delayed',
    why: ['It waits for its second try, in 40 s.', `The last one failed: ${HOSTILE}`],
    admitted: { by: 'found on https://shop.example/, depth 2', route: 'product', depth: 2, priority: 0 },
    position: null,
    host: host ?? null,
    nextSlot: 'in 0.4 s: its delay is 1 s',
    link: link ?? null,
    attempts: [
      {
        at: NOW - 60_000,
        attempt: 1,
        worker: 'w-1',
        status: 500,
        ms: 420,
        bytes: 12_000,
        proxy: 'dc/proxy-1',
        error: { code: 'http_500', message: HOSTILE },
        page: true,
      },
    ],
    records: [{ kind: 'book', key: '978-0', changedAt: NOW - HOUR, data: { title: HOSTILE } }],
    can: ['promote', 'retry', 'remove'],
  }
}
