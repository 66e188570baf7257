import { isIP, type Socket } from 'node:net'
import { ShoalError } from '../../errors.js'
import type { ProxyServer } from '../../proxy/proxy.js'
import { groups6 } from '../guard.js'
import type { Target } from './connect-tunnel.js'
import { type Heard, hear } from './dialog.js'

const VERSION = 5
const NO_LOGIN = 0
const PASSWORD = 2

/** RFC 1928 and 1929; names are sent as they are and resolved by the proxy. Afterwards the socket speaks with the target. */
export async function openSocks5Tunnel(
  socket: Socket,
  proxy: ProxyServer,
  target: Target,
  onTarget: () => void,
): Promise<void> {
  const hasLogin = proxy.username !== '' || proxy.password !== ''
  socket.write(Buffer.from(hasLogin ? [VERSION, 2, NO_LOGIN, PASSWORD] : [VERSION, 1, NO_LOGIN]))
  const method = await hear(socket, readPair(VERSION))
  if (method === PASSWORD && hasLogin) await logIn(socket, proxy)
  else if (method !== NO_LOGIN) throw new ShoalError('proxy_error', 'it wants another login than it was given')
  onTarget()
  const port = Buffer.from([target.port >> 8, target.port & 255])
  socket.write(Buffer.concat([Buffer.from([VERSION, 1, 0]), addressOf(target.host), port]))
  const reply = await hear(socket, readReply)
  if (reply === 0) return
  // 7 and 8: it does not know CONNECT, or not this kind of address.
  if (reply >= 7) throw new ShoalError('proxy_error', `it cannot do what a SOCKS proxy must (reply ${reply})`)
  const why = ['', 'failed', 'forbidden', 'network unreachable', 'host unreachable', 'refused', 'timed out'][reply]
  throw new ShoalError('connect_error', `the proxy does not reach ${target.host}:${target.port} (${why})`)
}

async function logIn(socket: Socket, { username, password }: ProxyServer): Promise<void> {
  socket.write(Buffer.concat([Buffer.from([1]), counted(username), counted(password)]))
  const status = await hear(socket, readPair(1))
  if (status !== 0) throw new ShoalError('proxy_error', 'it refused the login')
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length > 255) throw new ShoalError('proxy_error', 'SOCKS knows no name and no password over 255 bytes')
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

function addressOf(host: string): Buffer {
  const kind = isIP(host)
  if (kind === 4) return Buffer.from([1, ...host.split('.').map(Number)])
  if (kind === 6) return Buffer.from([4, ...groups6(host).flatMap((group) => [group >> 8, group & 255])])
  return Buffer.concat([Buffer.from([3]), counted(host)])
}

/** The version that was agreed on and one byte of answer. */
function readPair(version: number): (bytes: Buffer) => Heard<number> | undefined {
  return (bytes) => {
    mustBe(bytes, version)
    const [, answer] = bytes
    return answer === undefined ? undefined : { answer, used: 2 }
  }
}

function readReply(bytes: Buffer): Heard<number> | undefined {
  mustBe(bytes, VERSION)
  const [, answer, , kind, nameLength] = bytes
  // A refusal says all in its second byte; some proxies send no address with it.
  if (answer !== undefined && answer !== 0) return { answer, used: bytes.length }
  if (answer === undefined || kind === undefined || nameLength === undefined) return undefined
  const length = { 1: 4, 4: 16, 3: 1 + nameLength }[kind]
  if (length === undefined) throw new Error('it does not speak SOCKS5')
  const used = 4 + length + 2
  return bytes.length < used ? undefined : { answer, used }
}

function mustBe(bytes: Buffer, version: number): void {
  if (bytes.length > 0 && bytes[0] !== version) throw new Error('it does not speak SOCKS5')
}
