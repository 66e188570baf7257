import { describe, expect, it } from 'vitest'
import type { SitePage } from '../../src/demo/shop.js'
import { type AccessEntry, checkFetches, checkPoliteness } from './access-log.js'

const START = 1_700_000_000_000

function entry(at: number, path: string, changes: Partial<AccessEntry> = {}): AccessEntry {
  const t = START + at
  return {
    t,
    end: t + 20,
    status: 200,
    bytes: 100,
    host: 'a:1',
    method: 'GET',
    path,
    n: 1,
    run: 1,
    conn: 1,
    ua: 'x',
    ...changes,
  }
}

const RULES = { delayMs: 100, concurrency: 1, retryAfterMs: 1_000 }
const polite = ['/robots.txt', '/', '/1', '/2', '/3'].map((path, index) => entry(index * 100, path))

describe('checkPoliteness', () => {
  it('finds nothing in a clean log', () => {
    expect(checkPoliteness(polite, RULES)).toMatchObject({
      requests: 5,
      minGapMs: 100,
      maxConcurrent: 1,
      violations: [],
    })
    expect(checkPoliteness([], RULES)).toMatchObject({ requests: 0, violations: [] })
  })

  it('finds a gap that is too short, also when the lines are out of order and one is robots.txt', () => {
    const { violations } = checkPoliteness([...polite, entry(-80, '/robots.txt')].reverse(), RULES)
    expect(violations).toEqual(['a:1: 80.0 ms between /robots.txt and /robots.txt, the delay is 100 ms'])
  })

  it('finds two requests at once, however long the gap', () => {
    const log = [entry(0, '/slow', { end: START + 500 }), entry(300, '/other')]
    expect(checkPoliteness(log, RULES)).toMatchObject({
      maxConcurrent: 2,
      violations: ['a:1: 2 requests at once, the limit is 1'],
    })
  })

  it('does not take the end of one and the start of the next in the same moment for two at once', () => {
    expect(checkPoliteness([entry(0, '/1', { end: START + 100 }), entry(100, '/2')], RULES).violations).toEqual([])
  })

  it('takes a request that the server never answered as under way until that server was last heard of', () => {
    const cutOff = entry(0, '/1', { end: null, status: 0 })
    expect(checkPoliteness([cutOff, entry(200, '/2')], RULES).maxConcurrent).toBe(2)
    expect(checkPoliteness([cutOff, entry(200, '/2', { run: 2 })], RULES).maxConcurrent).toBe(1)
  })

  it('judges hosts apart', () => {
    const other = polite.map((line) => ({ ...line, t: line.t + 10, host: 'b:1' }))
    expect(checkPoliteness([...polite, ...other], RULES).violations).toEqual([])
  })

  it('pardons one short gap in a thousand at higher concurrency, but never one below half', () => {
    const rules = { delayMs: 10, concurrency: 8 }
    const steady = (count: number) => Array.from({ length: count }, (_, index) => entry(index * 10, `/${index}`))
    const late = (by: number) =>
      steady(1_100).map((line, index) => (index === 500 ? { ...line, t: line.t + by } : line))
    expect(checkPoliteness(late(3), rules)).toMatchObject({ violations: [], hosts: [{ shortGaps: 1 }] })
    expect(checkPoliteness(late(6), rules).violations).toHaveLength(1)
    expect(checkPoliteness(late(3), { ...rules, concurrency: 1 }).violations).not.toEqual([])
    expect(checkPoliteness(late(3).slice(0, 600), rules).violations).toHaveLength(1)
  })

  it('finds a request inside the pause that a 429 asked for', () => {
    const refused = entry(0, '/1', { status: 429 })
    expect(checkPoliteness([refused, entry(900, '/1')], RULES).violations).toEqual([
      'a:1: /1 was asked for 120 ms before the pause asked for by a 429 was over',
    ])
    expect(checkPoliteness([refused, entry(1_020, '/1')], RULES).violations).toEqual([])
  })
})

describe('checkFetches', () => {
  const plain = { alwaysFails: false, failsFirst: 0, slowMs: 0 }
  const site: SitePage[] = [
    { path: '/', kind: 'listing', ...plain },
    { path: '/good', kind: 'product', ...plain },
    { path: '/flaky', kind: 'product', ...plain, failsFirst: 1 },
    { path: '/broken', kind: 'product', ...plain, alwaysFails: true },
    { path: '/gone', kind: 'missing', ...plain, alwaysFails: true },
    { path: '/old', kind: 'moved', ...plain, movedTo: '/good' },
  ]
  const answers: [string, number][] = [
    ['/robots.txt', 200],
    ['/', 200],
    ['/old', 301],
    ['/good', 200],
    ['/flaky', 500],
    ['/flaky', 200],
    ['/broken', 500],
    ['/broken', 500],
    ['/broken', 500],
    ['/gone', 404],
  ]
  const log = answers.map(([path, status], index) => entry(index * 100, path, { status }))
  const rules = { retries: 2, inFlightAtKills: 0 }
  const without = (path: string) => log.filter((line) => line.path !== path)

  it('finds nothing in a clean log', () => {
    expect(checkFetches(log, site, rules)).toEqual({ fetches: 9, needed: 9, extra: 0, robots: 1, violations: [] })
  })

  it('finds a page that was fetched again without a kill to explain it', () => {
    const twice = [...log, entry(5_000, '/good')]
    expect(checkFetches(twice, site, rules).violations).toEqual([
      '1 fetches too many, 0 can be explained by requests in flight at kills',
    ])
    expect(checkFetches(twice, site, { ...rules, inFlightAtKills: 1 })).toMatchObject({ extra: 1, violations: [] })
  })

  it('takes a redirect and its target fetched again as one visit', () => {
    const again = [...log, entry(5_000, '/old', { status: 301 }), entry(5_100, '/good')]
    expect(checkFetches(again, site, { ...rules, inFlightAtKills: 1 })).toMatchObject({
      fetches: 11,
      extra: 1,
      violations: [],
    })
  })

  it('does not set a page that was fetched too seldom against one that was fetched too often', () => {
    const log = [...without('/flaky'), entry(4_000, '/flaky'), entry(5_000, '/good')]
    expect(checkFetches(log, site, rules)).toMatchObject({ fetches: 9, extra: 1 })
  })

  it('finds a page that was never asked for', () => {
    expect(checkFetches(without('/good'), site, rules).violations).toEqual(['/good was never asked for'])
  })

  it('finds a page that was given up while it failed', () => {
    const first = log.findLastIndex((line) => line.path === '/flaky')
    expect(checkFetches(log.toSpliced(first, 1), site, rules).violations).toEqual(['/flaky was never answered well'])
    const last = log.findLastIndex((line) => line.path === '/broken')
    expect(checkFetches(log.toSpliced(last, 1), site, rules).violations).toEqual([
      '/broken was given up after 2 of 3 fetches',
    ])
  })

  it('finds a path that nobody may ask for', () => {
    expect(checkFetches([...log, entry(5_000, '/private/x')], site, rules).violations).toEqual([
      '/private/x was asked for 1 times and must not be',
    ])
  })
})
