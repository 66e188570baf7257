import { expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { Busy } from '../../src/politeness/busy.js'
import type { Acquired } from '../../src/proxy/proxy-allocator.js'
import { borrowProxy } from '../../src/worker/borrow-proxy.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import { type Setting, sendingOf, visitParts } from './visit-parts.js'

const ONE_POOL = { proxy: 'dc' }
const TWO_POOLS = { routes: { page: { match: '/**', proxy: 'dc' }, other: { match: '/other', proxy: 'home' } } }

/** What comes of asking an allocator that answers like this. */
async function borrow(spider: Setting['spider'], refused: Extract<Acquired, { ok: false }>, stay?: string) {
  const { parts, leased, ended, released, events } = visitParts({ ...(spider && { spider }) })
  const { proxies } = parts
  const need = parts.spider.routes.get('page')?.proxy
  if (proxies === null || !need) throw new Error('the spider uses proxies')
  const refusing = { ...proxies, allocator: { ...proxies.allocator, acquire: async () => refused } }
  const result = await ended(borrowProxy(sendingOf(leased(), parts), refusing, need, stay))
  return {
    result,
    reports: released.map(({ host, report }) => [host, report]),
    events: events.map(({ event }) => event),
  }
}

it('closes the host until a proxy is back when all of them rest, at no cost', async () => {
  const { parts, leased, ended, released } = visitParts({
    spider: { ...ONE_POOL, pace: { delay: '1s', concurrency: 1 } },
    answer() {
      throw new ShoalError('proxy_error', 'it is broken')
    },
  })
  expect(await ended(fetchPage(leased(), parts, null))).toMatchObject({ code: 'proxy_error', next: 'throttle' })
  expect(await ended(fetchPage(leased(), parts, null))).toMatchObject({ code: 'proxies_resting', next: 'backend' })
  const last = released.at(-1)?.report
  expect(last?.kind === 'wait' && last.ms).toBeGreaterThan(0)
})

it('closes the host for as long as its proxies are paced, so that the link need not wait on top of that', async () => {
  const { result, reports } = await borrow(ONE_POOL, { ok: false, waitMs: 20_000, why: 'paced' })
  expect(result).toEqual(new Busy(20_000, 'site.test'))
  expect(reports).toEqual([['site.test', { kind: 'wait', ms: 20_000 }]])
})

it('leaves the host open to other pools: only the link waits', async () => {
  const { result, reports } = await borrow(TWO_POOLS, { ok: false, waitMs: 20_000, why: 'paced' })
  expect(result).toEqual(new Busy(20_000, null))
  expect(reports).toEqual([])
})

it.each([
  ['resting', 5_000, 5_000],
  ['resting', 90_000, 30_000],
  ['none', 0, 30_000],
] as const)('%s for %i ms closes the host for %i ms', async (why, waitMs, closedMs) => {
  const { result, reports, events } = await borrow(ONE_POOL, { ok: false, waitMs, why })
  expect(result).toMatchObject({ code: 'proxies_resting', cause: { waitMs: closedMs } })
  expect(reports).toEqual([['site.test', { kind: 'wait', ms: closedMs }]])
  expect(events).toEqual(['proxies.resting'])
})

it.each([
  ['paced', 20_000, 20_000],
  ['resting', 20_000, 200],
] as const)('bound to a proxy that is %s, only this visit waits: %i ms become %i ms', async (why, waitMs, expected) => {
  const { result, reports } = await borrow(ONE_POOL, { ok: false, waitMs, why }, 'p1')
  expect(result).toEqual(new Busy(expected, null))
  expect(reports).toEqual([])
})

it('waits for half a minute where this worker lacks the pool', async () => {
  const { parts, leased, ended, events } = visitParts({ spider: { proxy: 'elsewhere' } })
  expect(await ended(fetchPage(leased(), parts, null))).toEqual(new Busy(30_000, null))
  expect(events).toMatchObject([{ event: 'proxies.resting', pool: 'elsewhere' }])
})
