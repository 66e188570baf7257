import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { FetchRequest } from '../../src/fetch/fetcher.js'
import type { Permit } from '../../src/frontier/frontier.js'
import { createMeter } from '../../src/observe/vitals/meter.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { createAdmitter } from '../../src/url/admit.js'
import { fetchWanted } from '../../src/worker/fetch-wanted.js'
import type { Visit, VisitParts } from '../../src/worker/visit-parts.js'

it('a page that needs the browser waits for its second request, whatever the pace', async () => {
  const clock = new ManualClock()
  const sent: boolean[] = []
  const spider = spiderFromDefinition(
    defineSpider({
      ...{ name: 'patience', start: ['https://slow.test/'], robots: false },
      routes: { page: { match: '**', render: { when: 'fallback', needed: () => true } } },
    }),
  )
  let free = Number.POSITIVE_INFINITY
  const parts = {
    ...{ spider, clock, proxies: null, visitors: null, admitter: createAdmitter(spider.admit), log: { debug() {} } },
    frontier: {
      async permit(): Promise<Permit> {
        const waitMs = free - clock.mono()
        return waitMs > 0 ? { ok: false, lost: false, waitMs } : { ok: true, permitMs: 1_000 }
      },
    },
    outbox: { async released() {}, release() {} },
    fetcher: {
      async fetch({ url, render, onDispatch }: FetchRequest) {
        onDispatch?.()
        sent.push(render !== undefined)
        free = clock.mono() + 60_000
        return { url, status: 200, headers: {}, cookies: [], body: Buffer.alloc(0), wireBytes: 0, ms: 0 }
      },
    },
    meter: createMeter(1, clock),
  } as unknown as VisitParts
  const link = { url: 'https://slow.test/', host: 'slow.test', fp: '0', route: 'page', depth: 0, priority: 0 }
  const current = {
    ...{ lease: { crawl: 'c', token: 't', permitMs: 10, link }, grantedAt: clock.mono(), stop: { aborted: false } },
    ...{ lost: false, permitUsed: false, proxy: null, started: false, produced: false, settling: false },
  } as unknown as Visit
  const route = spider.routes.get('page')
  if (route === undefined) throw new Error('the route is there')
  let over = false
  const wanted = fetchWanted(current, parts, route, null).finally(() => {
    over = true
  })
  for (let turns = 0; !over && turns < 10_000; turns++) {
    await setImmediate()
    clock.advance(100)
  }
  expect(await wanted).toMatchObject({ page: { kind: 'page' } })
  expect(sent).toEqual([false, true])
})
