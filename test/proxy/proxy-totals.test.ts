import { describe, expect, it } from 'vitest'
import { styleFor } from '../../src/cli/terminal/style.js'
import { byProxy, bySite, price, restText, totalsCells } from '../../src/cli/views/proxies-view.js'
import { LATENCY_BUCKETS, type ProxyScore } from '../../src/proxy/proxy-ledger.js'
import { percentile, totalsOf } from '../../src/proxy/proxy-totals.js'

const NO_STYLE = styleFor({}, {})
const buckets = (counts: Record<number, number>) =>
  Array.from({ length: LATENCY_BUCKETS.length + 1 }, (_, index) => counts[index] ?? 0)

function score(proxy: string, site: string, more: Partial<ProxyScore> = {}): ProxyScore {
  return {
    ...{ proxy, site, good: 0, neutral: 0, banned: 0, broken: 0, bytes: 0, cost: 0, latency: buckets({}), inFlight: 0 },
    ...{ restsUntil: null, strikes: 0, usedAt: 0 },
    ...more,
  }
}

describe('how proxies did together', () => {
  it('adds up; what the site did wrong does not count against them', () => {
    const rows = [
      score('a', '', { good: 6, neutral: 2, cost: 0.3, bytes: 10, latency: buckets({ 0: 8 }) }),
      score('b', '', { good: 2, banned: 1, broken: 1, cost: 0.1, bytes: 5, latency: buckets({ 3: 4 }) }),
    ]
    expect(totalsOf(rows)).toMatchObject({
      ...{ requests: 12, good: 8, neutral: 2, banned: 1, broken: 1, success: 0.8, bytes: 15 },
      costPer1000: expect.closeTo(50),
    })
  })

  it('has no share, no latency and no price before the first request', () => {
    expect(totalsOf([])).toMatchObject({ success: null, p50Ms: null, p99Ms: null, costPer1000: null })
    expect(totalsOf([score('a', '', { banned: 3, cost: 1 })]).costPer1000).toBeNull()
  })

  it('knows percentiles as well as the buckets do', () => {
    expect(percentile(buckets({ 0: 100 }), 0.5)).toBe(13)
    expect(percentile(buckets({ 0: 50, 1: 50 }), 0.5)).toBe(25)
    expect(percentile(buckets({ 0: 90, 5: 10 }), 0.99)).toBe(760)
    expect(percentile(buckets({ 11: 5 }), 0.5)).toBe(25_600)
  })
})

describe('the views', () => {
  const rows = [
    score('a', '', { good: 9, banned: 1, inFlight: 2 }),
    score('a', 'shop.example', { good: 9 }),
    score('a', 'b.example', { banned: 1, restsUntil: 61_000 }),
    score('b', '', { broken: 2, restsUntil: 31_000 }),
    score('b', 'shop.example', { broken: 2 }),
  ]

  it('by site, the busiest first', () => {
    expect(bySite(rows).map(({ site, requests, success }) => [site, requests, success])).toEqual([
      ['shop.example', 11, 9 / 11],
      ['b.example', 1, 0],
    ])
  })

  it('by proxy, with the rests that are felt there', () => {
    const proxies = [{ id: 'a', country: 'de' }, ...['b', 'c'].map((id) => ({ id, country: null }))]
    const all = byProxy(proxies, rows, null, 1_000)
    expect(all.map(({ proxy, country, requests, inUse }) => [proxy, country, requests, inUse])).toEqual([
      ['a', 'de', 10, 2],
      ['b', null, 2, 0],
      ['c', null, 0, 0],
    ])
    expect(all.map((one) => restText(one, NO_STYLE))).toEqual(['1 min 00 s on b.example', '30 s', ''])
    const onShop = byProxy(proxies, rows, 'shop.example', 1_000)
    expect(onShop.map((one) => [one.proxy, one.requests, restText(one, NO_STYLE)])).toEqual([
      ['a', 9, ''],
      ['b', 2, '30 s'],
      ['c', 0, ''],
    ])
    expect(byProxy(proxies, rows, null, 40_000).map(({ rests }) => rests.length)).toEqual([1, 0, 0])
  })

  it('as cells of a table', () => {
    const totals = totalsOf([score('a', '', { good: 3, banned: 1, cost: 0.0003, latency: buckets({ 2: 4 }) })])
    expect(totalsCells(totals, NO_STYLE)).toEqual([
      ...['4', '███████░░░  75 %', '1', '0', '75 ms', '95 ms', '100 ms', '0.10'],
    ])
    expect([0, 0.00123, 12.345].map(price)).toEqual(['0', '0.0012', '12.35'])
  })
})
