import type { ProxyServer } from '../proxy/proxy.js'
import type { RequestExtras } from '../url/link.js'

/**
 * One request, one response: no redirects, no retries, no queue inside. The contract of every fetcher:
 *  - Every connection passes the guard: literals, DNS responses and ports are checked, and the socket goes to the address that was checked.
 *  - The whole exchange ends by its deadline, whatever the server does; the socket is then destroyed.
 *  - The body is decoded and never larger than the limit; a response that ended early is an error, never a page.
 *  - Failures are ShoalErrors whose code says what happens next.
 */
export interface Fetcher {
  fetch(request: FetchRequest, signal: StopSignal): Promise<FetchResponse>
  close(): Promise<void>
}

/** Checked several times a second while a request is in flight. An AbortSignal works too, but costs 5 µs per page to create. */
export interface StopSignal {
  readonly aborted: boolean
  readonly reason?: unknown
}

export interface FetchRequest extends RequestExtras {
  /** Canonical URL, without userinfo. */
  readonly url: string
  readonly limits: FetchLimits
  /** 'host:port' entries that the guard allows, '*' for any port. */
  readonly allowPrivate: readonly string[]
  /**
   * The proxy to use; undefined: none. Its own failures (no connection to it, 407, a refused login) are `proxy_error`: they say nothing about the
   * page. The guard cannot see what a proxy resolves, so literals and ports of the URL are checked before the proxy is asked.
   */
  readonly proxy?: ProxyServer
  /** Render the page in a browser; undefined: use it as the server sends it. */
  readonly render?: RenderWish
  /**
   * Called immediately before the request is written, on an open connection. If it throws, nothing is sent, the connection is kept, and the fetch
   * rejects with the error: this is where an expired permit is noticed.
   */
  readonly onDispatch?: () => void
  /**
   * Receives the body as it comes over the wire, chunk by chunk and not decoded, instead of `body`, which stays empty: for files that are larger than
   * a page may be. The limit then counts bytes on the wire, and the caller that decodes them must limit the result.
   */
  readonly onBody?: (piece: Uint8Array) => void
  /** Called when the headers are there: for callers to whom the status is the answer, even if the body never ends. */
  readonly onHead?: (head: ResponseHead) => void
}

export interface ResponseHead extends Pick<FetchResponse, 'status' | 'headers'> {
  /** False: the server answered before the whole request was written, so it cannot have read it. */
  readonly isRequestWritten: boolean
}

/** How a page is rendered, and when it counts as ready. */
export interface RenderWish {
  /** A selector that must appear, a time in milliseconds, or null: until the network is quiet. */
  readonly wait: string | number | null
  /** How long to wait for the selector, or for a quiet network. */
  readonly settleMs: number
  /** Load images, fonts and media as well. */
  readonly images: boolean
  /** Whose window to use, by identity: another visitor never sees what pages leave there. Undefined: whoever sends the same cookies. */
  readonly visitor?: object
}

export interface FetchLimits {
  /** From dispatch to the last byte. */
  readonly totalMs: number
  readonly connectMs: number
  readonly headersMs: number
  readonly idleMs: number
  readonly maxHeaderBytes: number
  /** After decoding. */
  readonly maxBodyBytes: number
}

export interface FetchResponse {
  readonly url: string
  readonly status: number
  /** Lower-case names; values of repeated headers joined with ', ' (set-cookie is in `cookies`). */
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: readonly string[]
  /** Decoded. */
  readonly body: Uint8Array
  /** Bytes of the body on the wire. */
  readonly wireBytes: number
  /** From the dispatch to the arrival of the last byte, without the time for which our event loop was too busy to read it. */
  readonly ms: number
  /** Only for a rendered page. */
  readonly rendered?: Rendered
  /** Only for a response that came from the development cache (cache/response-cache.ts): `wireBytes` and `ms` are 0 then. */
  readonly cached?: Cached
}

/** What a response from the cache cost when it was fetched. */
interface Cached {
  /** When it was fetched. */
  readonly at: number
  readonly wireBytes: number
  readonly ms: number
}

/** What rendering loaded in addition to the document. */
interface Rendered {
  readonly requests: number
  readonly bytes: number
  /** A JPEG of the window; null: there is none. */
  readonly screenshot: Uint8Array | null
}
