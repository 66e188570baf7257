import type { CheerioAPI } from 'cheerio'
import type { Json } from '../url/link.js'

/** A fetched page as a handler sees it. Nothing is decoded or parsed before somebody looks. */
export interface Page<Data = unknown> {
  /** Where the body came from, after redirects. */
  readonly url: string
  /** The link that was leased, before redirects. */
  readonly requestedUrl: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly route: string
  readonly depth: number
  readonly attempt: number
  /** The user data that came with the link. */
  readonly data: Data
  readonly body: Uint8Array
  /** The body as text, in the charset found by BOM, header, meta element, in the order of the WHATWG standard. */
  readonly text: string
  /** The body as JSON; a handler_error with the position when it is not. */
  readonly json: Json
  /** jQuery-like view of the HTML; the tree is built on first use. */
  readonly $: CheerioAPI
}
