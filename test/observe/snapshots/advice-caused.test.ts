import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../../src/clock.js'
import { openCrawl } from '../../../src/coordinator/crawls.js'
import { seedCrawl } from '../../../src/coordinator/seeding.js'
import { silentLog } from '../../../src/log.js'
import { type Advice, adviceOf } from '../../../src/observe/snapshots/advice.js'
import { crawlSnapshotOf } from '../../../src/observe/snapshots/snapshot.js'
import { VITALS_MS, type Vitals } from '../../../src/observe/vitals/vitals.js'
import { loadPools } from '../../../src/proxy/pools.js'
import { startWorker } from '../../../src/run/workers/start-worker.js'
import { defineSpider } from '../../../src/spider/definition.js'
import { spiderFromDefinition } from '../../../src/spider/resolve.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { startProxy } from '../../support/proxy-server.js'

/** Each bottleneck is made for real, in a crawl of a second or two, and the advice must name it. Few links: a queue in memory looks at all of them. */

const cleanups: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const clean of cleanups.splice(0)) await clean()
})

async function startSite(answerMs: number): Promise<string> {
  const server = createServer((_request, response) => {
    const answer = () => response.setHeader('content-type', 'text/html').end('<h1>page</h1>')
    if (answerMs === 0) answer()
    else setTimeout(answer, answerMs)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Crawl {
  readonly slots: number
  readonly answerMs?: number
  readonly delayMs?: number
  readonly atOnce: number
  readonly handler?: () => void | Promise<void>
  readonly through?: string
  /** What of the backends is slow. */
  readonly slow?: (backends: Backends) => Partial<Backends>
  readonly ms?: number
  readonly links?: number
}

const REPORTS_MS = 250
/** So many reports are judged. */
const REPORTS = 4
const PATIENCE_MS = 10_000

/** The advice once it names the stage with this word, or the last one. */
async function adviceAfter(stage: Advice['stage'], crawl: Crawl, word = ''): Promise<Advice> {
  const origin = await startSite(crawl.answerMs ?? 0)
  const backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  cleanups.push(() => backends.close())
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'caused',
      start: Array.from({ length: crawl.links ?? 300 }, (_, nth) => `${origin}/${nth}`),
      robots: false,
      allowPrivate: ['127.0.0.1:*'],
      ...(crawl.through !== undefined && { proxy: 'default' }),
      pace: { delay: `${crawl.delayMs ?? 0}ms`, concurrency: crawl.atOnce },
      routes: { page: { match: '**', handler: crawl.handler ?? (() => {}) } },
    }),
  )
  const { crawl: id } = await openCrawl(backends, spider, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, spider, id, { clock: systemClock, signal: new AbortController().signal }).all
  const told: Vitals[] = []
  const clock = {
    ...systemClock,
    after: (ms: number, fire: () => void) => systemClock.after(ms === VITALS_MS ? REPORTS_MS : ms, fire),
  }
  const pools = crawl.through === undefined ? [] : loadPools(crawl.through, {})
  const worker = startWorker({
    ...{
      id: 'w1',
      backends: { ...backends, ...crawl.slow?.(backends) },
      spiders: [spider],
      concurrency: crawl.slots,
      clock,
      random: systemRandom,
    },
    ...{ log: silentLog, pools: new Map(pools.map((pool) => [pool.name, pool])) },
    onVitals: (vitals) => void told.push(vitals),
  })
  const advise = async (): Promise<Advice> => {
    const last = told.at(-1)
    // The first reports are of a worker that begins.
    const vitals = last === undefined ? null : { ...last, earlier: told.at(Math.max(1, told.length - REPORTS)) ?? null }
    const workers = (await backends.frontier.workers()).map((one) => ({
      ...{ ...one, vitals, reportedMs: 0, draining: false, state: 'working' as const },
    }))
    const [info] = await backends.frontier.crawls()
    if (info === undefined) throw new Error('the crawl is gone')
    return adviceOf({ ...(await crawlSnapshotOf(backends, info, workers, clock.now(), false)), workers })
  }
  try {
    await clock.sleep(crawl.ms ?? 1_300)
    // On a machine that is busy with something else the processor is what is waited for, and the advice says so: until that is over.
    const until = clock.now() + PATIENCE_MS
    for (;;) {
      const advice = await advise()
      if ((advice.stage === stage && advice.sentence.includes(word)) || clock.now() > until) return advice
      await clock.sleep(REPORTS_MS)
    }
  } finally {
    await worker.stop(0)
    await worker.ended.catch(() => {})
  }
}

/** A part of the backends of which one call takes its time. */
function slow<Part extends object>(part: Part, call: keyof Part, ms: number): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== call) return member.bind(target)
      return async (...args: unknown[]) => {
        await systemClock.sleep(ms)
        return member.apply(target, args)
      }
    },
  })
}

function burn(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

describe.concurrent('the advice names what is waited for', () => {
  it('the pace of a host', async () => {
    const advice = await adviceAfter('host_pace', { slots: 8, atOnce: 4, delayMs: 100 })
    expect(advice).toMatchObject({ stage: 'host_pace', moreWorkers: 0, host: expect.stringContaining('127.0.0.1') })
    expect(advice.sentence).toContain('one request every 100 ms')
  })

  it('answers that take their time', async () => {
    const advice = await adviceAfter('hosts', { slots: 16, atOnce: 2, answerMs: 150 })
    expect(advice).toMatchObject({ stage: 'hosts', moreWorkers: 0 })
  })

  it('too few slots', async () => {
    const advice = await adviceAfter('workers', { slots: 2, atOnce: 32, answerMs: 100 })
    expect(advice).toMatchObject({ stage: 'workers' })
    expect(advice.moreWorkers).toBeGreaterThan(5)
  })

  it('a handler that waits', async () => {
    const advice = await adviceAfter(
      'handler',
      { slots: 4, atOnce: 32, handler: () => systemClock.sleep(150) },
      'mostly waiting',
    )
    expect(advice).toMatchObject({ stage: 'handler' })
    expect(advice.sentence).toContain('mostly waiting')
  })

  it('a pool with one proxy', async () => {
    const proxy = await startProxy()
    cleanups.push(() => proxy.stop())
    const advice = await adviceAfter('proxies', { slots: 8, atOnce: 1, delayMs: 300, through: proxy.url })
    expect(advice).toMatchObject({ stage: 'proxies', moreWorkers: 0 })
  })

  it('a queue that is slow', async () => {
    const slowQueue = ({ frontier }: Backends) => ({ frontier: slow(frontier, 'lease', 300) })
    expect(await adviceAfter('queue', { slots: 8, atOnce: 32, slow: slowQueue })).toMatchObject({ stage: 'queue' })
  })
})

describe('the advice names what is worked at', () => {
  it('a handler that computes', async () => {
    const advice = await adviceAfter('handler', { slots: 8, atOnce: 32, handler: () => burn(20) }, 'of a core')
    expect(advice).toMatchObject({ stage: 'handler' })
    expect(advice.sentence).toContain('of a core')
  })

  it('a processor that is busy with something else', async () => {
    const busy = setInterval(() => burn(95), 100)
    try {
      expect(await adviceAfter('cpu', { slots: 8, atOnce: 32, links: 600 })).toMatchObject({ stage: 'cpu' })
    } finally {
      clearInterval(busy)
    }
  })

  it('a store that is slow', async () => {
    const slowStore = ({ store }: Backends) => ({ store: { ...store, records: slow(store.records, 'write', 1_500) } })
    const advice = await adviceAfter('store', { slots: 64, atOnce: 64, slow: slowStore, ms: 1_800, links: 900 })
    expect(advice).toMatchObject({ stage: 'store', moreWorkers: 0 })
  })
})
