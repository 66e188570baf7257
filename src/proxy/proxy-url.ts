import { createHash } from 'node:crypto'
import { ShoalError } from '../errors.js'
import { parseUrl } from '../url/parse-url.js'
import type { ProxyServer } from './proxy.js'

const PROTOCOLS: Readonly<Record<string, readonly [ProxyServer['protocol'], port: number]>> = {
  'http:': ['http', 80],
  'https:': ['https', 443],
  'socks5:': ['socks5', 1080],
  'socks5h:': ['socks5', 1080],
}

/** `scheme://user:password@host:port`. Null with the reason when it is not that; the reason never shows the text, which may hold a password. */
export function parseProxyUrl(text: string): { proxy: ProxyServer } | { wrong: string } {
  const url = parseUrl(text.trim())
  const known = PROTOCOLS[url?.protocol ?? '']
  if (url === null || known === undefined || url.hostname === '')
    return { wrong: 'expected http://, https:// or socks5:// with user:password@ if need be, host and port' }
  if ((url.pathname !== '' && url.pathname !== '/') || url.search !== '' || url.hash !== '')
    return { wrong: 'a proxy has no path (percent-encode / ? # @ : in a password)' }
  const [protocol, port] = known
  try {
    return {
      proxy: {
        protocol,
        host: url.hostname.replace(/^\[|\]$/g, '').toLowerCase(),
        port: url.port === '' ? port : Number(url.port),
        username: decodeURIComponent(url.username),
        password: decodeURIComponent(url.password),
      },
    }
  } catch {
    return { wrong: 'the user name or the password is not percent-encoded' }
  }
}

/** Without secrets: what a proxy is called when it has no name. */
export function placeOf({ host, port }: ProxyServer): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Distinguishes users of one proxy; 32 bits of a hash reveal nothing about the name. */
export function userTag({ protocol, username }: ProxyServer): string {
  return createHash('sha256').update(`${protocol} ${username}`).digest('hex').slice(0, 8)
}

/** With what the reader needs to find the place. */
export function poolError(message: string): ShoalError {
  return new ShoalError('config_invalid', message, { hint: 'See docs/proxies.md for the format.' })
}
