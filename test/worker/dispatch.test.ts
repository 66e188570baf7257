import { expect, it } from 'vitest'
import { dispatch } from '../../src/worker/dispatch.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import { Again } from '../../src/worker/layer.js'
import { HOLDS_NOTHING, PERMIT_MS, sendingOf, visitParts } from './visit-parts.js'

it('sends nothing with a permit that grew old while the connection was opened', async () => {
  let dialMs = PERMIT_MS + 1
  const { parts, leased, asked, sent } = visitParts({
    answer(_request, clock) {
      clock.advance(dialMs)
      dialMs = 0
      return 200
    },
  })
  await fetchPage(leased(), parts, null)
  expect({ asked, sent: sent.length }).toEqual({ asked: ['site.test'], sent: 1 })
})

it('asks again for a proxy whose grant grew old while the connection was opened', async () => {
  let dialMs = 500
  const dialled: (number | undefined)[] = []
  const { parts, leased, ended, sent } = visitParts({
    spider: { proxy: 'dc', pace: { delay: '1s', concurrency: 1 } },
    answer({ proxy }, clock) {
      dialled.push(proxy?.port)
      clock.advance(dialMs)
      dialMs = 0
      return 200
    },
  })
  expect(await ended(fetchPage(leased(), parts, null))).toMatchObject({ kind: 'page' })
  expect(sent).toHaveLength(1)
  // Through the same one, on the open connection: another proxy would have to be dialled, and its grant would grow old as well.
  expect(dialled).toEqual([sent[0]?.proxy?.port, sent[0]?.proxy?.port])
})

it('keeps the slot and says why when its permit expired', async () => {
  const { parts, leased, clock, released, sent } = visitParts()
  const current = leased()
  const expired = { host: 'site.test', at: clock.mono() - 11, forMs: 10 }
  const held = { ...HOLDS_NOTHING, permits: [expired] }
  const answer = await dispatch(sendingOf(current, parts), held)
  expect(answer).toEqual(new Again('stale', held))
  expect({ sent, released, started: current.started }).toEqual({ sent: [], released: [], started: false })
})

it('counts the delay of the host from the moment of the request, not of the permit', async () => {
  const { parts, leased, clock, released } = visitParts({
    answer(_request, clock) {
      clock.advance(700)
      return 200
    },
  })
  const permit = { host: 'site.test', at: clock.mono(), forMs: 10_000 }
  await dispatch(sendingOf(leased(), parts), { ...HOLDS_NOTHING, permits: [permit] })
  expect(released.map(({ elapsedMs }) => elapsedMs)).toEqual([0])
})

it('reads a long robots.txt for a spider of small pages', async () => {
  const { parts, leased, sent } = visitParts({ spider: { fetch: { maxBodyBytes: 1_000 } } })
  await dispatch(sendingOf(leased(), parts, { isRobots: true }), HOLDS_NOTHING)
  await dispatch(sendingOf(leased(), parts), HOLDS_NOTHING)
  expect(sent.map(({ limits }) => limits.maxBodyBytes >= 10 * 1024 * 1024)).toEqual([true, false])
})
