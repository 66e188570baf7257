import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { asShoalError, ERRORS, type ErrorCode } from '../../src/errors.js'
import type { Lookup } from '../../src/fetch/guard.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'
import type { LinkInfo } from '../../src/frontier/frontier.js'
import { silentLog } from '../../src/log.js'
import { seedOptions } from '../../src/run/seeds/seed-options.js'
import { type RunningWorker, startWorker } from '../../src/run/workers/start-worker.js'
import { defineSpider, type SpiderDefinition } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { StoredRecord } from '../../src/store/record-store.js'
import { openBackends } from '../../src/wire/backends.js'
import { type BadServer, startBadServer } from '../support/bad-server.js'
import { misbehave } from './site.js'

/** What a case works with: servers that misbehave, and a crawl by the real worker. */
export interface Bench {
  /** On the allow list of every crawl. */
  readonly site: BadServer
  /** On no allow list: nobody may ever connect to it. */
  readonly tripwire: BadServer
  crawl(start: string, more?: CrawlOptions): Promise<Ended>
  /** What became of one page: 'page', or the code and what it leads to. */
  visit(start: string, more?: CrawlOptions): Promise<string>
}

export interface CrawlOptions {
  readonly definition?: Partial<SpiderDefinition>
  readonly lookup?: Lookup
}

export interface Ended {
  /** Of the start URL, or of the seeding when that failed. */
  readonly outcome: string
  readonly links: readonly LinkInfo[]
  readonly records: readonly StoredRecord[]
}

const PATIENCE_MS = 20_000

export async function openBench(): Promise<Bench & { close(): Promise<void> }> {
  const site = await startBadServer({ otherwise: misbehave })
  const tripwire = await startBadServer()
  const crawl: Bench['crawl'] = (start, more) => crawlOn(site.port, start, more)
  return {
    site,
    tripwire,
    crawl,
    visit: async (start, more) => (await crawl(start, more)).outcome,
    async close() {
      await site.close()
      await tripwire.close()
    },
  }
}

/** One crawl in memory by one worker, from its seeds to its end. Failures are final: retries are for other tests. */
export async function crawlOn(
  port: number,
  start: string,
  { definition = {}, lookup }: CrawlOptions = {},
): Promise<Ended> {
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'corpus',
      ...(start === '' ? {} : { start: [start] }),
      scope: { hosts: ['*'] },
      allowPrivate: [`127.0.0.1:${port}`],
      pace: { delay: 0, concurrency: 1 },
      robots: false,
      retries: { max: 0 },
      records: { thing: {} },
      routes: { page: { match: '**' } },
      ...definition,
    }),
  )
  const backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  const clock = systemClock
  const random = systemRandom
  const pools = new Map()
  const stop = new AbortController()
  let worker: RunningWorker | null = null
  try {
    const { crawl } = await openCrawl(backends, spider, { fresh: false, clock, random })
    const parts = { backends, spider, crawl, pools, clock, random, log: silentLog, signal: stop.signal }
    await seedCrawl(backends, spider, crawl, { clock, signal: stop.signal, ...seedOptions(undefined, parts) }).all
    // Only now: a worker that finds nothing rests for a second.
    worker = startWorker({
      ...{ id: 'corpus', backends, spiders: [spider], pools, concurrency: 4, clock, random, log: silentLog },
      // HTTP/2 also where Node is too old for it by default.
      spooling: () => createHttpFetcher({ clock, http2: true, ...(lookup && { lookup }) }),
    })
    const giveUpAt = clock.mono() + PATIENCE_MS
    while ((await backends.frontier.stats(crawl)).state !== 'finished') {
      if (clock.mono() > giveUpAt) throw new Error('the crawl did not end')
      await clock.sleep(5)
    }
    const links = await backends.frontier.links({ crawl, limit: 1_000 })
    const records: StoredRecord[] = []
    for await (const record of backends.store.records.scan({})) records.push(record)
    const first = links.find(({ depth }) => depth === 0)
    return { outcome: first === undefined ? 'nothing' : outcomeOf(first), links, records }
  } catch (error) {
    const { code } = asShoalError(error)
    if (code === 'internal') throw error
    return { outcome: withNext(code), links: [], records: [] }
  } finally {
    stop.abort()
    await worker?.stop(100)
    await worker?.ended
    await backends.close()
  }
}

function outcomeOf({ state, failures }: LinkInfo): string {
  if (state === 'done') return 'page'
  const last = failures.at(-1)
  return last === undefined ? state : withNext(last.code)
}

const withNext = (code: ErrorCode): string => `${code} → ${ERRORS[code].next}`
