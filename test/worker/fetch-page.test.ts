import { expect, it } from 'vitest'
import { Busy } from '../../src/politeness/busy.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import { visitParts } from './visit-parts.js'

const API = 'https://one.test/api'
const ASKED = { method: 'POST', body: 'secret=1', headers: { authorization: 'Bearer SECRET' } }
const SCOPE = { start: [API], scope: { hosts: ['one.test', 'two.test'] } }

it.each([
  ['303 to another origin', 303, 'https://two.test/x', undefined],
  ['302 to another origin', 302, 'https://two.test/x', undefined],
  ['307 to another origin', 307, 'https://two.test/x', { method: 'POST', body: 'secret=1' }],
  ['303 on the same origin', 303, 'https://one.test/x', { headers: ASKED.headers }],
  ['308 on the same origin', 308, 'https://one.test/x', ASKED],
])(
  '%s, to a host without a slot, becomes a link that asks as the redirect would have',
  async (_what, status, location, request) => {
    const { parts, leased } = visitParts({
      spider: SCOPE,
      permit: () => ({ ok: false, lost: false, waitMs: 60_000 }),
      answer: () => ({ status, headers: { location } }),
    })
    const page = await fetchPage(leased({ url: API, request: ASKED }), parts, null)
    expect(page).toMatchObject({ kind: 'moved', link: { url: location }, response: { status } })
    expect(page.kind === 'moved' && page.link.request).toEqual(request)
  },
)

it('is busy when its own host is: there is nothing to move to', async () => {
  const { parts, leased, sent } = visitParts({ permit: () => ({ ok: false, lost: false, waitMs: 60_000 }) })
  const page = await fetchPage({ ...leased(), permitUsed: true }, parts, null)
  expect([page, sent]).toEqual([new Busy(60_000, 'site.test'), []])
})

it.each([
  ['too many', (n: number) => `https://one.test/${n}`, /more than 10 redirects/],
  ['a loop of', () => API, /form a loop/],
])('fails after %s redirects', async (_what, location, message) => {
  let n = 0
  const { parts, leased } = visitParts({
    spider: SCOPE,
    answer: () => ({ status: 302, headers: { location: location(n++) } }),
  })
  await expect(fetchPage(leased({ url: API }), parts, null)).rejects.toMatchObject({
    code: 'too_many_redirects',
    message: expect.stringMatching(message),
  })
})

it('does not follow a redirect out of scope', async () => {
  const { parts, leased, sent } = visitParts({
    spider: SCOPE,
    answer: () => ({ status: 302, headers: { location: 'https://three.test/' } }),
  })
  await expect(fetchPage(leased({ url: API }), parts, null)).rejects.toMatchObject({ code: 'bad_redirect' })
  expect(sent).toHaveLength(1)
})
