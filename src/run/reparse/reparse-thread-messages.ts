import type { ErrorCode } from '../../errors.js'
import type { LogLevel } from '../../log.js'
import type { KeptPage } from '../../store/kept-pages.js'
import type { StorePort } from '../../wire/backends.js'
import type { SpiderSource } from '../spider-source.js'
import type { ReparseReport } from './reparse-report.js'

/** Handlers run in threads of their own: one on each core, and one that never ends can be ended from outside. */
export interface ReparseThreadData {
  readonly source: SpiderSource
  readonly results: StorePort
  readonly dryRun: boolean
  readonly startedAt: number
  readonly logLevel: LogLevel
  /** BEAT_SLOTS numbers: what the thread does, and whether it is to go on. */
  readonly beat: SharedArrayBuffer
}

/** Counted up when a handler begins and when it ends. */
export const HANDLER_MOVES = 0
export const HANDLER_JOB = 1
/** Which page of the job, or NO_PAGE. */
export const HANDLER_PAGE = 2
export const NO_PAGE = -1
/** 1 when no further page is to be begun. */
export const DRAINING = 3
export const BEAT_SLOTS = 4

/** Some pages for a thread. */
export interface ReparseJob {
  readonly id: number
  readonly pages: readonly KeptPage[]
}

export type ToReparseThread = { readonly kind: 'job'; readonly job: ReparseJob } | { readonly kind: 'stop' }

/** What whoever hands out pages must know of the spider, which is loaded in the threads alone. */
export interface LoadedSpider {
  readonly name: string
  readonly savePages: boolean
  /** The longest deadline of its handlers. */
  readonly handlerMs: number
}

export type FromReparseThread =
  | { readonly kind: 'ready'; readonly spider: LoadedSpider }
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'report'; readonly job: number; readonly report: ReparseReport }
  /** Thrown where nobody waited for it: by what a handler had begun and not awaited. */
  | { readonly kind: 'stray'; readonly message: string }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string; readonly hint: string }
  | { readonly kind: 'stopped' }
