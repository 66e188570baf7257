import tls from 'node:tls'
import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { isHttp2Safe } from '../../src/fetch/http/h2-wire.js'
import { frame, startBadH2Server } from '../support/bad-h2-server.js'
import { startBadServer } from '../support/bad-server.js'
import { runs } from '../support/longer.js'
import { CA } from '../support/test-only-certificates.js'
import { codeOf, get, newFetcher } from './support.js'

/** Pieces of HTTP in any order: most of it nonsense, some of it nearly right. */
const piece = fc.oneof(
  fc.constantFrom(
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.0 200\r\n',
    'HTTP/1.1 103 x\r\n\r\n',
    'HTTP/1.1 304 x\r\n',
    'HTTP/2 200\r\n',
  ),
  fc.constantFrom('Content-Length: 5\r\n', 'Content-Length: -1\r\n', 'Content-Length: 99999999999999999999\r\n'),
  fc.constantFrom('Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: gzip\r\n', 'Content-Encoding: gzip\r\n'),
  fc.constantFrom('Connection: close\r\n', 'Connection: upgrade\r\nUpgrade: x\r\n', 'Trailer: a\r\n', 'A: b\r\n c\r\n'),
  fc.constantFrom('\r\n', '\n', '5\r\nhello\r\n', '0\r\n\r\n', 'hello', 'ffffffffffffffffff\r\n', '\0', ': \r\n'),
  fc.string({ maxLength: 20 }),
)
const answer = fc.record({
  pieces: fc.array(piece, { maxLength: 8 }),
  valid: fc.boolean(),
  end: fc.constantFrom('fin', 'reset', 'stay'),
})

it('whatever a server sends, a fetch ends with a page or one of our codes, and the fetcher goes on working', async () => {
  let next: { text: string; end: string } = { text: '', end: 'fin' }
  const server = await startBadServer({
    otherwise(socket) {
      socket.write(Buffer.from(next.text, 'latin1'))
      if (next.end === 'fin') socket.end()
      if (next.end === 'reset') setImmediate(() => socket.resetAndDestroy())
    },
  })
  const fetcher = newFetcher()
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(answer, async ({ pieces, valid, end }) => {
      next = { text: (valid ? 'HTTP/1.1 200 OK\r\n' : '') + pieces.join(''), end }
      seen.add(await codeOf(get(fetcher, `${server.origin}/fuzz`, { totalMs: 60, headersMs: 50, idleMs: 50 })))
      expect((await get(fetcher, `${server.origin}/ok`).catch(() => get(fetcher, `${server.origin}/ok`))).status).toBe(
        200,
      )
    }),
    { numRuns: runs(150) },
  )
  // Which ones is chance; that they are of several kinds is not.
  expect(seen.size).toBeGreaterThanOrEqual(3)
  expect([...seen].every((code) => code !== 'internal' && code !== 'tls_error')).toBe(true)
  await fetcher.close()
  await server.close()
})

/** Frames of HTTP/2 in any order, most of them for our stream and some with a sensible beginning of an answer. */
const anyFrame = fc.record({
  type: fc.integer({ min: 0, max: 12 }),
  flags: fc.constantFrom(0, 1, 4, 5, 8, 0x20, 0xff),
  ours: fc.boolean(),
  payload: fc.oneof(
    // ':status: 200' from the table of HPACK, a reset, lengths that are right for other frames
    fc.constantFrom(Buffer.from([0x88]), Buffer.alloc(4), Buffer.alloc(5), Buffer.alloc(6), Buffer.alloc(8)),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  ),
})

// An old nghttp2 ends the process here, which is why HTTP/2 is not spoken with it.
it.runIf(isHttp2Safe())('whatever an HTTP/2 server sends, a fetch ends with a page or one of our codes', async () => {
  const connect = tls.connect
  const spy = vi
    .spyOn(tls, 'connect')
    .mockImplementation(((given: tls.ConnectionOptions) => connect({ ...given, ca: CA })) as typeof tls.connect)
  const server = await startBadH2Server()
  const fetcher = newFetcher()
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(anyFrame, { maxLength: 6 }), fc.boolean(), async (begun, frames, ends) => {
      server.behave((socket, stream) => {
        if (begun) socket.write(frame(1, 4, stream, Buffer.from([0x88])))
        for (const { type, flags, ours, payload } of frames) {
          socket.write(frame(type, flags, ours ? stream : 0, payload))
        }
        if (ends) socket.end()
      })
      seen.add(await codeOf(get(fetcher, `${server.origin}/fuzz`, { headersMs: 50, idleMs: 50 })))
    }),
    { numRuns: runs(150) },
  )
  server.behave('ok')
  // The connection kept last may be one that the server has spoilt.
  const last = () => get(fetcher, `${server.origin}/ok`)
  expect((await last().catch(last)).status).toBe(200)
  expect(seen.size).toBeGreaterThanOrEqual(3)
  expect([...seen].every((code) => code !== 'internal' && code !== 'bad_url')).toBe(true)
  spy.mockRestore()
  await fetcher.close()
  await server.close()
})
