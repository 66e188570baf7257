import { expect, it } from 'vitest'
import { Busy } from '../../src/politeness/busy.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import { withPermits } from '../../src/worker/permits.js'
import { HOLDS_NOTHING, innermost, PAGE, PERMIT_MS, sendingOf, visitParts } from './visit-parts.js'

it('uses the permit that came with the lease at once, and asks nobody', async () => {
  const { parts, leased, asked, sent } = visitParts()
  await fetchPage(leased(), parts, null)
  expect({ asked, sent: sent.length }).toEqual({ asked: [], sent: 1 })
})

it('asks the queue, and nobody else, when the permit of the lease is too old', async () => {
  const { parts, leased, clock, asked, sent } = visitParts()
  const current = leased()
  clock.advance(PERMIT_MS + 1)
  await fetchPage(current, parts, null)
  expect({ asked, sent: sent.length }).toEqual({ asked: ['site.test'], sent: 1 })
})

it('asks for the request of a lease that came without a permit, even if no time has passed', async () => {
  const { parts, leased, asked, sent } = visitParts()
  await fetchPage(leased({}, { permitMs: 0 }), parts, null)
  expect({ asked, sent: sent.length }).toEqual({ asked: ['site.test'], sent: 1 })
})

it('asks for the second request of a visit, whose lease brought one permit only', async () => {
  const { parts, leased, asked } = visitParts()
  const current = leased()
  await fetchPage(current, parts, null)
  await fetchPage(current, parts, null)
  expect(asked).toEqual(['site.test'])
})

it('keeps the permits of the attempt before as long as they are fresh', async () => {
  const { parts, leased, clock, asked } = visitParts()
  const { layer, seen } = innermost()
  const fresh = { host: 'fresh.test', at: clock.mono(), forMs: 10 }
  const old = { host: 'old.test', at: clock.mono() - 11, forMs: 10 }
  const sending = { ...sendingOf(leased(), parts), keys: ['fresh.test', 'old.test'] as [string, string] }
  await withPermits(layer)(sending, { ...HOLDS_NOTHING, permits: [fresh, old] })
  expect(asked).toEqual(['old.test'])
  expect(seen[0]?.permits).toEqual([fresh, { host: 'old.test', at: clock.mono(), forMs: PERMIT_MS }])
})

it.each([
  ['waits for a slot that is free within 5 s', 5_000, false, 'page', 1],
  ['is busy when it takes longer, and says that the queue keeps the host closed', 5_001, false, 'busy', 0],
  ['waits up to ten minutes once it has something to lose', 200_000, true, 'page', 1],
])('%s', async (_what, waitMs, patient, kind, requests) => {
  let free: number | null = null
  const { parts, leased, ended, sent } = visitParts({
    permit(_host, clock) {
      free ??= clock.mono() + waitMs
      const left = free - clock.mono()
      return left > 0 ? { ok: false, lost: false, waitMs: left } : { ok: true, permitMs: PERMIT_MS }
    },
  })
  const current = { ...leased(), permitUsed: true, ...(patient && { patient }) }
  const page = await ended(fetchPage(current, parts, null))
  expect(page).toMatchObject(kind === 'busy' ? new Busy(waitMs, 'site.test') : { kind })
  expect(sent).toHaveLength(requests)
})

it('gives the visit up when the queue says that its lease is lost', async () => {
  const { parts, leased, sent } = visitParts({ permit: () => ({ ok: false, lost: true, waitMs: 0 }) })
  const current = { ...leased({ url: PAGE }), permitUsed: true }
  await expect(fetchPage(current, parts, null)).rejects.toMatchObject({ code: 'aborted' })
  expect([current.lost, sent.length]).toEqual([true, 0])
})
