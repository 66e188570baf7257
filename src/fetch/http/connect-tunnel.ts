import type { Socket } from 'node:net'
import { ShoalError } from '../../errors.js'
import type { ProxyServer } from '../../proxy/proxy.js'
import { type Parsed, readUntil } from './dialog.js'

export interface Target {
  /** Name, IPv4 address, or IPv6 address without brackets. */
  readonly host: string
  readonly port: number
}

/** `Basic …`, or null for a proxy without a login. */
export function basicLogin({ username, password }: ProxyServer): string | null {
  if (username === '' && password === '') return null
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

/** Asks an HTTP proxy for a tunnel; afterwards the socket is connected to the target. */
export async function openConnectTunnel(socket: Socket, proxy: ProxyServer, target: Target): Promise<void> {
  const place = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`
  const login = basicLogin(proxy)
  const lines = [`CONNECT ${place} HTTP/1.1`, `Host: ${place}`]
  if (login !== null) lines.push(`Proxy-Authorization: ${login}`)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const status = await readUntil(socket, readStatus)
  if (status >= 200 && status < 300) return
  if (isProxysOwn(status)) throw new ShoalError('proxy_error', `it answered CONNECT with ${status}`)
  throw new ShoalError('connect_error', `the proxy cannot reach ${place} (${status})`)
}

/** 5xx, 403 and 404 are about the target. The rest is about us and the proxy: the login, the bill, its own rate limit, nonsense. */
function isProxysOwn(status: number): boolean {
  return status < 500 && status !== 403 && status !== 404
}

function readStatus(bytes: Buffer): Parsed<number> | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) {
    if (bytes.length >= 5 && bytes.toString('latin1', 0, 5) !== 'HTTP/') throw new Error('it does not speak HTTP')
    return undefined
  }
  const status = /^HTTP\/1\.[01] (\d{3})(?: |\r\n)/.exec(bytes.toString('latin1', 0, end + 2))?.[1]
  if (status === undefined) throw new Error('it does not speak HTTP')
  // A refusal may have a body, which is not read.
  return { answer: Number(status), used: status.startsWith('2') ? end + 4 : bytes.length }
}
