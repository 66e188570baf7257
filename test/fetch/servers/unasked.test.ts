import type { Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import type { Fetcher, FetchRequest } from '../../../src/fetch/fetcher.js'
import { burn } from '../../support/slow-server.js'
import { get, newFetcher } from '../support.js'
import { type RawServer, startRawServer } from './raw-server.js'

const STRAY = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSTRAY'
const page = (path: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`

let server: RawServer | null = null
let fetcher: Fetcher = newFetcher()
afterEach(async () => {
  await fetcher.close()
  await server?.close()
  fetcher = newFetcher()
})

async function serve(answer: (socket: Socket, path: string) => void): Promise<string> {
  server = await startRawServer(answer)
  return server.origin
}

async function bodyOf(url: string, more: Partial<FetchRequest> = {}): Promise<string> {
  return Buffer.from((await get(fetcher, url, {}, more)).body).toString()
}

it('a response that nobody asked for closes the connection before it is used again, at any time after a page', async () => {
  for (const delayMs of [0, 1, 2, 5, 10, 20, 50]) {
    const origin = await serve((socket, path) => {
      socket.write(page(path))
      if (path === '/1') setTimeout(() => socket.write(STRAY), delayMs)
    })
    expect(await bodyOf(`${origin}/1`)).toBe('/1')
    await systemClock.sleep(delayMs + 10)
    for (const path of ['/2', '/3', '/4']) expect(await bodyOf(origin + path)).toBe(path)
    await server?.close()
  }
})

it('… also if our own code was too busy to read it', async () => {
  const origin = await serve((socket, path) => {
    socket.write(page(path))
    // Alone in a packet, and long before the event loop of the fetcher looks again.
    if (path === '/1') setImmediate(() => setImmediate(() => socket.write(STRAY)))
  })
  for (let round = 0; round < 20; round++) {
    expect(await bodyOf(`${origin}/1`)).toBe('/1')
    const stray = new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))))
    await stray
    burn(5)
    expect(await bodyOf(`${origin}/2`)).toBe('/2')
  }
})

it('a second response in the same packet is never the next page', async () => {
  const origin = await serve((socket, path) => socket.write(page(path) + (path === '/1' ? STRAY : '')))
  for (const path of ['/0', '/2', '/3']) expect(await bodyOf(origin + path)).toBe(path)
  // On a connection that has carried others, the first of two may be the late one: neither is taken.
  await expect(get(fetcher, `${origin}/1`)).rejects.toMatchObject({ code: 'protocol_error' })
  for (const path of ['/4', '/5']) expect(await bodyOf(origin + path)).toBe(path)
})

it('an origin that has spoken unasked gets a connection for each request, and is asked to close it', async () => {
  const heads: string[] = []
  server = await startRawServer((socket, path, head) => {
    heads.push(head)
    socket.write(page(path))
    if (path === '/1') setTimeout(() => socket.write(STRAY), 5)
  })
  const { origin } = server
  expect(await bodyOf(`${origin}/0`)).toBe('/0')
  expect(await bodyOf(`${origin}/1`)).toBe('/1')
  expect(server.connections()).toBe(1)
  await systemClock.sleep(30)
  for (const path of ['/2', '/3', '/4']) expect(await bodyOf(origin + path)).toBe(path)
  expect(server.connections()).toBe(4)
  expect(heads.at(-1)).toContain('connection: close')
})

it('a late response that crosses a request costs one page at most, never those after it', async () => {
  const origin = await serve((socket, path) => {
    // It comes when the request has been written, and before its own answer: HTTP/1.1 cannot tell the two apart.
    if (path === '/2') socket.write(STRAY)
    setTimeout(() => socket.write(page(path)), path === '/2' ? 20 : 0)
  })
  expect(await bodyOf(`${origin}/1`)).toBe('/1')
  expect(await bodyOf(`${origin}/2`)).toBe('STRAY')
  await systemClock.sleep(40)
  for (const path of ['/3', '/4', '/5', '/6', '/7', '/8']) expect(await bodyOf(origin + path)).toBe(path)
})

it('… and none with `connection: close`', async () => {
  const heads: string[] = []
  const strays = new Set<Socket>()
  server = await startRawServer((socket, path, head) => {
    heads.push(head)
    // The late response to the request before would come on this connection.
    if (strays.has(socket)) socket.write(STRAY)
    strays.add(socket)
    socket.write(page(path))
  })
  const { origin } = server
  const headers = { connection: 'close' }
  for (const path of ['/1', '/2', '/3']) expect(await bodyOf(origin + path, { headers })).toBe(path)
  expect(server.connections()).toBe(3)
  expect(heads.every((head) => head.includes('connection: close'))).toBe(true)
})

it('a 408 on an idle connection is no page, and does not cost the origin its kept connections', async () => {
  const notice = 'HTTP/1.1 408 Request Time-out\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
  const origin = await serve((socket, path) => {
    if (path === '/late') {
      socket.end(notice)
      return
    }
    socket.write(page(path))
    if (path === '/1') setTimeout(() => socket.end(notice), 5)
  })
  expect(await bodyOf(`${origin}/1`)).toBe('/1')
  await systemClock.sleep(30)
  expect(await bodyOf(`${origin}/2`)).toBe('/2')
  expect(await bodyOf(`${origin}/3`)).toBe('/3')
  expect(server?.connections()).toBe(2)
  // It crosses a request on a kept connection: the server has read nothing, so the request may be sent again.
  await expect(get(fetcher, `${origin}/late`)).rejects.toMatchObject({ code: 'truncated' })
  expect((await get(fetcher, `${origin}/late`)).status).toBe(408)
})

it('an idle connection that the server closes is not used again', async () => {
  const origin = await serve((socket, path) => {
    socket.write(page(path))
    if (path === '/1') setTimeout(() => socket.end(), 5)
  })
  expect(await bodyOf(`${origin}/1`)).toBe('/1')
  await systemClock.sleep(20)
  expect(await bodyOf(`${origin}/2`)).toBe('/2')
})
