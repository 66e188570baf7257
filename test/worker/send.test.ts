import { expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { markStaleSocket } from '../../src/fetch/stale-socket.js'
import { Busy } from '../../src/politeness/busy.js'
import { send } from '../../src/worker/send.js'
import { PAGE, PERMIT_MS, type Setting, visitParts } from './visit-parts.js'

/** What comes of one request, and through which proxies it was attempted. */
async function sendOnce({ answer = () => 200, ...setting }: Setting) {
  const dialled: number[] = []
  const { parts, leased, ended, ...rest } = visitParts({
    ...setting,
    answer(request, clock) {
      dialled.push(request.proxy?.port ?? 0)
      return answer(request, clock)
    },
  })
  const result = await ended(send(leased(), parts, ['site.test'], { url: PAGE }))
  return { result, dialled, ...rest }
}

it('takes another proxy for one that is broken, within the same visit', async () => {
  let first: number | null = null
  const { result, dialled, released } = await sendOnce({
    spider: { proxy: 'dc' },
    answer({ proxy }) {
      first ??= proxy?.port ?? 0
      if (proxy?.port === first) throw new ShoalError('proxy_error', 'it is broken')
      return 200
    },
  })
  expect(result).toMatchObject({ status: 200 })
  expect(new Set(dialled).size).toBe(2)
  expect(released.map(({ report }) => report)).toEqual([{ kind: 'ok' }])
})

it('fails with the third proxy that is broken', async () => {
  const { result, dialled } = await sendOnce({
    spider: { proxy: 'dc' },
    answer: () => {
      throw new ShoalError('proxy_error', 'it is broken')
    },
  })
  expect(result).toMatchObject({ code: 'proxy_error' })
  expect(dialled).toHaveLength(3)
})

it.each([
  ['is repeated with a permit of its own', 1, { status: 200 }, 2],
  ['is repeated once', 5, { code: 'truncated' }, 2],
])('a request on a connection that the server had closed %s', async (_what, closed, expected, requests) => {
  let left = closed
  const { result, dialled, asked } = await sendOnce({
    answer() {
      if (left-- <= 0) return 200
      const error = new ShoalError('truncated', 'closed')
      markStaleSocket(error)
      throw error
    },
  })
  expect(result).toMatchObject(expected)
  // The lease brought the first one.
  expect({ dialled: dialled.length, asked }).toEqual({ dialled: requests, asked: ['site.test'] })
})

it('does not repeat a request that failed in any other way', async () => {
  const { result, dialled } = await sendOnce({
    answer() {
      throw new ShoalError('truncated', 'in the middle of the answer')
    },
  })
  expect(result).toMatchObject({ code: 'truncated' })
  expect(dialled).toHaveLength(1)
})

it('is busy for a second after five permits that expired while the connection was opened', async () => {
  const { result, dialled, asked, sent } = await sendOnce({
    answer(_request, clock) {
      clock.advance(PERMIT_MS + 1)
      return 200
    },
  })
  // The queue knows nothing of it, so the link must wait.
  expect(result).toEqual(new Busy(1_000, null))
  expect({ dialled: dialled.length, asked: asked.length, sent }).toEqual({ dialled: 5, asked: 4, sent: [] })
})
