import { resolve } from 'node:path'
import { systemClock, systemRandom } from '../clock.js'
import { loadConfig } from '../config.js'
import { openCrawl } from '../coordinator/crawls.js'
import { ShoalError } from '../errors.js'
import type { Frontier } from '../frontier/frontier.js'
import { createLog, type LogLevel } from '../log.js'
import type { RecordDefinitions, TaggedDefinition } from '../spider/definition.js'
import { loadSpider } from '../spider/load.js'
import { spiderFromDefinition } from '../spider/resolve.js'
import type { RecordStore } from '../store/record-store.js'
import type { Duration } from '../units.js'
import { openPlant } from '../wire.js'
import { type Crawl, crawlHandle } from './crawl.js'

/** The keys of docs/configuration.md that mean something in a program. */
export interface ConnectOptions {
  /** `sqlite:<file>` or `memory:`. Default `sqlite:.shoal/shoal.db`. */
  readonly queue?: string
  /** Default: the same place as the queue. */
  readonly store?: string
  /** Pages that one `runWorkers` visits at once. Default 64. */
  readonly concurrency?: number
  /** How long workers that are stopped may finish what they have in hand. Default 10 s. */
  readonly grace?: Duration
  /** Log lines go to standard error. Default `warn`. */
  readonly logLevel?: LogLevel
}

export interface Shoal {
  /** Everything the queue can tell and do: hosts, workers, dead letters. */
  readonly frontier: Frontier
  /** Every record, of this crawl and of others. */
  readonly store: RecordStore
  /**
   * Resumes the unfinished crawl of this spider (a paused one runs again) or opens a new one, and adds the spider's start URLs. The spider
   * is what `defineSpider` made, or the path of a spider file. A new crawl stays open until somebody says that nothing more will be added:
   * see `Crawl.seal`.
   */
  crawl<Kinds extends RecordDefinitions = RecordDefinitions, Data = Readonly<Record<string, unknown>>>(
    spider: TaggedDefinition<Kinds, Data> | string,
    options?: CrawlOptions,
  ): Promise<Crawl<Kinds, Data>>
  /** Stops the workers of this program within the grace time, ends its subscriptions and waits, closes the database. */
  close(): Promise<void>
}

export interface CrawlOptions {
  /** Cancel an unfinished crawl of this spider and start anew. */
  readonly fresh?: boolean
  /** False: leave the spider's start URLs out, visit only what the program adds. */
  readonly start?: boolean
}

export async function openShoal(options: ConnectOptions): Promise<Shoal> {
  const settings = loadConfig({ flags: { ...options }, env: process.env })
  const clock = systemClock
  const random = systemRandom
  const log = createLog(settings.logLevel, clock, (line) => process.stderr.write(line))
  const plant = await openPlant(settings, clock)
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const { frontier, store } = plant
  let closed: Promise<void> | null = null

  return {
    frontier,
    store,

    async crawl<Kinds extends RecordDefinitions, Data>(
      given: TaggedDefinition<Kinds, Data> | string,
      { fresh = false, start = true }: CrawlOptions = {},
    ) {
      if (closing.signal.aborted) throw new ShoalError('closed', 'this connection was closed')
      const spider =
        typeof given === 'string' ? await loadSpider(resolve(given)) : spiderFromDefinition(given as TaggedDefinition)
      const { crawl: id } = await openCrawl(plant, spider, { fresh, clock, random })
      const { concurrency, graceMs } = settings
      const parts = { id, spider, plant, clock, random, log, concurrency, graceMs, closing: closing.signal, running }
      const crawl = crawlHandle<Kinds, Data>(parts)
      if (start) await crawl.add(spider.start)
      return crawl
    },

    close() {
      closing.abort()
      closed ??= Promise.allSettled(running).then(() => plant.close())
      return closed
    },
  }
}
