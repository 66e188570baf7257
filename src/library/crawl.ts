import type { ErrorCode } from '../errors.js'
import type { CrawlId, CrawlStats } from '../frontier/frontier.js'
import type { FollowOptions, OutputOf, RecordDefinitions } from '../spider/definition.js'
import type { StoredRecord } from '../store/record-store.js'
import type { Duration } from '../units.js'

/**
 * A handle on one crawl. Other processes may work on it at the same time: `shoal status` shows it, and `shoal run` adds workers if the spider is
 * a file.
 */
export interface Crawl<Kinds extends RecordDefinitions = RecordDefinitions, Data = Readonly<Record<string, unknown>>> {
  readonly id: CrawlId
  /**
   * Queues URLs that are not known yet, with the same filters as discovered links. An iterable is read as it comes, a thousand URLs at a time. A
   * finished crawl runs again; a cancelled one rejects with `crawl_ended`.
   */
  add(urls: string | Iterable<string> | AsyncIterable<string>, options?: FollowOptions<Data>): Promise<Added>
  stats(): Promise<CrawlStats>
  /**
   * The records of a URL: waits until the page was visited, however long that takes, or for `timeout`. Rejects with a
   * ShoalError: the code of the failure when the page is dead or skipped, `wait_timeout`, `not_found` when the URL was never added,
   * `crawl_ended` when the crawl ended without visiting it. The result can be up to a second late, and an idle worker picks up new URLs within a second.
   */
  result(url: string, options?: { readonly timeout?: Duration }): Promise<RecordOf<Kinds>[]>
  /**
   * The records of this crawl from its beginning, then new and changed ones about half a second after they are written. A page that produces the same record as
   * before writes nothing. Ends when the crawl has ended, or with `break`. A record that changes twice in quick succession may arrive once, with its newest
   * content. No record is missed, except those that a later crawl of the spider writes or confirms before this subscription has read them: a record
   * belongs to one crawl, the last that produced it.
   */
  subscribe(): AsyncIterable<RecordOf<Kinds>>
  /** Declares that nothing more will be added: from now on the crawl finishes when its last page is done. */
  seal(): Promise<void>
  /** Visits pages on the event loop of this program, because a spider defined in a program cannot be sent to another thread. */
  runWorkers(options?: RunWorkersOptions): Promise<CrawlStats>
  /** No page is leased until `resume`; pages in flight are finished. */
  pause(): Promise<void>
  resume(): Promise<void>
  cancel(): Promise<void>
}

export interface RunWorkersOptions {
  /** Maximum number of pages visited at once: as many as CPU and memory can take. `auto`: at most 64. */
  readonly concurrency?: number | 'auto'
  /** Stops the workers: they finish what is in flight within the grace period and return the rest to the queue. */
  readonly signal?: AbortSignal
  /**
   * `finished` (default): everything has been added; seals the crawl and resolves when it has finished or was cancelled. `stopped`: the program keeps
   * adding; resolves when the signal is aborted, when the crawl was cancelled or, after `seal()`, when it has finished.
   */
  readonly until?: 'finished' | 'stopped'
}

export interface Added {
  readonly added: number
  readonly known: number
  /** Rejected: out of scope, no route, not a URL … */
  readonly refused: readonly { readonly url: string; readonly code: ErrorCode; readonly message: string }[]
  /** Dropped because the queue is full (maxPending) or a budget is used up; they can be added again later. */
  readonly overLimit: number
}

/** A stored record, with its data typed by the schema of its kind. */
export type RecordOf<Kinds extends RecordDefinitions> = string extends keyof Kinds
  ? StoredRecord
  : {
      [Kind in keyof Kinds & string]: Omit<StoredRecord, 'kind' | 'data'> & {
        readonly kind: Kind
        readonly data: OutputOf<Kinds[Kind]>
      }
    }[keyof Kinds & string]
