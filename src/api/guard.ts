import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import { createRateLimit } from './rate-limit.js'
import { tokenCheck } from './token.js'

/** Wrong tokens from one address in a minute: then nothing of it is looked at until the minute is over. */
const WRONG_TOKENS = 20
const WRONG_WINDOW_MS = 60_000
/** A page of ours makes two calls a second. */
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
  /** The origin under which a proxy in front offers it; null: none. */
  readonly publicOrigin: string | null
  /** The page's own files, which hold no data: its browser has no token before it is read. */
  readonly isPage: (path: string) => boolean
}

/**
 * Who may come in, before anything else is done with a request. A page of somebody else's must not reach us through the browser of a person who
 * can: its own name in `Host` (DNS that changes its mind), its `Origin`, or what the browser says of it (`Sec-Fetch-Site`) gives it away. None of
 * these costs a try of the token: nobody can lock the owner out from afar.
 */
export function createGuard({ token, clock, host, port, publicOrigin, isPage }: GuardOptions) {
  const isRight = tokenCheck(token)
  const wrong = createRateLimit(clock, WRONG_TOKENS, WRONG_WINDOW_MS)
  const calls = createRateLimit(clock, CALLS, CALLS_WINDOW_MS)
  const ours = hostCheck(host, port, publicOrigin)

  /** Throws what is wrong with it. */
  return (request: IncomingMessage, path: string): void => {
    const { headers, method = '' } = request
    const from = request.socket.remoteAddress ?? ''
    if (!calls.count(from)) throw tooMany('too many calls')
    if (!METHODS.has(method)) throw refused(`the method ${method.slice(0, 20)} is not served`)
    const name = headers.host?.toLowerCase()
    if (name === undefined || !ours(name)) throw refused('the Host header names another site')
    const { origin } = headers
    if (origin !== undefined && origin !== `http://${name}` && origin !== publicOrigin)
      throw refused('the request comes from a page of another origin')
    if (isPage(path) || PUBLIC.has(path)) return
    const site = headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw refused('the request comes from a page of another site')
    if (wrong.isOver(from)) throw tooMany('too many wrong tokens')
    const given = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(headers.authorization ?? '')?.[1]
    if (given !== undefined && isRight(given)) return
    if (given !== undefined) wrong.count(from)
    throw new ShoalError('token_refused', given === undefined ? 'there is no token' : 'the token is not the right one')
  }
}

/**
 * By their very spelling, all else needs the token: what another spelling of a path would be taken for further on need not be known here.
 */
const PUBLIC: ReadonlySet<string> = new Set(['/', '/healthz', '/readyz'])

function hostCheck(host: string, port: number, publicOrigin: string | null): (name: string) => boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  const own = new Set([...LOOPBACK_NAMES, bare.includes(':') ? `[${bare}]` : bare].map((one) => `${one}:${port}`))
  if (publicOrigin !== null) own.add(new URL(publicOrigin).host)
  const everywhere = bare === '0.0.0.0' || bare === '::'
  return (name) => own.has(name) || (everywhere && isOwnAddress(name, port))
}

/** On all addresses: a browser that was led astray sends a name, never a bare address. */
function isOwnAddress(name: string, port: number): boolean {
  if (!name.endsWith(`:${port}`)) return false
  const address = name.slice(0, -`:${port}`.length)
  return isIP(address.replace(/^\[(.*)\]$/, '$1')) !== 0
}

function refused(message: string): ShoalError {
  return new ShoalError('request_refused', message)
}

function tooMany(message: string): ShoalError {
  return new ShoalError('too_many_requests', message)
}
