import type { ErrorCode } from '../errors.js'
import type { HarvestedRecord, Spider } from '../spider/spider.js'

/** What one page gives, with nothing stored and nothing queued. */
export interface TriedPage {
  readonly url: string
  /** After redirects. */
  readonly finalUrl: string
  readonly status: number
  readonly ms: number
  readonly bytes: number
  readonly route: string
  readonly records: readonly HarvestedRecord[]
  readonly rejected: readonly (HarvestedRecord & {
    readonly issues: readonly { readonly field: string; readonly message: string }[]
  })[]
  readonly links: readonly { readonly url: string; readonly route: string; readonly priority: number }[]
  readonly refused: readonly { readonly href: string; readonly code: ErrorCode; readonly message: string }[]
}

/** One page through the same door, guard and robots.txt as in a crawl. */
export declare function tryPage(spider: Spider, url: string): Promise<TriedPage>
