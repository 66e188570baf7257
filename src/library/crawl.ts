import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ErrorCode } from '../errors.js'
import type { CrawlId, CrawlStats } from '../frontier/frontier.js'
import type { FollowOptions, RecordDefinitions } from '../spider/definition.js'
import type { StoredRecord } from '../store/record-store.js'
import type { Duration } from '../units.js'
import type { Json } from '../url/link.js'

/**
 * One crawl, as a program holds it. Other processes may work on it at the same time: `shoal status` shows it, `shoal run` helps it along
 * when the spider is a file.
 */
export interface Crawl<Kinds extends RecordDefinitions = RecordDefinitions, Data = Readonly<Record<string, unknown>>> {
  readonly id: CrawlId
  /**
   * Queues URLs that are not known yet, through the same door as found links. An iterable is read as it comes, a thousand URLs at a time. A
   * crawl that has finished runs again; one that was cancelled refuses with `crawl_ended`.
   */
  add(urls: string | Iterable<string> | AsyncIterable<string>, options?: FollowOptions<Data>): Promise<Added>
  stats(): Promise<CrawlStats>
  /**
   * The records that the visit of a URL gave: waits until it was visited, as long as that takes or for `timeout`. Rejects with a
   * ShoalError: the code of the failure when the page is dead or skipped, `wait_timeout`, `not_found` when the URL was never added,
   * `crawl_ended` when the crawl ended without visiting it. It is up to a second late, and an idle worker finds new URLs up to a second late.
   */
  result(url: string, options?: { readonly timeout?: Duration }): Promise<RecordOf<Kinds>[]>
  /**
   * The records this crawl has written, from its beginning, then new ones and changed ones as they are written, about half a second
   * late. A page that gives the same record as before writes nothing. Ends when the crawl has ended, or `break` ends it. One that
   * changes twice in a moment may come once, with its newest content. None is missed but those that a later crawl of the spider writes or
   * confirms before this subscription has read them: a record has one crawl, the last that gave it.
   */
  subscribe(): AsyncIterable<RecordOf<Kinds>>
  /** Nothing more will be added: from now on the crawl finishes when its last page is done. */
  seal(): Promise<void>
  /** Visits pages on the event loop of this program, because a spider made in a program cannot be sent to another thread. */
  runWorkers(options?: RunWorkersOptions): Promise<CrawlStats>
  /** No page is handed out until `resume`; what is in hand is finished. */
  pause(): Promise<void>
  resume(): Promise<void>
  cancel(): Promise<void>
}

export interface RunWorkersOptions {
  /** Pages visited at once. */
  readonly concurrency?: number
  /** Stops the workers: they finish what they have in hand within the grace time and hand back the rest. */
  readonly signal?: AbortSignal
  /**
   * `finished` (default): all has been added; seals the crawl and resolves when it has finished or was cancelled. `stopped`: the program
   * goes on adding; resolves when the signal aborts, when the crawl was cancelled, or, after `seal()`, when it has finished.
   */
  readonly until?: 'finished' | 'stopped'
}

export interface Added {
  readonly added: number
  readonly known: number
  /** Not let in: out of scope, no route, not a URL … */
  readonly refused: readonly { readonly url: string; readonly code: ErrorCode; readonly message: string }[]
  /** Left out because the queue is full (maxPending) or a budget is used up; they may be added again later. */
  readonly overLimit: number
}

/** A stored record, with its data as the schema of its kind gives it. */
export type RecordOf<Kinds extends RecordDefinitions> = string extends keyof Kinds
  ? StoredRecord
  : {
      [Kind in keyof Kinds & string]: Omit<StoredRecord, 'kind' | 'data'> & {
        readonly kind: Kind
        readonly data: OutputOf<Kinds[Kind]>
      }
    }[keyof Kinds & string]

type OutputOf<Definition> = Definition extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Definition>
  : Definition extends { readonly schema: infer Schema extends StandardSchemaV1 }
    ? StandardSchemaV1.InferOutput<Schema>
    : Json
