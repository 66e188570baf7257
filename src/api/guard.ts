import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import { isLoopback } from './listen.js'
import { createRateLimit } from './rate-limit.js'
import { tokenCheck } from './token.js'

/** Wrong tokens allowed per address and minute; after that, wrong tokens are rejected unchecked until the minute is over. */
const WRONG_TOKENS = 20
const WRONG_WINDOW_MS = 60_000
/** The dashboard makes two calls per second. */
const CALLS = 2_000
const CALLS_WINDOW_MS = 10_000

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT'])
const LOOPBACK_NAMES: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

export interface GuardOptions {
  readonly token: string
  readonly clock: Clock
  /** As it listens. */
  readonly host: string
  readonly port: number
  /** The origin of a reverse proxy in front; null: none. */
  readonly publicOrigin: string | null
  /** Further names, with any port. */
  readonly allowHosts: readonly string[]
  /** The page's own files, which contain no data: the browser has no token before it has loaded them. */
  readonly isPage: (path: string) => boolean
}

/**
 * Checks every request first. A page of another site must not reach the API through the browser of someone who
 * can: its name in `Host` (DNS rebinding), its `Origin`, or what the browser reports (`Sec-Fetch-Site`) shows it.
 *
 * Three kinds of requests have separate rate limits: those with the right token, those that need none, and rejected ones. A foreign page, or a
 * program with an old token, may have the owner's own address: whatever it sends, requests with the right token still work.
 */
export function createGuard({ token, clock, host, port, publicOrigin, allowHosts, isPage }: GuardOptions) {
  const isRight = tokenCheck(token)
  const wrong = createRateLimit(clock, WRONG_TOKENS, WRONG_WINDOW_MS)
  const limitOf = () => createRateLimit(clock, CALLS, CALLS_WINDOW_MS)
  const limits = { token: limitOf(), open: limitOf(), refused: limitOf() }
  const allowed = new Set(allowHosts)
  const isAllowed = (name: string) => allowed.has(name.replace(/:\d+$/, ''))
  const isOurs = hostCheck(host, port, publicOrigin)
  const ours = (name: string) => isOurs(name) || isAllowed(name)
  // A kubelet or load balancer sends whatever address it knows. On loopback there are none, and a rebound name would be a page of another site.
  const isProbe = (path: string) => PROBES.has(path) && !isLoopback(host)

  const judge = ({ headers, headersDistinct, method = '' }: IncomingMessage, path: string, from: string) => {
    if (!METHODS.has(method)) throw refused(`the method ${method.slice(0, 20)} is not served`)
    if ((headersDistinct.host?.length ?? 0) > 1) throw new ShoalError('bad_request', 'more than one Host header')
    const name = headers.host?.toLowerCase()
    if (isProbe(path)) return 'open'
    if (name === undefined || !ours(name)) throw refused('the Host header names another server')
    const { origin } = headers
    if (origin !== undefined && origin !== publicOrigin && !originsOf(name, isAllowed(name)).includes(origin))
      throw refused('the request comes from a page of another origin')
    if (isPage(path) || PUBLIC.has(path)) return 'open'
    const site = headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw refused('the request comes from a page of another site')
    const given = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(headers.authorization ?? '')?.[1]
    if (given === undefined) throw new ShoalError('token_refused', 'no token')
    if (!isRight(given)) {
      if (!wrong.count(from))
        throw tooMany(
          'too many wrong tokens',
          'Open the address that the command printed: the right token is still accepted.',
        )
      throw new ShoalError('token_refused', 'wrong token')
    }
    const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(path)?.[1]
    if (authority !== undefined && !ours(authority.toLowerCase()))
      throw refused('the request is for a server of another name')
    return 'token'
  }

  /** Whether the request has the token or needs none. Throws if it is rejected. */
  return (request: IncomingMessage, path: string): 'token' | 'open' => {
    const from = request.socket.remoteAddress ?? ''
    let kind: 'token' | 'open' = 'open'
    try {
      kind = judge(request, path, from)
    } catch (error) {
      throw limits.refused.count(from) ? error : tooMany('too many rejected calls', LESS_OFTEN)
    }
    if (!limits[kind].count(from)) throw tooMany('too many calls', LESS_OFTEN)
    return kind
  }
}

const LESS_OFTEN = `Slow down: at most ${CALLS} calls in ${CALLS_WINDOW_MS / 1000} s from one address.`

/**
 * Only these exact paths are open; everything else needs the token, so other spellings of a path do not matter.
 */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz'])
const PUBLIC: ReadonlySet<string> = new Set(['/', ...PROBES])

/** A browser leaves the default port out of an origin. Under an allowed name there may be a proxy with TLS, which passes the name on. */
function originsOf(name: string, mayHaveTls: boolean): string[] {
  return [`http://${name.replace(/:80$/, '')}`, ...(mayHaveTls ? [`https://${name.replace(/:443$/, '')}`] : [])]
}

function hostCheck(host: string, port: number, publicOrigin: string | null): (name: string) => boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  const own = new Set([...LOOPBACK_NAMES, bare.includes(':') ? `[${bare}]` : bare].map((one) => `${one}:${port}`))
  const everywhere = bare === '0.0.0.0' || bare === '::'
  const isOwn = (name: string) => own.has(name) || (everywhere && isOwnAddress(name, port))
  // Clients leave out the default port of http.
  const withPort = (name: string) => (/:\d+$/.test(name) ? name : `${name}:80`)
  const publicHost = publicOrigin === null ? null : new URL(publicOrigin).host
  // A reverse proxy with TLS may include its port or leave it out.
  return (name) => name.replace(/:443$/, '') === publicHost || isOwn(withPort(name))
}

/** When listening on all addresses: a browser tricked by DNS rebinding sends a name, never a bare address. */
function isOwnAddress(name: string, port: number): boolean {
  if (!name.endsWith(`:${port}`)) return false
  const address = name.slice(0, -`:${port}`.length)
  return isIP(address.replace(/^\[(.*)\]$/, '$1')) !== 0
}

function refused(message: string): ShoalError {
  return new ShoalError('request_refused', message)
}

function tooMany(message: string, hint: string): ShoalError {
  return new ShoalError('too_many_requests', message, { hint })
}
