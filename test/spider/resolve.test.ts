import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ShoalError } from '../../src/errors.js'
import { defineSpider, type SpiderDefinition } from '../../src/spider/definition.js'
import { resolveSpider, spiderFromDefinition } from '../../src/spider/resolve.js'
import { version } from '../../src/version.js'

/** A definition as untyped JavaScript could write it. */
function resolved(parts: Record<string, unknown> = {}) {
  const minimal = { name: 'books', start: ['https://books.example/'], routes: { all: { match: '/**' } } }
  return resolveSpider({ ...minimal, ...parts } as unknown as SpiderDefinition, 'hash')
}

function refusal(parts: Record<string, unknown>): string {
  try {
    resolved(parts)
  } catch (error) {
    if (error instanceof ShoalError) return `${error.code} ${error.message}`
    throw error
  }
  return 'accepted'
}

const route = (parts: Record<string, unknown>) => ({ routes: { book: { match: '/**', ...parts } } })

describe('defaults', () => {
  it('are polite, bounded and honest', () => {
    const spider = resolved()
    expect(spider).toMatchObject({
      limits: { delayMs: 1_000, concurrency: 4 },
      order: 'priority',
      robots: true,
      headers: {},
      allowPrivate: [],
      fetch: {
        totalMs: 30_000,
        connectMs: 10_000,
        headersMs: 20_000,
        idleMs: 15_000,
        maxHeaderBytes: 16_384,
        maxBodyBytes: 10_485_760,
        maxRedirects: 10,
      },
      maxLinksPerPage: 50_000,
      maxThrottles: 10,
      retryPriorityStep: 10,
      visibilityMs: 30_000,
      heartbeatMs: 10_000,
      overflow: 'refuse',
      budget: { pagesPerHost: 100_000 },
      schedule: null,
      recrawl: false,
      savePages: false,
    })
    expect(spider.userAgent).toContain(`Shoal/${version}`)
    expect(spider.admit).toMatchObject({
      hosts: ['books.example'],
      maxDepth: 50,
      maxUrlLength: 2048,
      depthPriority: 0,
      traps: { maxSegments: 30, maxRepeat: 2, sessionIds: true, calendars: true },
      canonical: { sortParams: true, trailingSlash: 'keep', rewrite: null },
    })
    expect(spider.routes.get('all')).toMatchObject({
      priority: 0,
      limits: null,
      handlerTimeoutMs: 60_000,
      retries: { max: 3, backoff: { kind: 'exponential', baseMs: 1_000, capMs: 300_000 } },
    })
  })

  it('of records is one hour of freshness', () => {
    const records = { book: z.object({}), shop: { schema: z.object({}), fresh: 0 }, raw: {} }
    const kinds = resolved({ records }).records
    expect([...kinds].map(([kind, { freshMs, schema }]) => [kind, freshMs, schema === null])).toEqual([
      ['book', 3_600_000, false],
      ['shop', 0, false],
      ['raw', 3_600_000, true],
    ])
  })

  it('of the delay give way to a rate', () => {
    expect(resolved({ pace: { rate: '10/s' } }).limits).toEqual({
      delayMs: 0,
      concurrency: 4,
      rate: { count: 10, perMs: 1_000, burst: 1 },
    })
    expect(resolved({ pace: { rate: '60/min', burst: 5, delay: '1s' } }).limits).toMatchObject({
      delayMs: 1_000,
      rate: { burst: 5 },
    })
  })
})

describe('what is written', () => {
  it('of the pace that follows the host', () => {
    const adaptive = (pace: object) => resolved({ pace }).limits.adaptive
    expect(adaptive({})).toEqual({ target: 4, maxDelayMs: 10_000 })
    expect(adaptive({ delay: '200ms', concurrency: 2 })).toEqual({ target: 2, maxDelayMs: 2000 })
    expect(adaptive({ adaptive: { target: 0.5, maxDelay: '1min' } })).toEqual({ target: 0.5, maxDelayMs: 60_000 })
    expect(adaptive({ adaptive: false })).toBeUndefined()
    expect(adaptive({ delay: '0ms' })).toBeUndefined()
    expect(adaptive({ rate: '10/s' })).toBeUndefined()
    const groups = [{ name: 'api', delay: '1s', concurrency: 1 }, { name: 'same' }, { name: 'fast', delay: '0ms' }]
    const { keyLimits } = resolved({ pace: { delay: '2s', groups } })
    expect(Object.values(keyLimits).map((limits) => limits.adaptive)).toEqual([
      { target: 1, maxDelayMs: 10_000 },
      { target: 4, maxDelayMs: 20_000 },
      undefined,
    ])
    expect(resolved({ pace: { delay: '1s' }, ...route({ pace: { delay: '5s' } }) }).routes.get('book')?.limits).toEqual(
      {
        delayMs: 5000,
        concurrency: 4,
      },
    )
  })

  it('of the pace: hosts, domains, and groups with limits of their own or those of the spider', () => {
    expect(resolved({}).admit.pace).toEqual({ per: 'host', groups: [] })
    const groups = [
      { name: 'api', match: '/api/**', rate: '5/s', burst: 2 },
      { name: 'slow', match: ['/a', /b/], delay: '9s', concurrency: 1 },
      { name: 'plain' },
    ]
    const spider = resolved({ pace: { per: 'domain', rate: '1/s', concurrency: 3, groups } })
    expect(spider.admit.pace).toMatchObject({ per: 'domain', groups: [{ name: 'api' }, {}, { match: [] }] })
    expect(spider.limits).toEqual({ delayMs: 0, concurrency: 3, rate: { count: 1, perMs: 1_000, burst: 1 } })
    expect(spider.keyLimits).toEqual({
      '@api': { delayMs: 0, concurrency: 3, rate: { count: 5, perMs: 1_000, burst: 2 } },
      '@slow': { delayMs: 9_000, concurrency: 1, adaptive: { target: 1, maxDelayMs: 90_000 } },
      '@plain': { delayMs: 0, concurrency: 3, rate: { count: 1, perMs: 1_000, burst: 1 } },
    })
  })

  it('of dedupe, null where it is what holds anyway', () => {
    expect(resolved({}).seen).toBeNull()
    expect(resolved({ dedupe: { mode: 'exact', scope: 'crawl' } }).seen).toBeNull()
    expect(resolved({ dedupe: { scope: 'site' } }).seen).toMatchObject({ mode: 'exact', scope: 'site', ttlMs: null })
    expect(resolved({ dedupe: { mode: 'bloom', ttl: '7d', errorRate: 0.01 } }).seen).toEqual({
      mode: 'bloom',
      scope: 'crawl',
      ttlMs: 604_800_000,
      errorRate: 0.01,
    })
    expect(resolved({ dedupe: { mode: 'set', scope: 'spider' } }).seen).toMatchObject({ mode: 'set', scope: 'spider' })
  })

  it('of retries: a list, a fixed wait, an exponential one, or part of it', () => {
    const backoffOf = (retries: unknown) => resolved(route({ retries })).routes.get('book')?.retries
    expect(backoffOf({ max: 5, backoff: ['1s', '10s'] })).toEqual({
      max: 5,
      backoff: { kind: 'list', ms: [1_000, 10_000] },
    })
    expect(backoffOf({ backoff: { fixed: '2s' } })).toEqual({ max: 3, backoff: { kind: 'fixed', ms: 2_000 } })
    expect(backoffOf({ backoff: { exponential: '2s', cap: '1min', jitter: 0 } })?.backoff).toEqual({
      kind: 'exponential',
      baseMs: 2_000,
      capMs: 60_000,
      jitter: 0,
    })
    expect(resolved({ ...route({}), retries: { max: 0 } }).routes.get('book')?.retries.max).toBe(0)
  })

  it('of routes decides by the first that matches, and its priority', () => {
    const { admit } = resolved({
      routes: {
        listing: { match: ['/', '/page-*'], priority: 10 },
        book: { match: /\/book\/\d+$/g },
        rest: { match: '/**', priority: -5 },
      },
    })
    const at = (path: string) => admit.routeOf(new URL(path, 'https://books.example'))
    expect([at('/'), at('/page-2'), at('/book/1'), at('/book/1'), at('/x')].map((found) => found?.name)).toEqual([
      'listing',
      'listing',
      'book',
      'book',
      'rest',
    ])
    expect(admit.priorityOf('listing')).toBe(10)
    expect(admit.priorityOf('toString')).toBeNull()
  })

  it('of hosts: subdomains on demand, any host only when asked for', () => {
    const hosts = (scope: unknown, start = ['https://books.example/']) => resolved({ scope, start }).admit.hosts
    expect(hosts({ subdomains: true })).toEqual(['books.example', '*.books.example'])
    expect(hosts({ hosts: ['*'] })).toEqual([])
    expect(hosts({}, ['http://127.0.0.1:8080/'])).toEqual(['127.0.0.1:8080'])
  })

  it('of route limits leaves the rest to the host', () => {
    expect(resolved(route({ pace: { rate: '1/s' } })).routes.get('book')?.limits).toEqual({
      delayMs: 0,
      concurrency: 4,
      rate: { count: 1, perMs: 1_000, burst: 1 },
    })
  })

  it('of headers in lower case, of the contact in the user agent', () => {
    const spider = resolved({ headers: { 'Accept-Language': 'en' }, contact: 'me@books.example' })
    expect(spider.headers).toEqual({ 'accept-language': 'en' })
    expect(spider.userAgent).toBe(`Shoal/${version} (+me@books.example)`)
  })
})

describe('mistakes get one line that names the option', () => {
  const kinds = { records: { book: z.object({ title: z.string() }) } }
  it.each([
    [{ rotues: {} }, "spider_invalid unknown option 'rotues', did you mean 'routes'?"],
    [{ zzz: 1 }, "spider_invalid unknown option 'zzz'"],
    [{ name: undefined }, 'spider_invalid name: is missing (expected string)'],
    [{ name: 'a b' }, /^spider_invalid name: expected letters/],
    [{ start: [] }, 'spider_invalid start: a spider needs at least one start URL'],
    [{ start: 'https://books.example/' }, 'spider_invalid start: expected array, received string'],
    [{ routes: {} }, 'spider_invalid routes: a spider needs at least one route'],
    [{ routes: { 'a b': {} } }, /^spider_invalid routes\.a b: a name may have/],
    [route({ retries: { max: 'three' } }), 'spider_invalid routes.book.retries.max: expected number, received string'],
    [route({ retries: { max: 1.5 } }), 'spider_invalid routes.book.retries.max: expected int, received number'],
    [route({ retries: { mx: 1 } }), "spider_invalid routes.book.retries: unknown option 'mx', did you mean 'max'?"],
    [
      route({ retries: { backoff: ['1s', '5 parsecs'] } }),
      "bad_duration routes.book.retries.backoff[1]: '5 parsecs' is not a duration",
    ],
    [
      route({ retries: { backoff: { fixed: '5 parsecs' } } }),
      "bad_duration routes.book.retries.backoff.fixed: '5 parsecs' is not a duration",
    ],
    [
      route({ retries: { backoff: { exponential: '5 parsecs' } } }),
      /^bad_duration routes\.book\.retries\.backoff\.exponential: /,
    ],
    [
      route({ retries: { backoff: 'soon' } }),
      /^spider_invalid routes\.book\.retries\.backoff: expected a list of durations/,
    ],
    [
      route({ retries: { backoff: { exponentail: '1s' } } }),
      /^spider_invalid routes\.book\.retries\.backoff: expected a list of durations/,
    ],
    [route({ handler: 'x' }), 'spider_invalid routes.book.handler: expected a function'],
    [route({ data: {} }), /^spider_invalid routes\.book\.data: expected a schema/],
    [route({ priority: 101 }), 'spider_invalid routes.book.priority: expected number to be <=100'],
    [route({ match: 'nowhere' }), /^spider_invalid routes\.book\.match: "nowhere" can never match/],
    [
      route({ match: ['/', 3] }),
      'spider_invalid routes.book.match[1]: expected a pattern: a string or a regular expression',
    ],
    [
      route({ follow: [{ links: 'a', route: 'bok' }] }),
      "spider_invalid routes.book.follow[0].route: there is no route 'bok', did you mean 'book'?",
    ],
    [
      { ...kinds, ...route({ record: { kind: 'bok', fields: {} } }) },
      "spider_invalid routes.book.record.kind: there is no record kind 'bok', did you mean 'book'?",
    ],
    [
      { ...kinds, ...route({ record: { kind: 'book', key: 'sku', fields: { title: 'h1' } } }) },
      "spider_invalid routes.book.record.key: there is no field 'sku'",
    ],
    [{ routes: { all: { match: '/**' }, lost: {} } }, /^spider_invalid routes\.lost: no link can reach this route/],
    [route({ follow: [{ links: 'a[' }] }), /^bad_selector routes\.book\.follow\[0\]\.links: /],
    [
      { ...kinds, ...route({ record: { kind: 'book', fields: { title: 'h1[' } } }) },
      /^bad_selector routes\.book\.record\.fields\.title: /,
    ],
    [
      { records: { book: { schmea: 1 } } },
      "spider_invalid records.book: unknown option 'schmea', did you mean 'schema'?",
    ],
    [{ pace: { delay: '5 parsecs' } }, "bad_duration pace.delay: '5 parsecs' is not a duration"],
    [{ pace: { delay: 5 } }, 'bad_duration pace.delay: 5 is not a duration'],
    [{ pace: { delay: '60d' } }, "spider_invalid pace.delay: '60d' is longer than 24 days"],
    [{ pace: { rate: 'often' } }, "bad_rate pace.rate: 'often' is not a rate"],
    [{ pace: { burst: 3 } }, 'spider_invalid pace.burst: has no effect without pace.rate'],
    [{ pace: { adaptive: { target: 0 } } }, 'spider_invalid pace.adaptive.target: expected number to be >0'],
    [{ pace: { adaptive: { maxDelay: 'soon' } } }, "bad_duration pace.adaptive.maxDelay: 'soon' is not a duration"],
    [{ pace: { concurrency: 0 } }, 'spider_invalid pace.concurrency: expected number to be >=1'],
    [{ pace: { per: 'hosts' } }, /^spider_invalid pace\.per: /],
    [{ pace: { groups: [{ match: '/**' }] } }, /^spider_invalid pace\.groups\[0\]\.name: /],
    [{ pace: { groups: [{ name: 'a b' }] } }, /^spider_invalid pace\.groups\[0\]\.name: a name may have letters/],
    [
      { pace: { groups: [{ name: 'a' }, { name: 'a' }] } },
      'spider_invalid pace.groups[1].name: there are two groups called a',
    ],
    [
      { pace: { groups: [{ name: 'a', match: 'x' }] } },
      /^spider_invalid pace\.groups\[0\]\.match: "x" can never match/,
    ],
    [
      { pace: { groups: [{ name: 'a', burst: 2 }] } },
      'spider_invalid pace.groups[0].burst: has no effect without pace.groups[0].rate',
    ],
    [{ dedupe: { mode: 'blum' } }, /^spider_invalid dedupe\.mode: /],
    [{ dedupe: { errorRate: 0.01 } }, "spider_invalid dedupe.errorRate: has no effect without mode: 'bloom'"],
    [{ dedupe: { mode: 'bloom', errorRate: 2 } }, /^spider_invalid dedupe\.errorRate: /],
    [{ dedupe: { ttl: '1ms' } }, /^spider_invalid dedupe\.ttl: /],
    [{ fetch: { maxBodyBytes: 'much' } }, /^spider_invalid fetch\.maxBodyBytes: 'much' is not a size/],
    [{ lease: { visibility: '10s', heartbeat: '9s' } }, /^spider_invalid lease: heartbeat must be at most half/],
    [{ scope: { hosts: ['https://books.example/'] } }, /^spider_invalid scope\.hosts: .* is not a host name/],
    [
      { scope: { traps: { calendar: false } } },
      "spider_invalid scope.traps: unknown option 'calendar', did you mean 'calendars'?",
    ],
    [{ scope: { deny: 'nowhere' } }, /^spider_invalid scope\.deny: "nowhere" can never match/],
    [{ allowPrivate: ['127.0.0.1'] }, "spider_invalid allowPrivate[0]: expected 'host:port', or 'host:*' for any port"],
    [{ headers: { 'X-A': 'a\r\nb' } }, /^spider_invalid headers\.X-A: a header must be one line/],
    [{ start: ['nonsense'] }, /^bad_url start\[0\]: .*nonsense/],
    [{ start: ['ftp://books.example/'] }, /^bad_scheme start\[0\]: .*ftp:/],
    [
      { start: ['https://other.example/'], scope: { hosts: ['books.example'] } },
      /^out_of_scope start\[0\]: .*other\.example/,
    ],
    [{ routes: { book: { match: '/book/*' } } }, /^no_route start\[0\]: /],
    [{ start: [`https://books.example/${'x'.repeat(1_000_000)}`] }, /^url_too_long start\[0\]: .{1,400}$/],
  ])('%#', (parts, line) => {
    const message = refusal(parts)
    expect(message).not.toContain('\n')
    if (typeof line === 'string') expect(message).toBe(line)
    else expect(message).toMatch(line)
  })
})

describe('a spider defined in a program', () => {
  const define = (title: string) =>
    spiderFromDefinition(
      defineSpider({
        name: 'books',
        start: ['https://books.example/'],
        routes: { all: { match: '/**', handler: title === 'a' ? () => {} : (_page, out) => out.follow(title) } },
      }),
    )

  it('is hashed with its code, so that an edit shows', () => {
    expect(define('a').hash).toMatch(/^[0-9a-f]{16}$/)
    expect(define('a').hash).toBe(define('a').hash)
    expect(define('a').hash).not.toBe(define('b').hash)
  })

  it('must come from defineSpider', () => {
    expect(() => spiderFromDefinition({} as never)).toThrow('this is not a spider: create one with defineSpider')
  })
})
