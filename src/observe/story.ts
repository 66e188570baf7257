import type { CrawlState, HostInfo, LinkInfo, LinkState } from '../frontier/frontier.js'
import type { Json } from '../url/link.js'

/** The whole story of a URL, for the terminal, for programs and for the page. */
export interface Story {
  /** As it was asked for, and as it is crawled. */
  readonly asked: string
  readonly url: string
  readonly fp: string
  readonly crawl: string
  readonly spider: string
  readonly crawlState: CrawlState
  readonly state: LinkState | 'unknown'
  /** Why it is where it is: sentences for a person, most important first. */
  readonly why: readonly string[]
  /** By which door it came in (a start URL, or found at a depth), its route and the pattern that chose it; of an unknown one why it is refused, where the spider is at hand. */
  readonly admitted: {
    readonly by: string
    readonly route: string
    readonly depth: number
    readonly priority: number
  } | null
  /** Links of its host that come first; null unless queued. */
  readonly position: number | null
  readonly host: HostInfo | null
  /** When the host's next slot is, and why then. */
  readonly nextSlot: string | null
  readonly link: LinkInfo | null
  /** Oldest first. */
  readonly attempts: readonly StoryAttempt[]
  readonly records: readonly {
    readonly kind: string
    readonly key: string
    readonly changedAt: number
    readonly data: Json
  }[]
  /** Commands or buttons that make sense now. */
  readonly can: readonly ('replay' | 'promote' | 'retry' | 'remove')[]
}

export interface StoryAttempt {
  readonly at: number
  readonly attempt: number
  readonly worker: string
  /** 0: no answer. */
  readonly status: number
  readonly ms: number
  readonly bytes: number
  /** Pool/exit; null: none. */
  readonly proxy: string | null
  /** Code and message; null: it went well. */
  readonly error: { readonly code: string; readonly message: string } | null
  /** A raw page, a picture of a rendered page are kept. */
  readonly page: boolean
}
