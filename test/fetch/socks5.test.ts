import net from 'node:net'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { Fetcher } from '../../src/fetch/fetcher.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'
import { type BadServer, startBadServer } from '../support/bad-server.js'
import { atLeast, type Script, type ScriptedProxy, startProxy } from './scripted-proxy.js'
import { LIMITS, never } from './support.js'

/** A proxy that opens no tunnel must cost nobody an address: whatever it does, nothing is connected to except the proxy. */
let site: BadServer
let fetcher: Fetcher
let proxy: ScriptedProxy | null = null
const resolved: string[] = []
beforeAll(async () => {
  site = await startBadServer()
})
afterAll(() => site.close())
afterEach(async () => {
  vi.restoreAllMocks()
  resolved.length = 0
  await fetcher.close()
  await proxy?.close()
})

const LOGIN = { username: 'jane', password: 'canary' }
const SENT = 'http://shop.example/page'

async function through(
  script: Script,
  url = SENT,
  login = { username: '', password: '' },
  limits = {},
): Promise<string> {
  proxy = await startProxy('socks5', script, login)
  fetcher = createHttpFetcher({
    clock: systemClock,
    lookup: (name, done) => {
      resolved.push(name)
      done(null, [{ address: '127.0.0.1', family: 4 }])
    },
  })
  const connects = vi.spyOn(net.Socket.prototype, 'connect').mockClear()
  const request = { url, limits: { ...LIMITS, ...limits }, allowPrivate: ['127.0.0.1:*'], proxy: proxy.server }
  const outcome = await fetcher.fetch(request, never).then(
    ({ body }) => Buffer.from(body).toString(),
    (error: unknown) => error,
  )
  const { port } = proxy.server
  // Ours to the proxy; what the proxy itself connects to is on loopback as well, but only if it opened a tunnel.
  const direct = connects.mock.calls.flat(2).filter((given) => {
    const to = given as { port?: number; host?: string } | null
    return typeof to === 'object' && to !== null && 'port' in to && to.port !== port && to.port !== site.port
  })
  expect(direct).toEqual([])
  // The proxy's own address is the only one that may be looked up here.
  expect(resolved.filter((name) => name !== '127.0.0.1')).toEqual([])
  if (typeof outcome === 'string') return outcome
  if (!(outcome instanceof ShoalError)) throw outcome
  expect(outcome.message).not.toContain('canary')
  expect(outcome.message).not.toContain('http://shop.example/page')
  await vi.waitFor(() => expect(proxy?.openSockets()).toBe(0))
  return `${outcome.code}: ${outcome.message}`
}

/** Accepts anyone, waits for the request and says `reply`, in one piece or byte by byte. */
const replying =
  (reply: readonly number[], then: 'tunnel' | 'close' | 'stay' = 'close', everyMs = 0): Script =>
  async ({ socket, hear }) => {
    await hear(atLeast(3))
    socket.write(Buffer.from([5, 0]))
    await hear(atLeast(7))
    if (everyMs > 0) {
      for (const byte of reply) {
        socket.write(Buffer.from([byte]))
        await systemClock.sleep(everyMs)
      }
    } else socket.write(Buffer.from(reply))
    if (then === 'close') socket.end()
    if (then !== 'tunnel') return
    const out = net.connect({ host: '127.0.0.1', port: site.port })
    out.on('error', () => {})
    socket.on('close', () => out.destroy())
    socket.pipe(out).pipe(socket)
  }

const IPV4 = [5, 0, 0, 1, 1, 2, 3, 4, 0, 80]
const IPV6 = [5, 0, 0, 4, ...Array(16).fill(0), 0, 80]
const NAME = [5, 0, 0, 3, 4, 104, 111, 115, 116, 0, 80]
const NO_NAME = [5, 0, 0, 3, 0, 0, 80]

it.each([
  ['an IPv4 address', IPV4],
  ['an IPv6 address', IPV6],
  ['a name', NAME],
  ['an empty name', NO_NAME],
])('a tunnel whose end is %s, in one piece and byte by byte', async (_kind, reply) => {
  expect(await through(replying(reply, 'tunnel'), 'http://shop.example/ok')).toBe('hello, world')
  await fetcher.close()
  await proxy?.close()
  expect(await through(replying(reply, 'tunnel', 2), 'http://shop.example/ok')).toBe('hello, world')
})

it.each<[number, string]>([
  [1, 'connect_error'],
  [2, 'connect_error'],
  [3, 'connect_error'],
  [4, 'connect_error'],
  [5, 'connect_error'],
  [6, 'connect_error'],
  [7, 'proxy_error'],
  [8, 'proxy_error'],
  [9, 'proxy_error'],
  [255, 'proxy_error'],
])('reply %i is a %s', async (reply, code) => {
  expect(await through(replying([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))).toMatch(new RegExp(`^${code}: `))
  await fetcher.close()
  await proxy?.close()
  // Some proxies close after two bytes.
  expect(await through(replying([5, reply]))).toMatch(new RegExp(`^${code}: `))
})

it.each<[string, Script, RegExp]>([
  [
    'no method is right for it',
    async ({ socket, hear }) => {
      await hear(atLeast(3))
      socket.write(Buffer.from([5, 255]))
    },
    /different login method/,
  ],
  [
    'it wants a login that nobody gave',
    async ({ socket, hear }) => {
      await hear(atLeast(3))
      socket.write(Buffer.from([5, 2]))
    },
    /different login method/,
  ],
  [
    'SOCKS4',
    async ({ socket, hear }) => {
      await hear(atLeast(3))
      socket.write(Buffer.from([0, 91, 0, 0, 0, 0, 0, 0]))
    },
    /does not speak SOCKS5/,
  ],
  [
    'HTTP',
    async ({ socket, hear }) => {
      await hear(atLeast(3))
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')
    },
    /does not speak SOCKS5/,
  ],
  ['it closes at once', ({ socket }) => void socket.end(), /closed the connection/],
  [
    'it closes after the method',
    async ({ socket, hear }) => {
      await hear(atLeast(3))
      socket.end(Buffer.from([5, 0]))
    },
    /closed the connection/,
  ],
  ['it closes within the reply', replying(IPV4.slice(0, 6)), /closed the connection/],
  ['another version in the reply', replying([4, 0, 0, 1, 0, 0, 0, 0, 0, 0]), /does not speak SOCKS5/],
  ['an unknown kind of address', replying([5, 0, 0, 9, 0, 0, 0, 0, 0, 0]), /does not speak SOCKS5/],
  ['more than a reply', replying([...IPV4, ...Buffer.from('HTTP/1.1 200 OK\r\n\r\n')]), /more than expected/],
  [
    'more than a method',
    async ({ socket, hear }) => {
      await hear(atLeast(3))
      socket.write(Buffer.from([5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
    },
    /more than expected/,
  ],
])('%s: proxy_error', async (_name, script, reason) => {
  const seen = await through(script)
  expect(seen).toMatch(/^proxy_error: /)
  expect(seen).toMatch(reason)
})

it('a login that is refused or breaks off is the proxy, and stays secret', async () => {
  const refusing =
    (answer: readonly number[]): Script =>
    async ({ socket, hear }) => {
      await hear(atLeast(4))
      socket.write(Buffer.from([5, 2]))
      await hear(atLeast(13))
      socket.end(Buffer.from(answer))
    }
  for (const [answer, reason] of [
    [[1, 1], /refused the login/],
    [[1], /closed the connection/],
    [[5, 0], /does not speak SOCKS5/],
  ] as const) {
    const seen = await through(refusing(answer), SENT, LOGIN)
    expect(seen).toMatch(/^proxy_error: /)
    expect(seen).toMatch(reason)
    await fetcher.close()
    await proxy?.close()
  }
})

it('a proxy that stalls at any point ends by the connect limit', async () => {
  for (const script of [() => {}, replying([], 'stay'), replying(IPV4.slice(0, 5), 'stay')] satisfies Script[]) {
    const seen = await through(script, SENT, undefined, { connectMs: 200 })
    expect(seen).toMatch(/^proxy_error: .*no connection within 200 ms/)
    await fetcher.close()
    await proxy?.close()
  }
})

it('names of 255 bytes, IPv6 addresses and international names are sent as the proxy needs them', async () => {
  const label = 'a'.repeat(63)
  const longest = `${label}.${label}.${label}.${'b'.repeat(61)}.c`
  expect(longest).toHaveLength(255)
  for (const [host, asked] of [
    [longest, Buffer.from([3, 255, ...Buffer.from(longest)])],
    ['[2606:4700::1111]', Buffer.from([4, 0x26, 6, 0x47, 0, ...Array(10).fill(0), 0x11, 0x11])],
    ['bücher.example', Buffer.from([3, 21, ...Buffer.from('xn--bcher-kva.example')])],
    ['93.184.216.34', Buffer.from([1, 93, 184, 216, 34])],
  ] as const) {
    const heard: Buffer[] = []
    const script: Script = async ({ socket, hear }) => {
      await hear(atLeast(3))
      socket.write(Buffer.from([5, 0]))
      heard.push(await hear(atLeast(4 + asked.length + 1)))
      socket.end(Buffer.from([5, 5]))
    }
    expect(await through(script, new URL(`http://${host}:8080/`).href)).toMatch(/^connect_error: /)
    expect(heard[0]).toEqual(Buffer.concat([Buffer.from([5, 1, 0]), asked, Buffer.from([0x1f, 0x90])]))
    await fetcher.close()
    await proxy?.close()
  }
})

it('a name that does not fit into SOCKS is refused before anything is asked', async () => {
  const host = `${'a'.repeat(63)}.`.repeat(5)
  const script: Script = async ({ socket, hear }) => {
    await hear(atLeast(3))
    socket.write(Buffer.from([5, 0]))
  }
  expect(await through(script, `http://${host}example/`)).toMatch(/255 bytes/)
})
