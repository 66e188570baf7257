import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Fetcher } from '../../../src/fetch/fetcher.js'
import { codeOf, get, newFetcher } from '../support.js'
import { type RawServer, startRawServer } from './raw-server.js'

/** Each character is one byte on the wire; the second is the request that Chromium 156 sends next. */
const LOCATIONS: readonly (readonly [string, string])[] = [
  ['/caf\xc3\xa9', '/caf%C3%A9'],
  ['/caf\xe9', '/caf%E9'],
  ['/?q=caf\xc3\xa9', '/?q=caf%C3%A9'],
  ['/?q=caf\xe9', '/?q=caf%E9'],
  ['/\xe6\x97\xa5\xe6\x9c\xac', '/%E6%97%A5%E6%9C%AC'],
  ['/a b', '/a%20b'],
  ['/a\\b', '/a/b'],
  ['?q=1', '/0?q=1'],
  ['//127.0.0.1/x', '/x'],
  ['/a\tb', '/ab'],
  [' /lead ', '/lead'],
  ['http:/y', '/y'],
  ['http:z', '/z'],
  ['/a%zz', '/a%zz'],
  ['/%C3%A9', '/%C3%A9'],
  ['../up', '/up'],
  [';p', '/;p'],
  ['/a, /b', '/a,%20/b'],
  ['/x\x01y', '/x%01y'],
  ['/a#b#c', '/a'],
]

let server: RawServer
let fetcher: Fetcher
let headers = ''
beforeAll(async () => {
  server = await startRawServer((socket) =>
    socket.write(Buffer.from(`HTTP/1.1 302 Found\r\n${headers}Content-Length: 0\r\n\r\n`, 'latin1')),
  )
  fetcher = newFetcher()
})
afterAll(async () => {
  await fetcher.close()
  await server.close()
})

it('a Location leads where it leads in a browser: raw bytes are escaped once, whatever they mean', async () => {
  for (const [location, next] of LOCATIONS) {
    headers = `Location: ${location}\r\n`
    const response = await get(fetcher, `${server.origin}/0`)
    const { pathname, search } = new URL(response.headers.location ?? '', `${server.origin}/0`)
    expect([location, pathname + search]).toEqual([location, next])
  }
})

it('a Location twice: equal is one, different is refused and the connection closed', async () => {
  headers = 'Location: /a\r\nlocation: /a\r\n'
  expect((await get(fetcher, `${server.origin}/0`)).headers.location).toBe('/a')
  headers = 'Location: /a\r\nLocation: /b\r\n'
  const before = server.connections()
  expect(await codeOf(get(fetcher, `${server.origin}/0`))).toBe('protocol_error')
  headers = 'Location: /a\r\n'
  await get(fetcher, `${server.origin}/0`)
  expect(server.connections() - before).toBe(1)
})

it('headers and cookies in raw bytes come through as they are, and a cookie goes back as the same bytes', async () => {
  headers = 'Set-Cookie: name=caf\xc3\xa9\r\nX-Raw: \xe9\r\n'
  const { cookies, headers: seen } = await get(fetcher, `${server.origin}/0`)
  expect(cookies).toEqual(['name=caf\xc3\xa9'])
  expect(seen['x-raw']).toBe('\xe9')
  let head = ''
  const echo = await startRawServer((socket, _path, text) => {
    head = text
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  await get(fetcher, `${echo.origin}/`, {}, { headers: { cookie: cookies[0] ?? '' } })
  expect(head).toContain('cookie: name=caf\xc3\xa9')
  await echo.close()
})
