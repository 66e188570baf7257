import type { FetchResponse, RenderWish } from '../fetch/fetcher.js'
import type { Busy } from '../politeness/busy.js'
import type { ProxyId } from '../proxy/proxy.js'
import type { ProxyGrant } from '../proxy/proxy-allocator.js'
import type { ProxyVerdict } from '../proxy/proxy-ledger.js'
import type { Session } from '../proxy/session.js'
import type { HostKey, RequestExtras } from '../url/link.js'
import type { Visit, VisitParts } from './visit-parts.js'
import type { Granted } from './waits.js'

export interface SiteRequest extends RequestExtras {
  readonly url: string
  /** More than one proxy decides what a refusal or a failure means for robots.txt (obey-robots.ts). */
  readonly isRobots?: true
  /** It is repeated when the answer is doubtful: the slot is kept, or a link that waits for robots.txt would take it. */
  readonly keepsSlot?: true
  readonly render?: RenderWish
  /** A request of a login: sent as this visitor and through its proxy. */
  readonly visitor?: Session
}

/** One request of a visit. */
export interface Sending {
  readonly current: Visit
  readonly parts: VisitParts
  /** Each host or group whose pace the request counts against. */
  readonly keys: readonly [HostKey, ...HostKey[]]
  readonly request: SiteRequest
}

/** Permission to send one request to a host. */
export interface HostPermit extends Granted {
  readonly host: HostKey
}

/** A proxy lent to one request. */
export interface Lent {
  readonly grant: ProxyGrant
  readonly granted: Granted
  /** Only the first end counts. Null: nothing was sent. */
  end(how: { readonly verdict: ProxyVerdict; readonly elapsedMs: number; readonly bytes: number } | null): void
}

/** What an attempt to send the request holds so far. Each layer adds its part and passes it on. */
export interface Held {
  readonly permits: readonly HostPermit[]
  readonly lent: Lent | null
  readonly visitor: Session | null
  /** The only proxy it may go through. */
  readonly stay: ProxyId | undefined
}

/**
 * A result, not an error: this attempt got no answer, and the next one may start with what is still held.
 *   stale    the permit or the proxy's grant expired while the connection was opened: nothing was sent
 *   login    the visitor has logged in, and gave up everything else for it
 *   broken   the proxy does not work: nothing reached the host
 *   closed   the server closed a kept-alive connection before it answered a byte
 */
export class Again {
  readonly why: 'stale' | 'login' | 'broken' | 'closed'
  readonly held: Held
  /** Thrown when there is no further attempt. */
  readonly error: unknown

  constructor(why: Again['why'], held: Held, error: unknown = null) {
    this.why = why
    this.held = held
    this.error = error
  }
}

export type Answer = FetchResponse | Busy | Again

/** One concern of sending a request, wrapped around the next one. Failures of the site or of our backends are thrown. */
export type Layer = (sending: Sending, held: Held) => Promise<Answer>

/** The state in which the first attempt starts, and one that has nothing left of the attempt before. */
export function nothingHeld({ current, request }: Pick<Sending, 'current' | 'request'>): Held {
  return { permits: [], lent: null, visitor: null, stay: request.visitor?.proxy ?? current.stay }
}
