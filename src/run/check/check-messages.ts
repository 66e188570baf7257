import type { CrawlArgs } from '../../frontier/frontier.js'
import type { CheckError, CheckedFixture, CheckedSpider } from './check-report.js'

export interface CheckThreadData {
  /** Of the spider. */
  readonly file: string
  readonly args: CrawlArgs
  readonly update: boolean
  /** Pages that an earlier thread has dealt with. */
  readonly done: readonly string[]
}

export type FromCheckThread =
  | { readonly kind: 'loaded'; readonly spider: CheckedSpider }
  | { readonly kind: 'failed'; readonly error: CheckError }
  /** The spider's code is about to run; it has this long. */
  | { readonly kind: 'started'; readonly file: string; readonly ms: number }
  | { readonly kind: 'ended'; readonly file: string; readonly fixture: CheckedFixture | null }
  | { readonly kind: 'finished' }
