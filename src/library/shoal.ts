import type { Frontier } from '../frontier/frontier.js'
import type { LogLevel } from '../log.js'
import type { RecordDefinitions, TaggedDefinition } from '../spider/definition.js'
import type { RecordStore } from '../store/record-store.js'
import type { Duration } from '../units.js'
import type { Crawl } from './crawl.js'

/** The keys of docs/configuration.md that mean something in a program. */
export interface ConnectOptions {
  /** `sqlite:<file>`, `redis://…` or `memory:`. Default `sqlite:.shoal/shoal.db`. */
  readonly queue?: string
  /** Default: the same place as the queue, or `sqlite:.shoal/shoal.db` when the queue is on a server. */
  readonly store?: string
  /** Where raw pages lie: `files:<folder>` or `s3://…`. Default: the folder `pages` beside the records, or `.shoal/pages`. */
  readonly pages?: string
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
   * Resumes the unfinished crawl of this spider (a paused one runs again) or opens a new one, and adds the spider's start URLs and seeds; those
   * that find no room, or must be fetched first, are added while workers run. The spider is what `defineSpider` made, or the path of a
   * spider file. A new crawl stays open until somebody says that nothing more will be added:
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
