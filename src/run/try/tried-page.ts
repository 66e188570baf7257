import type { ProcessSettings } from '../../config.js'
import type { ErrorCode, ShoalError } from '../../errors.js'
import type { NamedCount } from '../../frontier/counts.js'
import type { HarvestedRecord } from '../../spider/spider.js'
import type { Json } from '../../url/link.js'
import type { Examination } from '../../workbench/examine.js'

/** What `shoal try` is asked to do, in a form that can be sent to a thread. */
export interface TryOrder {
  readonly url: string
  /** Null: the first route that matches. */
  readonly route: string | null
  /** The data of the link; left out: none. */
  readonly data?: Json
  /** A page that is at hand: nothing is requested. */
  readonly given: GivenBody | null
  /** Render the page, whatever its route says. */
  readonly rendered: boolean
  /** Fetch the page even if the cache has it. */
  readonly fresh: boolean
  /** Keep the page and what became of it as a fixture. */
  readonly save: { readonly file: string; readonly force: boolean } | null
  readonly settings: Pick<ProcessSettings, 'proxies' | 'pool' | 'country' | 'browser' | 'cache'>
}

interface GivenBody {
  readonly file: string
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly status: number
}

/** The page, before the spider's code has seen it. */
export interface PageFacts {
  readonly url: string
  /** After redirects. */
  readonly finalUrl: string
  /** What led there, in order. */
  readonly redirects: readonly { readonly url: string; readonly status: number }[]
  readonly status: number
  /** From the request to the last byte; 0 if nothing was requested. */
  readonly ms: number
  /** On the wire; 0 if nothing was requested. */
  readonly bytes: number
  /** Of the body, decoded. */
  readonly size: number
  readonly contentType: string
  readonly source: PageSource
  readonly route: string
  /** The pattern of the route that matches the URL; null: the route was given with --route. */
  readonly pattern: string | null
  /** Why the page was rendered; null: it was not. */
  readonly rendered: string | null
  /** The route's rules on this page. */
  readonly rules: Examination
  /** The route has a handler, which may look for anything. */
  readonly handler: boolean
  /** The page says that scripts must build it; null: it does not. */
  readonly needsBrowser: string | null
  readonly timings: Timings
}

export type PageSource =
  | { readonly kind: 'network'; readonly proxy: string | null }
  | { readonly kind: 'cache'; readonly ageMs: number }
  | { readonly kind: 'file'; readonly file: string }

/** Milliseconds; what did not happen is left out. */
export interface Timings {
  /** robots.txt, including the wait for the pace of its host. */
  readonly robots?: number
  /** Waiting for a proxy. */
  readonly proxy?: number
  /** From the request to the last byte, all redirects together. */
  readonly response?: number
  readonly render?: number
  readonly handler?: number
}

/** What became of the page, with nothing stored and nothing queued. */
export interface TriedPage extends PageFacts {
  readonly records: readonly HarvestedRecord[]
  readonly rejected: readonly TriedRejection[]
  readonly links: readonly { readonly url: string; readonly route: string; readonly priority: number }[]
  readonly refused: readonly { readonly href: string; readonly code: ErrorCode; readonly message: string }[]
  /** What the spider's code logged and printed. */
  readonly logs: readonly string[]
  readonly counts: readonly NamedCount[]
  /** The files that were written. */
  readonly saved: readonly string[]
  /** Why a crawl would not get this far with the page; null: it would. */
  readonly failure: TryFailure | null
}

export interface TriedRejection extends HarvestedRecord {
  /** `value`: what the record has there; left out where it has nothing. */
  readonly issues: readonly { readonly field: string; readonly message: string; readonly value?: Json }[]
}

export type TryFailure = Pick<ShoalError, 'code' | 'message' | 'hint'>

export function failureOf({ code, message, hint }: ShoalError): TryFailure {
  return { code, message, hint }
}

/** A page whose handler did not end, or was never started. */
export function unhandled(facts: PageFacts, failure: TryFailure, logs: readonly string[]): TriedPage {
  return { ...facts, records: [], rejected: [], links: [], refused: [], logs, counts: [], saved: [], failure }
}
