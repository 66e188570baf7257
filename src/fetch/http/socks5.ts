import { isIP, type Socket } from 'node:net'
import { ShoalError } from '../../errors.js'
import type { ProxyServer } from '../../proxy/proxy.js'
import { groups6 } from '../guard.js'
import type { Target } from './connect-tunnel.js'
import { type Parsed, readUntil } from './dialog.js'

const VERSION = 5
const NO_LOGIN = 0
const PASSWORD = 2

/** RFC 1928 and 1929; names are sent as they are and resolved by the proxy. Afterwards the socket is connected to the target. */
export async function openSocks5Tunnel(
  socket: Socket,
  proxy: ProxyServer,
  target: Target,
  onTarget: () => void,
): Promise<void> {
  const hasLogin = proxy.username !== '' || proxy.password !== ''
  socket.write(Buffer.from(hasLogin ? [VERSION, 2, NO_LOGIN, PASSWORD] : [VERSION, 1, NO_LOGIN]))
  const method = await readUntil(socket, readPair(VERSION))
  if (method === PASSWORD && hasLogin) await logIn(socket, proxy)
  else if (method !== NO_LOGIN) throw new ShoalError('proxy_error', 'it requires a different login method')
  onTarget()
  const port = Buffer.from([target.port >> 8, target.port & 255])
  socket.write(Buffer.concat([Buffer.from([VERSION, 1, 0]), addressOf(target.host), port]))
  const reply = await readUntil(socket, readReply)
  if (reply === 0) return
  // 7 and 8: it does not support CONNECT, or not this kind of address.
  if (reply >= 7)
    throw new ShoalError('proxy_error', `it does not support CONNECT, or not this kind of address (reply ${reply})`)
  const why = ['', 'failed', 'forbidden', 'network unreachable', 'host unreachable', 'refused', 'timed out'][reply]
  throw new ShoalError('connect_error', `the proxy cannot reach ${target.host}:${target.port} (${why})`)
}

async function logIn(socket: Socket, { username, password }: ProxyServer): Promise<void> {
  socket.write(Buffer.concat([Buffer.from([1]), counted(username), counted(password)]))
  const status = await readUntil(socket, readPair(1))
  if (status !== 0) throw new ShoalError('proxy_error', 'it refused the login')
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length > 255)
    throw new ShoalError('proxy_error', 'names and passwords over 255 bytes do not fit into SOCKS')
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

function addressOf(host: string): Buffer {
  const kind = isIP(host)
  if (kind === 4) return Buffer.from([1, ...host.split('.').map(Number)])
  if (kind === 6) return Buffer.from([4, ...groups6(host).flatMap((group) => [group >> 8, group & 255])])
  return Buffer.concat([Buffer.from([3]), counted(host)])
}

/** The agreed version and one byte of reply. */
function readPair(version: number): (bytes: Buffer) => Parsed<number> | undefined {
  return (bytes) => {
    mustBe(bytes, version)
    const [, answer] = bytes
    return answer === undefined ? undefined : { answer, used: 2 }
  }
}

function readReply(bytes: Buffer): Parsed<number> | undefined {
  mustBe(bytes, VERSION)
  const [, answer, , kind, nameLength] = bytes
  // A refusal is complete in its second byte; some proxies send no address with it.
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
