import type { Frontier } from '../frontier/frontier.js'
import type { LogLevel } from '../log.js'
import type { RecordDefinitions, TaggedBuilder, TaggedDefinition } from '../spider/definition.js'
import type { RecordStore } from '../store/record-store.js'
import type { Duration } from '../units.js'
import type { Crawl } from './crawl.js'

/** The keys of docs/configuration.md that apply to programs. */
export interface ConnectOptions {
  /** `sqlite:<file>`, `redis://…` or `memory:`. Default `sqlite:.shoal/shoal.db`. */
  readonly queue?: string
  /** Default: the same place as the queue, or `sqlite:.shoal/shoal.db` when the queue is on a server. */
  readonly store?: string
  /** Address of the raw pages: `files:<folder>` or `s3://…`. Default: the folder `pages` next to the records, or `.shoal/pages`. */
  readonly pages?: string
  /** Maximum number of pages that one `runWorkers` visits at once. Default `auto`: at most 64. */
  readonly concurrency?: number | 'auto'
  /** How long stopped workers may take to finish pages in flight. Default 10 s. */
  readonly grace?: Duration
  /** How long a worker may be silent before the rest of the fleet takes over its pages. Default 10 s. */
  readonly lostAfter?: Duration
  /** Log lines go to standard error. Default `warn`. */
  readonly logLevel?: LogLevel
}

export interface Shoal {
  /** The queue itself: hosts, workers, dead letters. */
  readonly frontier: Frontier
  /** All records, of this crawl and of others. */
  readonly store: RecordStore
  /**
   * Resumes the unfinished crawl of this spider with these arguments (a paused one runs again) or opens a new one, and adds the spider's start URLs; those
   * that do not fit, or must be fetched first, are added while workers run. The spider is the result of `defineSpider`, or the path of a
   * spider file. A new crawl stays open until it is sealed: see `Crawl.seal`.
   */
  crawl<Kinds extends RecordDefinitions = RecordDefinitions, Data = Readonly<Record<string, unknown>>, Args = unknown>(
    spider: TaggedDefinition<Kinds, Data> | TaggedBuilder<Kinds, Data, Args> | string,
    options?: CrawlOptions<Args>,
  ): Promise<Crawl<Kinds, Data>>
  /** Stops the workers of this program within the grace period, ends its subscriptions and pending results, and closes the backends. */
  close(): Promise<void>
}

export interface CrawlOptions<Args = unknown> {
  /** For a spider with arguments: an object of JSON values that its schema accepts. They are stored with the crawl. */
  readonly args?: Args
  /** Cancel an unfinished crawl of this spider and start over. */
  readonly fresh?: boolean
  /** False: skip the spider's start URLs, and visit only what the program adds. */
  readonly start?: boolean
}
