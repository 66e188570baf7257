import type { ErrorCode } from '../../errors.js'
import type { LogLevel } from '../../log.js'
import type { KeptPage } from '../../store/kept-pages.js'
import type { StorePort } from '../../wire/backends.js'
import type { SpiderSource } from '../spider-source.js'
import type { ReparseReport } from './reparse-report.js'

/** Handlers run in their own threads: one per core, and a handler that never ends can be terminated. */
export interface ReparseThreadData {
  readonly source: SpiderSource
  readonly results: StorePort
  readonly dryRun: boolean
  readonly startedAt: number
  readonly logLevel: LogLevel
  /** No other thread was started before it. */
  readonly isFirst: boolean
  /** BEAT_SLOTS numbers: what the thread is doing, and whether it should continue. */
  readonly beat: SharedArrayBuffer
}

/** Incremented when a handler starts and when it ends. */
export const HANDLER_MOVES = 0
export const HANDLER_JOB = 1
/** Which page of the job, or NO_PAGE. */
export const HANDLER_PAGE = 2
export const NO_PAGE = -1
/** 1 when no further page should be started. */
export const DRAINING = 3
export const BEAT_SLOTS = 4

/** Some pages for a thread. */
export interface ReparseJob {
  readonly id: number
  readonly pages: readonly KeptPage[]
}

export type ToReparseThread = { readonly kind: 'job'; readonly job: ReparseJob } | { readonly kind: 'stop' }

/** What the main thread must know about the spider, which is loaded in the threads only. */
export interface LoadedSpider {
  readonly name: string
  readonly savePages: boolean
  /** The longest timeout of its handlers. */
  readonly handlerMs: number
}

export type FromReparseThread =
  | { readonly kind: 'ready'; readonly spider: LoadedSpider }
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'report'; readonly job: number; readonly report: ReparseReport }
  /** Thrown by work that a handler started but did not await. */
  | { readonly kind: 'stray'; readonly message: string }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string; readonly hint: string }
  | { readonly kind: 'stopped' }
