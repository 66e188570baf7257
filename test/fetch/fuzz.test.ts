import fc from 'fast-check'
import { expect, it } from 'vitest'
import { startBadServer } from '../support/bad-server.js'
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
    { numRuns: 150 },
  )
  // Which ones is chance; that they are of several kinds is not.
  expect(seen.size).toBeGreaterThanOrEqual(3)
  expect([...seen].every((code) => code !== 'internal' && code !== 'tls_error')).toBe(true)
  await fetcher.close()
  await server.close()
})
