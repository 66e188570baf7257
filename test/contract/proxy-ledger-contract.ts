import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { Limits } from '../../src/frontier/frontier.js'
import type { ProxyAnswer, ProxyAsk, ProxyLedger, ProxyReport, ProxyVerdict } from '../../src/proxy/proxy-ledger.js'
import { scoreCursor } from '../../src/proxy/proxy-ledger.js'

export type MakeLedger = (clock: ManualClock) => Promise<{ readonly ledger: ProxyLedger; close(): Promise<void> }>

const DAY = 86_400_000
const OPEN: Limits = { delayMs: 0, concurrency: 1000 }
const REST = { strikes: 3, baseMs: 10_000, capMs: 60_000 }
const GOOD: ProxyVerdict = { kind: 'good' }
const BROKEN: ProxyVerdict = { kind: 'broken' }
const BANNED: ProxyVerdict = { kind: 'banned', retryAfterMs: null }

export function proxyLedgerContract(driver: string, make: MakeLedger): void {
  describe(`proxy ledger contract: ${driver}`, () => {
    let clock: ManualClock
    let made: Awaited<ReturnType<MakeLedger>>
    let ledger: ProxyLedger
    let asks: Map<string, ProxyAsk>

    beforeEach(async () => {
      clock = new ManualClock()
      made = await make(clock)
      ledger = made.ledger
      asks = new Map()
    })
    afterEach(() => made.close())

    /** `site` is the host, unless told. */
    function askOf(ask: string, proxies: readonly string[], changes: Partial<ProxyAsk> = {}): ProxyAsk {
      const host = changes.host ?? 'a.test'
      const made = { ask, pool: 'p', proxies, host, site: host, limits: OPEN, holdMs: 30_000, ...changes }
      asks.set(ask, made)
      return made
    }

    async function grant(ask: string, proxies: readonly string[], changes?: Partial<ProxyAsk>): Promise<ProxyAnswer> {
      const [answer] = await ledger.grant([askOf(ask, proxies, changes)])
      if (answer === undefined) throw new Error('no answer')
      return answer
    }

    function reportOf(
      ask: string,
      proxy: string,
      verdict: ProxyVerdict,
      changes: Partial<ProxyReport> = {},
    ): ProxyReport {
      const { pool, host, site, limits } = asks.get(ask) ?? askOf(ask, [])
      const counted = { elapsedMs: 0, bytes: 0, cost: 0, rest: REST }
      return { ask, pool, proxy, host, site, limits, verdict, ...counted, ...changes }
    }

    async function report(ask: string, proxy: string, verdict: ProxyVerdict, changes?: Partial<ProxyReport>) {
      await ledger.report([reportOf(ask, proxy, verdict, changes)])
    }

    /** One request through one proxy, answered at once. */
    async function once(ask: string, proxy: string, verdict: ProxyVerdict, changes: Partial<ProxyAsk> = {}) {
      expect(await grant(ask, [proxy], changes)).toMatchObject({ ok: true, proxy })
      await report(ask, proxy, verdict)
    }

    it('grants the first proxy that may be used', async () => {
      expect(await grant('1', ['x', 'y'])).toEqual({ ok: true, proxy: 'x', permitMs: 2000 })
      expect(await grant('2', ['x', 'y'])).toMatchObject({ ok: true, proxy: 'y' })
      expect(await grant('3', [])).toEqual({ ok: false, waitMs: 0, why: 'none' })
      expect(await grant('4', ['x'], { pool: 'another pool' })).toMatchObject({ ok: true, proxy: 'x' })
    })

    it('answers several asks in order, each in sight of those before', async () => {
      const answers = await ledger.grant([askOf('1', ['x', 'y']), askOf('2', ['x', 'y']), askOf('3', ['x', 'y'])])
      expect(answers).toMatchObject([{ proxy: 'x' }, { proxy: 'y' }, { ok: false, waitMs: 100, why: 'paced' }])
      const many = Array.from({ length: 600 }, (_, i) => askOf(`m${i}`, [`e${i}`]))
      expect(await ledger.grant(many)).toMatchObject(many.map(({ proxies }) => ({ ok: true, proxy: proxies[0] })))
      await ledger.report(many.map(({ ask, proxies }) => reportOf(ask, String(proxies[0]), GOOD)))
      expect(await ledger.scores('p', { limit: 10_000 })).toHaveLength(1204)
    })

    it('looks through a thousand proxies', async () => {
      const all = Array.from({ length: 1000 }, (_, i) => `e${i}`)
      for (let from = 0; from < 999; from += 333) {
        await ledger.grant(all.slice(from, from + 333).map((proxy) => askOf(`hold ${proxy}`, [proxy])))
      }
      expect(await grant('1', all)).toMatchObject({ ok: true, proxy: 'e999' })
      expect(await grant('2', all)).toEqual({ ok: false, waitMs: 100, why: 'paced' })
    })

    it('keeps the pace of one proxy on a host', async () => {
      const limits = { delayMs: 1000, concurrency: 2 }
      await once('0', 'x', GOOD, { limits })
      clock.advance(1000)
      expect(await grant('1', ['x'], { limits })).toEqual({ ok: true, proxy: 'x', permitMs: 100 })
      clock.advance(400)
      expect(await grant('2', ['x'], { limits })).toEqual({ ok: false, waitMs: 600, why: 'paced' })
      expect(await grant('3', ['x'], { limits, host: 'b.a.test', site: 'a.test' })).toMatchObject({ ok: true })
      clock.advance(600)
      expect(await grant('4', ['x'], { limits })).toMatchObject({ ok: true })
      clock.advance(1000)
      expect(await grant('5', ['x'], { limits })).toEqual({ ok: false, waitMs: 100, why: 'paced' })
      // The delay counts from the real dispatch.
      clock.advance(500)
      await report('4', 'x', GOOD, { elapsedMs: 200 })
      expect(await grant('6', ['x'], { limits })).toEqual({ ok: false, waitMs: 800, why: 'paced' })
    })

    it('keeps a rate with bursts', async () => {
      const limits = { delayMs: 0, concurrency: 10, rate: { count: 1, perMs: 300, burst: 3 } }
      await once('0', 'x', GOOD, { limits })
      clock.advance(10_000)
      for (const ask of ['1', '2', '3']) expect(await grant(ask, ['x'], { limits })).toMatchObject({ ok: true })
      expect(await grant('4', ['x'], { limits })).toEqual({ ok: false, waitMs: 300, why: 'paced' })
      clock.advance(300)
      expect(await grant('5', ['x'], { limits })).toMatchObject({ ok: true })
    })

    it('answers a repeated ask with what is left of its grant', async () => {
      const first = askOf('1', ['x', 'y'])
      expect(await ledger.grant([first, first])).toMatchObject([{ proxy: 'x' }, { proxy: 'x' }])
      clock.advance(500)
      expect(await ledger.grant([{ ...first, proxies: ['y'] }])).toEqual([{ ok: true, proxy: 'x', permitMs: 1500 }])
      clock.advance(5000)
      expect(await ledger.grant([first])).toEqual([{ ok: true, proxy: 'x', permitMs: 0 }])
      expect(await ledger.scoresOn('p', 'a.test')).toMatchObject([{ proxy: 'x', inFlight: 1 }])
      await report('1', 'x', GOOD)
      expect(await ledger.grant([first])).toEqual([{ ok: true, proxy: 'x', permitMs: 2000 }])
    })

    it('counts a report once, and none for what is not held', async () => {
      await grant('1', ['x'])
      await report('1', 'y', BROKEN)
      await report('1', 'x', GOOD, { pool: 'q' })
      const told = reportOf('1', 'x', GOOD, { elapsedMs: 120, bytes: 1000, cost: 0.5 })
      await ledger.report([told, told])
      await ledger.report([told])
      await report('never asked', 'x', BROKEN)
      const counts = { good: 1, neutral: 0, banned: 0, broken: 0, bytes: 1000, cost: 0.5, inFlight: 0, strikes: 0 }
      const latency = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
      const row = { proxy: 'x', ...counts, latency, restsUntil: null, usedAt: clock.now() }
      expect(await ledger.scores('p', { limit: 10 })).toEqual([
        { ...row, site: '' },
        { ...row, site: 'a.test' },
      ])
    })

    it('ends a grant that is never reported', async () => {
      const limits = { delayMs: 0, concurrency: 1 }
      await grant('1', ['x'], { holdMs: 5000, limits })
      clock.advance(4999)
      expect(await grant('2', ['x'], { limits })).toMatchObject({ ok: false, why: 'paced' })
      clock.advance(1)
      expect(await ledger.scoresOn('p', 'a.test')).toMatchObject([{ inFlight: 0, good: 0, strikes: 0 }])
      expect(await grant('2', ['x'], { limits })).toMatchObject({ ok: true })
      // Too late: it is the other's now.
      await report('1', 'x', BROKEN)
      expect(await ledger.scoresOn('p', 'a.test')).toMatchObject([{ inFlight: 1, broken: 0 }])
    })

    it('only ends the grant when nothing was sent', async () => {
      await grant('1', ['x'])
      await report('1', 'x', BROKEN, { elapsedMs: null })
      expect(await ledger.scores('p', { limit: 1 })).toMatchObject([{ inFlight: 0, broken: 0, strikes: 0 }])
    })

    it('lets a new proxy prove itself with one request at a time, over all sites, and then on each site', async () => {
      await grant('1', ['x'])
      expect(await grant('2', ['x'], { host: 'b.test' })).toEqual({ ok: false, waitMs: 100, why: 'paced' })
      await report('1', 'x', GOOD)
      expect(await grant('3', ['x'])).toMatchObject({ ok: true })
      expect(await grant('4', ['x'])).toMatchObject({ ok: true })
      expect(await grant('5', ['x'], { host: 'b.test' })).toMatchObject({ ok: true })
      expect(await grant('6', ['x'], { host: 'b.test' })).toEqual({ ok: false, waitMs: 100, why: 'paced' })
      await report('5', 'x', { kind: 'neutral' })
      expect(await grant('7', ['x'], { host: 'b.test' })).toMatchObject({ ok: true })
      expect(await grant('8', ['x'], { host: 'b.test' })).toMatchObject({ ok: false })
    })

    it('puts a proxy back on probation after a bad answer', async () => {
      await once('0', 'x', GOOD)
      await grant('1', ['x'])
      await once('2', 'x', BROKEN)
      expect(await grant('3', ['x'])).toMatchObject({ ok: false, why: 'paced' })
      await report('1', 'x', GOOD)
      expect(await grant('4', ['x'])).toMatchObject({ ok: true })
      expect(await grant('5', ['x'])).toMatchObject({ ok: true })
    })

    it('lets a proxy rest everywhere after strikes in a row, longer each time', async () => {
      await once('1', 'x', BROKEN)
      await once('2', 'x', GOOD)
      for (const ask of ['3', '4', '5']) await once(ask, 'x', BROKEN, { host: `${ask}.test` })
      expect(await grant('6', ['x'])).toEqual({ ok: false, waitMs: 10_000, why: 'resting' })
      expect(await grant('7', ['x', 'y'])).toMatchObject({ ok: true, proxy: 'y' })
      expect(await grant('8', ['x', 'y'])).toEqual({ ok: false, waitMs: 100, why: 'paced' })
      let nth = 0
      for (const restMs of [10_000, 20_000, 40_000, 60_000, 60_000]) {
        clock.advance(restMs - 1)
        expect(await grant('early', ['x'])).toEqual({ ok: false, waitMs: 1, why: 'resting' })
        clock.advance(1)
        // Back from a rest it has one chance.
        await once(`again ${++nth}`, 'x', BROKEN)
      }
      clock.advance(60_000)
      await once('good', 'x', GOOD)
      await once('9', 'x', BROKEN)
      await once('10', 'x', BROKEN)
      await once('11', 'x', BROKEN)
      expect(await grant('12', ['x'])).toEqual({ ok: false, waitMs: 10_000, why: 'resting' })
    })

    it('lets a banned proxy rest on that site alone', async () => {
      await once('0', 'x', GOOD, { host: 'b.test' })
      for (const ask of ['1', '2', '3']) await once(ask, 'x', BANNED)
      expect(await grant('4', ['x'])).toEqual({ ok: false, waitMs: 10_000, why: 'resting' })
      expect(await grant('5', ['x'], { host: 'www.a.test', site: 'a.test' })).toMatchObject({ why: 'resting' })
      expect(await grant('6', ['x'], { host: 'b.test' })).toMatchObject({ ok: true })
      const [whole, onSite] = await ledger.scores('p', { limit: 10 })
      expect(whole).toMatchObject({ site: '', good: 1, banned: 3, restsUntil: null, strikes: 0 })
      expect(onSite).toMatchObject({ site: 'a.test', banned: 3, restsUntil: clock.now() + 10_000, strikes: 3 })
    })

    it('rests at once, and as long as the site asks, within the cap', async () => {
      await once('0', 'x', GOOD)
      await once('1', 'x', { kind: 'banned', retryAfterMs: 5000 })
      expect(await grant('2', ['x'])).toEqual({ ok: false, waitMs: 5000, why: 'resting' })
      clock.advance(5000)
      // It had its chance.
      await once('3', 'x', BANNED)
      expect(await grant('4', ['x'])).toEqual({ ok: false, waitMs: 20_000, why: 'resting' })
      clock.advance(20_000)
      // Zero is no answer: the third rest in a row.
      await once('5', 'x', { kind: 'banned', retryAfterMs: 0 })
      expect(await grant('6', ['x'])).toEqual({ ok: false, waitMs: 40_000, why: 'resting' })
      clock.advance(40_000)
      await once('7', 'x', { kind: 'banned', retryAfterMs: 3_600_000 })
      expect(await grant('8', ['x'])).toEqual({ ok: false, waitMs: 60_000, why: 'resting' })
    })

    it('counts what was under way before a rest as the same incident', async () => {
      await once('0', 'x', GOOD)
      const under = Array.from({ length: 10 }, (_, i) => `u${i}`)
      await ledger.grant(under.map((ask) => askOf(ask, ['x'])))
      await ledger.report(under.slice(0, 8).map((ask) => reportOf(ask, 'x', BROKEN)))
      expect(await grant('1', ['x'])).toEqual({ ok: false, waitMs: 10_000, why: 'resting' })
      clock.advance(5000)
      await report('u8', 'x', BROKEN)
      await report('u9', 'x', GOOD)
      expect(await grant('2', ['x'])).toEqual({ ok: false, waitMs: 5000, why: 'resting' })
      clock.advance(5000)
      await once('3', 'x', BROKEN)
      expect(await grant('4', ['x'])).toEqual({ ok: false, waitMs: 20_000, why: 'resting' })
    })

    it('lets a site prolong a rest, by what was under way before it', async () => {
      await once('0', 'x', GOOD)
      await ledger.grant(['1', '2'].map((ask) => askOf(ask, ['x'])))
      await report('1', 'x', { kind: 'banned', retryAfterMs: 5000 })
      await report('2', 'x', { kind: 'banned', retryAfterMs: 20_000 })
      expect(await grant('3', ['x'])).toEqual({ ok: false, waitMs: 20_000, why: 'resting' })
    })

    it('says how long until the first of several', async () => {
      const limits = { delayMs: 30_000, concurrency: 1 }
      for (const ask of ['1', '2', '3']) await once(ask, 'x', BROKEN)
      await once('4', 'y', GOOD, { limits })
      expect(await grant('5', ['x', 'y'], { limits })).toEqual({ ok: false, waitMs: 10_000, why: 'paced' })
      for (const ask of ['6', '7', '8']) await once(ask, 'z', BROKEN)
      clock.advance(1000)
      expect(await grant('9', ['z', 'x'])).toEqual({ ok: false, waitMs: 9000, why: 'resting' })
    })

    it('wakes a proxy, everywhere', async () => {
      for (const ask of ['1', '2', '3']) await once(ask, 'x', BANNED)
      for (const ask of ['4', '5', '6']) await once(ask, 'x', BROKEN, { host: 'b.test' })
      for (const ask of ['7', '8', '9']) await once(ask, 'xx', BANNED)
      await ledger.wake('p', 'x')
      await ledger.wake('p', 'never used')
      clock.advance(1)
      expect(await grant('10', ['x'])).toMatchObject({ ok: true })
      expect(await grant('11', ['x'])).toMatchObject({ ok: false, why: 'paced' })
      expect(await grant('12', ['xx'])).toMatchObject({ ok: false, why: 'resting' })
      await report('10', 'x', BANNED)
      expect(await ledger.scoresOn('p', 'a.test')).toMatchObject([
        { proxy: 'x', banned: 4, strikes: 1, restsUntil: null },
        { proxy: 'xx', banned: 3 },
      ])
    })

    it('lists scores in pages, by proxy and site', async () => {
      for (const proxy of ['b', 'a', 'a-1']) {
        for (const host of ['z.test', 'm.test']) await once(`${proxy} ${host}`, proxy, GOOD, { host })
      }
      await once('other', 'a', GOOD, { pool: 'q' })
      const names: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await ledger.scores('p', { limit: 2, ...(after !== undefined && { after }) })
        names.push(...page.map(({ proxy, site }) => `${proxy} ${site}`))
        const last = page.at(-1)
        if (last === undefined) break
        after = scoreCursor(last)
      }
      const sites = (proxy: string) => [`${proxy} `, `${proxy} m.test`, `${proxy} z.test`]
      expect(names).toEqual([...sites('a'), ...sites('a-1'), ...sites('b')])
      expect((await ledger.scoresOn('p', 'm.test')).map(({ proxy }) => proxy)).toEqual(['a', 'a-1', 'b'])
      expect((await ledger.scoresOn('p', '')).map(({ proxy }) => proxy)).toEqual(['a', 'a-1', 'b'])
      expect(await ledger.scoresOn('p', 'unknown.test')).toEqual([])
    })

    it('forgets what was not used for a week', async () => {
      await once('1', 'x', GOOD)
      await once('2', 'y', GOOD)
      clock.advance(6 * DAY)
      await once('3', 'x', GOOD)
      clock.advance(2 * DAY)
      expect(await ledger.scores('p', { limit: 10 })).toMatchObject([
        { proxy: 'x', site: '', good: 2 },
        { proxy: 'x', site: 'a.test', good: 2 },
      ])
      expect(await ledger.scoresOn('p', 'a.test')).toHaveLength(1)
      // As new.
      await grant('4', ['y'])
      expect(await grant('5', ['y'])).toMatchObject({ ok: false, why: 'paced' })
    })

    it('is not closed for long by a clock that stepped back', async () => {
      const limits = { delayMs: 1000, concurrency: 1 }
      await once('1', 'x', GOOD, { limits })
      await once('2', 'y', { kind: 'banned', retryAfterMs: 5000 })
      clock.advance(-3_600_000)
      expect(await grant('3', ['x'], { limits })).toEqual({ ok: false, waitMs: 1000, why: 'paced' })
      expect(await grant('4', ['y'])).toEqual({ ok: false, waitMs: 5000, why: 'resting' })
    })
  })
}
