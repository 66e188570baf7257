import type { ShoalError } from '../../errors.js'
import type { SpiderSource } from '../spider-source.js'
import type { PageFacts, TriedPage, TryOrder } from './tried-page.js'

/** The spider's code runs in a thread of its own, which can be ended even while a handler is in an endless loop. */
export interface TryThreadData {
  readonly source: SpiderSource
  readonly order: TryOrder
  /** Incremented while the event loop is alive. */
  readonly beat: SharedArrayBuffer
}

export type FromTryThread =
  /** The files that the spider consists of, also when they cannot be loaded. */
  | { readonly kind: 'files'; readonly files: readonly string[] }
  /** The spider's code may run from now on, and block the thread for this long at most; null: it is ours that runs. */
  | { readonly kind: 'limit'; readonly handlerMs: number | null }
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'facts'; readonly facts: PageFacts }
  | { readonly kind: 'tried'; readonly page: TriedPage }
  | ({ readonly kind: 'failed' } & Pick<ShoalError, 'code' | 'message' | 'hint'>)
