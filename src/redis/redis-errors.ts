import { ConnectionTimeoutError, ErrorReply, SocketClosedUnexpectedlyError } from '@redis/client'
import { describeError, ShoalError } from '../errors.js'
import { type HostPort, nameOf } from './address.js'

/** The server is there and may take the same call later. */
const BUSY: ReadonlySet<string> = new Set([
  'LOADING',
  'BUSY',
  'MISCONF',
  'OOM',
  'READONLY',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MASTERDOWN',
  'NOREPLICAS',
  'UNBLOCKED',
])

/** The connection leads to a server that has lost its part: another dial may find the right one. */
const WRONG_SERVER: ReadonlySet<string> = new Set(['READONLY', 'MASTERDOWN', 'NOAUTH'])

/** The first word of an error reply; Redis before 7 wraps those of a script's commands: `… @user_script: 1: -OOM command not allowed …`. */
function replyCode(error: unknown): string | undefined {
  if (!(error instanceof ErrorReply)) return undefined
  const inScript = /@user_script: ?\d+: -([A-Z]+) /.exec(error.message)?.[1]
  return inScript ?? /^([A-Z]+)/.exec(error.message)?.[1]
}

/** The server did answer, and the connection is sound. */
export function isReply(error: unknown): error is ErrorReply {
  return error instanceof ErrorReply
}

export function isUnknownScript(error: unknown): boolean {
  return replyCode(error) === 'NOSCRIPT'
}

/** Whatever is asked, the answer will be the same; that PING alone is forbidden does not matter. */
export function refusesAll(error: ErrorReply): boolean {
  return ['NOAUTH', 'LOADING', 'DENIED'].includes(replyCode(error) ?? '') || /max number of clients/.test(error.message)
}

export function leadsToWrongServer(error: unknown): boolean {
  return WRONG_SERVER.has(replyCode(error) ?? '')
}

export function unreachable(why: string, cause?: unknown): ShoalError {
  return new ShoalError('queue_down', `Redis is unreachable: ${why}.`, { cause })
}

/** An error reply as ours; MOVED, ASK, NOSCRIPT and the errors of scripts themselves stay what they are. */
export function replyError(error: unknown, server: HostPort): unknown {
  const code = replyCode(error)
  if (!(error instanceof ErrorReply) || code === undefined) return error
  if (code === 'NOPERM' || /can't (?:run this command|access at least one)/.test(error.message)) {
    return forbidden(error.message, server)
  }
  if (code === 'NOAUTH') return greetingError(error, nameOf(server))
  if (!BUSY.has(code)) return error
  return new ShoalError(
    'queue_down',
    `Redis at ${nameOf(server)} cannot take the call now: ${oneLine(error.message)}.`,
    {
      cause: error,
    },
  )
}

function forbidden(message: string, server: HostPort): ShoalError {
  const command = /run the '([^']+)' command/.exec(message)?.[1]
  const what = command === undefined ? oneLine(message) : `it may not run ${command.toUpperCase().replace('|', ' ')}`
  return new ShoalError(
    'queue_forbidden',
    `The user of the Redis queue at ${nameOf(server)} lacks a permission: ${what}.`,
  )
}

/** Why a dial failed, as the user's mistake it most likely is. The server's own text may repeat what was sent, so it is never shown. */
export function dialError(error: unknown, server: HostPort & { readonly tls: unknown }): ShoalError {
  if (error instanceof ShoalError) return error
  const name = nameOf(server)
  if (error instanceof ErrorReply) return greetingError(error, name)
  const code = codeOf(error)
  if (isTlsCode(code)) return new ShoalError('queue_tls', `No TLS with Redis at ${name}: ${tlsReason(code)}.`)
  if (code === 'EMFILE' || code === 'ENFILE') {
    return new ShoalError('no_sockets', `No connection to Redis at ${name}: this machine has no sockets left.`)
  }
  if (code === 'ETIMEDOUT' || error instanceof ConnectionTimeoutError) return silentError(server)
  const closed = error instanceof SocketClosedUnexpectedlyError || code === 'ECONNRESET' || code === 'EPIPE'
  const why =
    DIAL_REASONS[code] ?? (closed ? CLOSED[server.tls === null ? 'plain' : 'tls'] : code || 'the connection was lost')
  return new ShoalError('queue_unreachable', `No connection to Redis at ${name}: ${why}.`)
}

export function silentError(server: HostPort & { readonly tls: unknown }): ShoalError {
  const guess = server.tls === null ? '' : ' (does it speak TLS on this port?)'
  return new ShoalError('queue_unreachable', `No connection to Redis at ${nameOf(server)}: no answer in time${guess}.`)
}

const DIAL_REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name cannot be resolved now',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
}

const CLOSED = {
  plain: 'the server closed the connection at once (does it want TLS, rediss://?)',
  tls: 'the server closed the connection at once',
}

function greetingError(error: ErrorReply, name: string): ShoalError {
  const code = replyCode(error)
  const text = error.message
  if (code === 'WRONGPASS' || /invalid password/.test(text)) {
    return new ShoalError('queue_auth', `Redis at ${name} refuses the user name or the password.`)
  }
  if (code === 'NOAUTH')
    return new ShoalError('queue_auth', `Redis at ${name} wants a password, and the address has none.`)
  if (/without any password|no password is set/.test(text)) {
    return new ShoalError('queue_auth', `Redis at ${name} has no password, and the address gives one.`, {
      hint: 'Leave the password out of the address, or set one on the server.',
    })
  }
  if (code === 'DENIED') {
    return new ShoalError('queue_auth', `Redis at ${name} is in protected mode: it takes local connections only.`, {
      hint: 'Give the server a password (requirepass or an ACL user).',
    })
  }
  if (/DB index is out of range/.test(text)) {
    return new ShoalError('queue_address', `Redis at ${name} has no database of that number.`, {
      hint: 'Use a smaller number, or raise `databases` on the server.',
    })
  }
  if (/SELECT is not allowed in cluster mode/.test(text)) {
    return new ShoalError('queue_address', `Redis at ${name} is a cluster, which has only database 0.`, {
      hint: 'Leave the number out of the address.',
    })
  }
  if (code === 'NOPERM') {
    return new ShoalError(
      'queue_forbidden',
      `The user of the Redis queue at ${name} may not choose its database (SELECT).`,
    )
  }
  if (code === 'LOADING') return unreachable(`the server at ${name} is loading its data`)
  if (/max number of clients/.test(text))
    return unreachable(`the server at ${name} has no connection left (maxclients)`)
  return new ShoalError('queue_unreachable', `Redis at ${name} refused the connection (${code ?? 'unknown reply'}).`)
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  // Several addresses of one name were tried: the first failure stands for all.
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return ''
}

function isTlsCode(code: string): boolean {
  return /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH)/.test(code)
}

function tlsReason(code: string): string {
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'its certificate is for another host'
  if (/^(?:UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/.test(code))
    return `its certificate is not signed by a trusted CA (${code})`
  if (/WRONG_VERSION|EPROTO|PACKET_LENGTH/.test(code)) return `the server does not speak TLS on this port (${code})`
  return code
}

/** The server cannot be reached, or cannot take the call now. */
export function isAway(error: unknown): boolean {
  return error instanceof ShoalError && (error.code === 'queue_down' || isDial(error))
}

/** At run time a failed dial is no mistake of the user any more: the same call is repeated until it works. */
export function atRunTime(error: unknown): unknown {
  if (!(error instanceof ShoalError) || !isDial(error)) return error
  return new ShoalError('queue_down', error.message, { cause: error })
}

function isDial({ code }: ShoalError): boolean {
  return describeError(code).dial === true
}

function oneLine(text: string): string {
  return text
    .replace(/ script: [0-9a-f]{40}.*$/s, '')
    .replace(/\s+/g, ' ')
    .replace(/\.$/, '')
    .slice(0, 300)
}
