import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../src/clock.js'
import { chooseProxies, EXPLORE, expectedCost } from '../../src/proxy/choose.js'
import type { Pool, ProxyChoice } from '../../src/proxy/pool.js'
import type { PoolProxy } from '../../src/proxy/proxy.js'
import type { ProxyScore } from '../../src/proxy/proxy-ledger.js'

function proxy(id: string, more: Partial<PoolProxy> = {}): PoolProxy {
  return {
    ...{ id, pool: 'p', kind: 'datacenter', country: null, weight: 1, cost: { perRequest: 0, perGb: 0 } },
    via: { by: 'proxy', proxy: { protocol: 'http', host: id, port: 1, username: '', password: '' } },
    ...more,
  }
}

function poolOf(...proxies: PoolProxy[]): Pool {
  return {
    ...{ name: 'p', kind: 'datacenter', proxies },
    rest: { strikes: 2, baseMs: 1, capMs: 2 },
    rotation: { requests: 1, timeMs: 1 },
  }
}

function score(id: string, more: Partial<ProxyScore>): ProxyScore {
  return {
    ...{ proxy: id, site: 's', good: 0, neutral: 0, banned: 0, broken: 0, bytes: 0, cost: 0, latency: [], inFlight: 0 },
    ...{ restsUntil: null, strikes: 0, usedAt: 0 },
    ...more,
  }
}

const ABC = poolOf(proxy('a'), proxy('b', { country: 'de' }), proxy('c', { country: 'de' }))
const NEVER: Random = () => 0.999

function order(
  pool: Pool,
  choose: ProxyChoice,
  more: { turn?: number; country?: string; prefer?: string[]; stay?: string; scores?: ProxyScore[] } = {},
  random = NEVER,
): string {
  const { turn = 0, country = null, scores = [], ...rest } = more
  const byProxy = new Map(scores.map((one) => [one.proxy, one]))
  return chooseProxies(pool, { choose, country, turn, scores: byProxy, ...rest }, random)
    .map(({ id }) => id)
    .join('')
}

describe('the order of proxies', () => {
  it('rotates', () => {
    expect([0, 1, 2, 3].map((turn) => order(ABC, 'rotate', { turn }))).toEqual(['abc', 'bca', 'cab', 'abc'])
  })

  it('keeps to the country', () => {
    expect([0, 1].map((turn) => order(ABC, 'rotate', { turn, country: 'de' }))).toEqual(['bc', 'cb'])
    expect(order(ABC, 'rotate', { country: 'fr' })).toBe('')
  })

  it('continues sessions first, and stays where a visit began', () => {
    expect(order(ABC, 'rotate', { prefer: ['c', 'x'] })).toBe('cab')
    expect(order(ABC, 'cheapest', { stay: 'b' })).toBe('b')
  })

  it('goes by weights', () => {
    const pool = poolOf(proxy('a', { weight: 1 }), proxy('b', { weight: 3 }))
    const random = seededRandom(7)
    const first = Array.from({ length: 4_000 }, (_, turn) => order(pool, 'weighted', { turn }, random)[0])
    const share = first.filter((id) => id === 'b').length / first.length
    expect(share).toBeGreaterThan(0.72)
    expect(share).toBeLessThan(0.78)
  })
})

describe('the cheapest', () => {
  const free = poolOf(proxy('a'), proxy('b'), proxy('c'))

  it('is the one that works, where none costs anything', () => {
    const scores = [
      score('a', { good: 50, banned: 50 }),
      score('b', { good: 99, banned: 1 }),
      score('c', { broken: 9 }),
    ]
    expect(order(free, 'cheapest', { scores })).toBe('bac')
  })

  it('costs least for a good page, not for a request', () => {
    const pool = poolOf(
      proxy('a', { cost: { perRequest: 1, perGb: 0 } }),
      proxy('b', { cost: { perRequest: 2, perGb: 0 } }),
    )
    const scores = [score('a', { good: 20, banned: 80 }), score('b', { good: 90, banned: 10 })]
    expect(order(pool, 'cheapest', { scores })).toBe('ba')
  })

  it('counts what bytes cost', () => {
    const byGb = proxy('a', { cost: { perRequest: 0, perGb: 10 } })
    const measured = score('a', { good: 10, bytes: 1e9 })
    expect(expectedCost(byGb, measured)).toBeCloseTo(1)
  })

  it('may be one that nobody has tried', () => {
    expect(
      order(free, 'cheapest', { scores: [score('a', { good: 9, banned: 3 }), score('b', { good: 9, banned: 3 })] }),
    ).toBe('cab')
  })

  it('takes turns among those that cost about the same', () => {
    const scores = ['a', 'b', 'c'].map((id) => score(id, { good: 100 }))
    expect([0, 1, 2].map((turn) => order(free, 'cheapest', { turn, scores })[0])).toEqual(['a', 'b', 'c'])
  })

  it('is left aside now and then for what is least known', () => {
    const scores = [score('a', { good: 900 }), score('b', { good: 2, banned: 30 }), score('c', { good: 1, banned: 1 })]
    expect(order(free, 'cheapest', { scores }, () => 0)).toBe('cba')
    const random = seededRandom(3)
    const runs = 4_000
    const explored = Array.from({ length: runs }, () => order(free, 'cheapest', { scores }, random)).filter(
      (one) => one[0] !== 'a',
    ).length
    expect(Math.abs(explored / runs - EXPLORE)).toBeLessThan(0.02)
  })

  it('finds the good ones: nearly all requests go there after a while', () => {
    const proxies = Array.from({ length: 20 }, (_, index) => proxy(String.fromCharCode(97 + index)))
    const pool = poolOf(...proxies)
    const isGood = (id: string) => id > 'j'
    const random = seededRandom(11)
    const scores = new Map<string, ProxyScore>()
    let good = 0
    for (let turn = 0; turn < 2_000; turn++) {
      const [first] = chooseProxies(pool, { choose: 'cheapest', country: null, turn, scores }, random)
      if (first === undefined) throw new Error('there is none')
      const ok = isGood(first.id)
      const old = scores.get(first.id) ?? score(first.id, {})
      scores.set(first.id, ok ? { ...old, good: old.good + 1 } : { ...old, banned: old.banned + 1 })
      if (turn >= 1_000 && ok) good++
    }
    expect(good / 1_000).toBeGreaterThan(0.93)
  })
})
