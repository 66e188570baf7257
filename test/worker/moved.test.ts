import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { FetchRequest } from '../../src/fetch/fetcher.js'
import type { Permit } from '../../src/frontier/frontier.js'
import { silentLog } from '../../src/log.js'
import { createMeter } from '../../src/observe/vitals/meter.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { createAdmitter } from '../../src/url/admit.js'
import type { RequestExtras } from '../../src/url/link.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import type { Visit, VisitParts } from '../../src/worker/visit-parts.js'

const API = 'https://one.test/api'
const ASKED = { method: 'POST', body: 'secret=1', headers: { authorization: 'Bearer SECRET' } }

/** What becomes of a request that is redirected to a host without a free slot. */
function redirected(status: number, location: string, request: RequestExtras) {
  const clock = new ManualClock()
  const spider = spiderFromDefinition(
    defineSpider({
      ...{ name: 'moved', start: [API], robots: false, scope: { hosts: ['one.test', 'two.test'] } },
      routes: { page: { match: '**', handler() {} } },
    }),
  )
  const parts = {
    ...{ spider, clock, proxies: null, visitors: null, admitter: createAdmitter(spider.admit) },
    frontier: {
      async permit(): Promise<Permit> {
        return { ok: false, lost: false, waitMs: 60_000 }
      },
    },
    outbox: { async released() {}, release() {} },
    fetcher: {
      async fetch({ url, onDispatch }: FetchRequest) {
        onDispatch?.()
        return { url, status, headers: { location }, cookies: [], body: Buffer.alloc(0), wireBytes: 0, ms: 0 }
      },
    },
    meter: createMeter(1, clock),
    log: silentLog,
  } as unknown as VisitParts
  const link = { url: API, host: 'one.test', fp: '0', route: 'page', depth: 0, priority: 0, request }
  const current = {
    ...{ lease: { crawl: 'c', token: 't', permitMs: 10, link }, grantedAt: clock.mono(), stop: { aborted: false } },
    ...{ lost: false, permitUsed: false, proxy: null, started: false, produced: false, settling: false },
  } as unknown as Visit
  return fetchPage(current, parts, null)
}

it.each([
  ['303 to another origin', 303, 'https://two.test/x', undefined],
  ['302 to another origin', 302, 'https://two.test/x', undefined],
  ['307 to another origin', 307, 'https://two.test/x', { method: 'POST', body: 'secret=1' }],
  ['303 on the same origin', 303, 'https://one.test/x', { headers: ASKED.headers }],
  ['308 on the same origin', 308, 'https://one.test/x', ASKED],
])('%s becomes a link that asks as the redirect would have', async (_what, status, location, request) => {
  const { kind, link } = (await redirected(status, location, ASKED)) as { kind: string; link: { request?: object } }
  expect({ kind, link }).toMatchObject({ kind: 'moved', link: { url: location } })
  expect(link.request).toEqual(request)
})
