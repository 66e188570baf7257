import { describe, expect, it } from 'vitest'
import { ManualClock, seededRandom } from '../../src/clock.js'
import { loadPools } from '../../src/proxy/pools.js'
import { createProxyAllocator, type ProxyNeed } from '../../src/proxy/proxy-allocator.js'
import type { ProxyAnswer, ProxyAsk, ProxyLedger, ProxyReport } from '../../src/proxy/proxy-ledger.js'

/** Answers what it is given and remembers the calls. */
function ledger(answer: (ask: ProxyAsk) => ProxyAnswer) {
  const calls = { grant: [] as ProxyAsk[][], report: [] as ProxyReport[][], scoresOn: [] as string[] }
  const down = { now: false }
  const fake: ProxyLedger = {
    async grant(asks) {
      calls.grant.push([...asks])
      return asks.map(answer)
    },
    async report(reports) {
      if (down.now) throw new Error('down')
      calls.report.push([...reports])
    },
    scores: async () => [],
    async scoresOn(pool, site) {
      calls.scoresOn.push(`${pool} ${site}`)
      return []
    },
    wake: async () => {},
  }
  return { fake, calls, down }
}

const first = (ask: ProxyAsk): ProxyAnswer => ({ ok: true, proxy: ask.proxies[0] ?? '', permitMs: 100 })

function allocator(answer: (ask: ProxyAsk) => ProxyAnswer, proxies = 3) {
  const { fake, calls, down } = ledger(answer)
  const clock = new ManualClock()
  const [pool] = loadPools(Array.from({ length: proxies }, (_, index) => `http://h${index}:1`).join(' '), {})
  if (pool === undefined) throw new Error('there is no pool')
  const need: ProxyNeed = {
    ...{ pool, choose: 'rotate', country: null, host: 'shop.example', site: 'shop.example' },
    ...{ limits: { delayMs: 0, concurrency: 1 }, holdMs: 1_000 },
  }
  const made = createProxyAllocator({ ledger: fake, clock, random: seededRandom(1), worker: 'w1' })
  return { made, calls, down, clock, need }
}

describe('the allocator', () => {
  it('asks once for all that want a proxy in the same turn, each with a name of its own', async () => {
    const { made, calls, need } = allocator(first)
    const got = await Promise.all([made.acquire(need), made.acquire(need), made.acquire(need)])
    expect(calls.grant).toHaveLength(1)
    expect(new Set(calls.grant[0]?.map(({ ask }) => ask)).size).toBe(3)
    const used = got.map((one) => (one.ok ? one.grant.proxy.id : null))
    expect(new Set(used)).toEqual(new Set(['h0:1', 'h1:1', 'h2:1']))
  })

  it('asks for a large pool in parts, and prefers waiting for the pace to waiting for a rest', async () => {
    const answers: ProxyAnswer[] = [
      { ok: false, waitMs: 5, why: 'resting' },
      { ok: false, waitMs: 90, why: 'paced' },
      { ok: false, waitMs: 70, why: 'paced' },
    ]
    const { made, calls, need } = allocator(() => answers.shift() ?? { ok: false, waitMs: 0, why: 'none' }, 300)
    expect(await made.acquire(need)).toEqual({ ok: false, waitMs: 70, why: 'paced' })
    expect(calls.grant.map(([ask]) => ask?.proxies.length)).toEqual([128, 128, 44])
  })

  it('has none in a country where the pool is not', async () => {
    const { made, calls, need } = allocator(first)
    expect(await made.acquire({ ...need, country: 'de' })).toEqual({ ok: false, waitMs: 0, why: 'none' })
    expect(calls.grant).toEqual([])
  })

  it('reports with the cost and the rules of the pool; what could not be sent is sent again', async () => {
    const { made, calls, need, down, clock } = allocator(first)
    const got = await made.acquire(need)
    if (!got.ok) throw new Error('nothing was granted')
    const priced = { ...got.grant.proxy, cost: { perRequest: 1, perGb: 2 } }
    const grant = { ...got.grant, proxy: priced }
    down.now = true
    made.report(grant, { verdict: { kind: 'good' }, elapsedMs: 10, bytes: 5e8 })
    await new Promise(setImmediate)
    expect(calls.report).toEqual([])
    down.now = false
    made.report(grant, { verdict: { kind: 'neutral' }, elapsedMs: null, bytes: 0 })
    await new Promise(setImmediate)
    clock.advance(2_000)
    await made.close()
    expect(calls.report.flat()).toMatchObject([
      { ask: grant.ask, cost: 2, bytes: 5e8, rest: need.pool.rest },
      { ask: grant.ask, cost: 0, elapsedMs: null },
    ])
  })

  it('counts what a request took longer than the fastest on its route as a delay before the site', async () => {
    const { made, calls, need } = allocator(first)
    const got = await made.acquire(need)
    if (!got.ok) throw new Error('nothing was granted')
    for (const elapsedMs of [50, 40, 90, 41]) made.report(got.grant, { verdict: { kind: 'good' }, elapsedMs, bytes: 0 })
    await made.close()
    expect(calls.report.flat().map(({ elapsedMs, tookMs }) => [Math.round(elapsedMs ?? -1), tookMs])).toEqual([
      [0, 50],
      [40, 40],
      [40, 90],
      [41, 41],
    ])
  })

  it('reports wait for the next asks or for another message to the queue, but not for long; bad news does not wait', async () => {
    const { made, calls, need, clock } = allocator(first, 20)
    const got = await Promise.all(Array.from({ length: 20 }, () => made.acquire(need)))
    const grants = got.flatMap((one) => (one.ok ? [one.grant] : []))
    const report = (count: number, kind: 'good' | 'broken') => {
      for (const grant of grants.splice(0, count)) made.report(grant, { verdict: { kind }, elapsedMs: 10, bytes: 1 })
    }
    const reported = async () => {
      await new Promise(setImmediate)
      return calls.report.map((batch) => batch.length)
    }
    report(5, 'good')
    expect(await reported()).toEqual([])
    await made.acquire(need)
    expect(await reported()).toEqual([5])
    report(2, 'good')
    clock.advance(100)
    expect(await reported()).toEqual([5, 2])
    report(1, 'broken')
    expect(await reported()).toEqual([5, 2, 1])
    report(12, 'good')
    made.goAlong()
    expect(await reported()).toEqual([5, 2, 1, 12])
    made.goAlong()
    expect(await reported()).toEqual([5, 2, 1, 12])
  })

  it('reads scores in the background, every few seconds, and only where they decide', async () => {
    const { made, calls, need, clock } = allocator(first)
    await made.acquire(need)
    expect(calls.scoresOn).toEqual([])
    const cheapest = { ...need, choose: 'cheapest' as const }
    for (let i = 0; i < 5; i++) await made.acquire(cheapest)
    expect(calls.scoresOn).toEqual(['default shop.example'])
    clock.advance(6_000)
    await made.acquire(cheapest)
    expect(calls.scoresOn).toHaveLength(2)
  })

  it('hands a failing ledger on to who asked', async () => {
    const { made, need } = allocator(() => {
      throw new Error('down')
    })
    await expect(made.acquire(need)).rejects.toThrow('down')
  })
})
