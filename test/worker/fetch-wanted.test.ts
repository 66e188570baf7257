import { expect, it } from 'vitest'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import { fetchWanted } from '../../src/worker/fetch-wanted.js'
import { type Setting, visitParts } from './visit-parts.js'

/** What a visit gets, and whether each of its requests was rendered. */
async function want(page: SpiderDefinition['routes'][string], setting: Setting = {}) {
  const { parts, spider, leased, ended, sent } = visitParts({ ...setting, spider: { routes: { page } } })
  const route = spider.routes.get('page')
  if (route === undefined) throw new Error('the route is there')
  const wanted = await ended(fetchWanted(leased(), parts, route, null))
  return { wanted, rendered: sent.map(({ render }) => render !== undefined) }
}

it('a page that needs the browser waits for its second request, whatever the pace', async () => {
  let free = Number.POSITIVE_INFINITY
  const { wanted, rendered } = await want(
    { match: '**', render: { when: 'fallback', needed: () => true } },
    {
      permit(_host, clock) {
        const waitMs = free - clock.mono()
        return waitMs > 0 ? { ok: false, lost: false, waitMs } : { ok: true, permitMs: 1_000 }
      },
      answer(_request, clock) {
        free = clock.mono() + 60_000
        return 200
      },
    },
  )
  expect(wanted).toMatchObject({ page: { kind: 'page' } })
  expect(rendered).toEqual([false, true])
})

it.each([
  ['without a browser', {}, [false]],
  ['in the browser at once', { render: { when: 'always' } }, [true]],
  ['without a browser where that gives enough', { render: { when: 'fallback', needed: () => false } }, [false]],
] as const)('a page is fetched %s', async (_what, route, expected) => {
  const { wanted, rendered } = await want({ match: '**', handler: (_page, out) => out.follow('/next'), ...route })
  expect(wanted).toMatchObject({ page: { kind: 'page' } })
  expect(rendered).toEqual(expected)
})

it('a page with an error status is not rendered: the browser would get the same', async () => {
  const { rendered } = await want(
    { match: '**', render: { when: 'fallback', needed: () => true } },
    { answer: () => 500 },
  )
  expect(rendered).toEqual([false])
})
