import { ShoalError } from '../../errors.js'
import { limitText, openFilesLimit } from '../../open-files.js'
import { markStaleSocket } from '../stale-socket.js'

/** How far an exchange had got when it failed. */
export type Phase = 'connecting' | 'waiting' | 'answering' | 'reading'

export interface FailedExchange {
  readonly phase: Phase
  readonly origin: string
  readonly method: string
  /** The connection had carried a response before. */
  readonly reused: boolean
}

/** What Node reported, as one of our codes. Pure, except for recording which errors mean a stale socket. */
export function failureOf(error: Error, exchange: FailedExchange): ShoalError {
  if (error instanceof ShoalError) return error
  const { phase, origin } = exchange
  const code = codeOf(error)
  const say = (text: string) => `${origin}: ${text}`
  const cause = error

  if (isOutOfSockets(error)) {
    return new ShoalError('no_sockets', `${say(code)}${limitText(openFilesLimit())}`, { cause })
  }
  if (phase === 'connecting') {
    const tls = origin.startsWith('https:') && !isNetworkCode(code)
    return new ShoalError(tls ? 'tls_error' : 'connect_error', say(`${code || error.message}`), { cause })
  }
  // What our own side of HTTP/2 could not read, as opposed to a reset sent by the server.
  if (code === 'ERR_HTTP2_ERROR' || (phase === 'waiting' && error.message.endsWith('NGHTTP2_PROTOCOL_ERROR'))) {
    const tooMany = error.message.includes('CONTINUATION')
    return new ShoalError(tooMany ? 'headers_too_large' : 'protocol_error', say(error.message), { cause })
  }
  // With TLS 1.3 a server refuses a client without a certificate only when the handshake is over for us.
  if (phase === 'waiting' && code.startsWith('ERR_SSL_')) return new ShoalError('tls_error', say(code), { cause })
  if (phase === 'waiting') {
    const failure = new ShoalError('connect_error', say('the connection was closed before a response'), { cause })
    if (exchange.reused && (exchange.method === 'GET' || exchange.method === 'HEAD')) markStaleSocket(failure)
    return failure
  }
  return new ShoalError('truncated', say(`the response ended early (${code || error.message})`), { cause })
}

/** This machine has none left: not the site's fault. */
export function isOutOfSockets(error: Error): boolean {
  return ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS'].includes(codeOf(error))
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Error codes of the network below TLS. Everything else that fails a TLS connection is the handshake or the certificate. */
function isNetworkCode(code: string): boolean {
  return /^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|EAI_|ENOTFOUND|EACCES|EPERM|EINVAL)/.test(code)
}
