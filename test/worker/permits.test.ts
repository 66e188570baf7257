import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { FetchRequest, FetchResponse } from '../../src/fetch/fetcher.js'
import type { Lease, Permit } from '../../src/frontier/frontier.js'
import { silentLog } from '../../src/log.js'
import { createMeter } from '../../src/observe/vitals/meter.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { createAdmitter } from '../../src/url/admit.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import type { Visit, VisitParts } from '../../src/worker/visit-parts.js'

const URL_HERE = 'https://site.test/page'
const PERMIT_MS = 10

/** One visit against a queue that gives every permit and a site that answers everything; dialling takes `dialMs`, the first time. */
function visit({ leasedMsAgo, dialMs }: { leasedMsAgo: number; dialMs: number }) {
  const clock = new ManualClock()
  const asked: string[] = []
  const sent: number[] = []
  let dial = dialMs
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'permits',
      start: [URL_HERE],
      robots: false,
      routes: { page: { match: '/**', handler() {} } },
    }),
  )
  const parts = {
    spider,
    admitter: createAdmitter(spider.admit),
    clock,
    frontier: {
      async permit(_: unknown, host: string): Promise<Permit> {
        asked.push(host)
        return { ok: true, permitMs: PERMIT_MS }
      },
    },
    outbox: { async released() {}, release() {} },
    fetcher: {
      async fetch({ url, onDispatch }: FetchRequest) {
        clock.advance(dial)
        dial = 0
        onDispatch?.()
        sent.push(clock.mono())
        return { url, status: 200, headers: {}, body: Buffer.alloc(0), wireBytes: 0, ms: 0 } as unknown as FetchResponse
      },
    },
    meter: createMeter(1, clock),
    log: silentLog,
  } as unknown as VisitParts
  const lease = {
    crawl: 'c',
    token: 't',
    permitMs: PERMIT_MS,
    link: { url: URL_HERE, host: 'site.test', fp: '0', route: 'page', depth: 0, priority: 0 },
  } as unknown as Lease
  const current = {
    lease,
    grantedAt: clock.mono() - leasedMsAgo,
    stop: { aborted: false },
    lost: false,
    permitUsed: false,
    started: false,
    produced: false,
    settling: false,
  } as unknown as Visit
  return { fetched: fetchPage(current, parts, null), asked, sent }
}

it('uses the permit that came with the lease at once, and asks nobody', async () => {
  const { fetched, asked, sent } = visit({ leasedMsAgo: 0, dialMs: 0 })
  await fetched
  expect({ asked, sent: sent.length }).toEqual({ asked: [], sent: 1 })
})

it('asks the queue, and nobody else, when the permit of the lease is too old', async () => {
  const { fetched, asked, sent } = visit({ leasedMsAgo: PERMIT_MS + 1, dialMs: 0 })
  await fetched
  expect({ asked, sent: sent.length }).toEqual({ asked: ['site.test'], sent: 1 })
})

it('sends nothing with a permit that grew old while the connection was made', async () => {
  const { fetched, asked, sent } = visit({ leasedMsAgo: 0, dialMs: PERMIT_MS + 1 })
  await fetched
  expect({ asked, sent: sent.length }).toEqual({ asked: ['site.test'], sent: 1 })
})
