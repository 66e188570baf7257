import type { CrawlId, CrawlInfo, CrawlState, CrawlStats, HostInfo } from '../frontier/frontier.js'
import type { LogLevel } from '../log.js'

/** Where a spider comes from, in a form that can be handed to a thread or another process. */
export type SpiderSource =
  | { readonly kind: 'file'; readonly path: string }
  /** `shoal crawl`: a spider made from flags; the options of spider/crawl-definition.ts. */
  | { readonly kind: 'crawl'; readonly options: unknown }
  | { readonly kind: 'demo'; readonly origin: string }

export interface RunOptions {
  readonly source: SpiderSource
  /** Engine addresses: `sqlite:<file>` or `memory:`. */
  readonly queue: string
  readonly store: string
  /** Worker processes. One worker runs inside this process. */
  readonly workers: number
  /** Visits at once per worker. */
  readonly concurrency: number
  /** Start anew instead of resuming an unfinished crawl of this spider. */
  readonly fresh: boolean
  readonly logLevel: LogLevel
  /** How long a drain may take before the rest is handed back. */
  readonly graceMs: number
  /** Aborted by the first Ctrl-C or SIGTERM: drain. */
  readonly drain: AbortSignal
  readonly onStart?: (start: RunStart) => void
  /** About four times a second while the crawl runs. */
  readonly onProgress?: (progress: RunProgress) => void
}

export interface RunStart {
  readonly crawl: CrawlId
  readonly spider: string
  readonly resumed: boolean
  /** The unfinished crawl that --fresh cancelled. */
  readonly setAside: CrawlInfo | null
  readonly spiderChanged: boolean
  readonly seeds: { readonly added: number; readonly known: number }
}

export interface RunProgress {
  readonly stats: CrawlStats
  /** The hosts with most work left, at most 100: enough for an ETA. */
  readonly hosts: readonly HostInfo[]
  readonly records: number
  readonly rejected: number
  readonly workersAlive: number
}

export interface RunSummary {
  readonly crawl: CrawlId
  readonly state: CrawlState
  readonly endedBy: CrawlInfo['endedBy']
  readonly pages: number
  readonly records: number
  readonly rejected: number
  readonly failed: number
  readonly dead: number
  readonly retried: number
  readonly skipped: number
  readonly seconds: number
  /** True when the drain signal ended it before the crawl did. */
  readonly interrupted: boolean
}

/** Opens or resumes the crawl, seeds it, runs the workers until it is finished or drained. */
export declare function runCrawl(options: RunOptions): Promise<RunSummary>
