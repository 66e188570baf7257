import type { ProxyServer } from '../proxy/proxy.js'
import type { RequestExtras } from '../url/link.js'

/**
 * One request, one answer: no redirects, no retries, no queue inside. Duties of every fetcher:
 *  - Every dial passes the guard: literals, DNS answers and ports are checked, and the socket goes to the address that was checked.
 *  - The whole exchange ends by its deadline, whatever the server does; the socket is then destroyed.
 *  - The body is decoded and never larger than the cap; an answer that ended early is an error, never a page.
 *  - Failures are ShoalErrors whose code says what happens next.
 */
export interface Fetcher {
  fetch(request: FetchRequest, signal: StopSignal): Promise<FetchResponse>
  close(): Promise<void>
}

/** Looked at several times a second while a request is under way. An AbortSignal will do, but costs 5 µs a page to make. */
export interface StopSignal {
  readonly aborted: boolean
  readonly reason?: unknown
}

export interface FetchRequest extends RequestExtras {
  /** Canonical URL, without userinfo. */
  readonly url: string
  readonly limits: FetchLimits
  /** 'host:port' entries that the guard lets through, '*' for any port. */
  readonly allowPrivate: readonly string[]
  /**
   * The proxy to go through; left out: none. Its own failures (no connection to it, 407, a refused login) are `proxy_error`: they say nothing
   * about the page. What it resolves for us the guard cannot see, so literals and ports of the URL are judged before it is asked.
   */
  readonly proxy?: ProxyServer
  /** Render the page in a browser; left out: take it as the server sends it. */
  readonly render?: RenderWish
  /**
   * Called immediately before the request is written, on a connection that stands. When it throws, nothing is sent, the connection
   * is kept, and the fetch rejects with what was thrown: the place to find that a permit has grown old.
   */
  readonly onDispatch?: () => void
  /**
   * Takes the body as it comes over the wire, piece by piece and not decoded, instead of `body`, which stays empty: for files that are larger
   * than a page may be. The cap counts bytes on the wire then, and whoever decodes them caps what they become.
   */
  readonly onBody?: (piece: Uint8Array) => void
}

/** How a page is rendered, and when it counts as ready. */
export interface RenderWish {
  /** A selector that must appear, a time in milliseconds, or null: until the network is quiet. */
  readonly wait: string | number | null
  /** The selector, and a quiet network, are waited for so long. */
  readonly settleMs: number
  /** Load images, fonts and media as well. */
  readonly images: boolean
  /** In whose window, by identity: what pages leave there, no other visitor finds. Left out: whoever sends the same cookies. */
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
  /** Lower-case names; values of repeated headers joined with ', ' (set-cookie kept apart in `cookies`). */
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: readonly string[]
  /** Decoded. */
  readonly body: Uint8Array
  /** Bytes of the body on the wire. */
  readonly wireBytes: number
  readonly ms: number
  /** Only of a page that was rendered. */
  readonly rendered?: Rendered
}

/** What rendering took beside the document itself. */
interface Rendered {
  readonly requests: number
  readonly bytes: number
  /** A JPEG of the window; null: there is none. */
  readonly screenshot: Uint8Array | null
}
