import type { Socket } from 'node:net'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { BROTLI_GIGABYTE } from './brotli-gigabyte.js'

/** What the bad server does, by the path of the request. */

const TEXT = 'hello, world'

export function answer(
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
  status = '200 OK',
): Buffer {
  const bytes = Buffer.from(body)
  const all = { 'Content-Type': 'text/plain', 'Content-Length': String(bytes.length), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`), bytes])
}

/** One byte at a time, the last one again and again. */
function drip(socket: Socket, text: string, everyMs: number): void {
  let at = 0
  const timer = setInterval(() => {
    socket.write(text.charAt(Math.min(at++, text.length - 1)))
  }, everyMs)
  socket.on('close', () => clearInterval(timer))
}

/** Writes for ever, as fast as the reader takes it. */
function flood(socket: Socket, chunk: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk)) {}
  }
  socket.on('drain', more)
  more()
}

const MEGABYTE = Buffer.alloc(1 << 20)
/** One gigabyte of zeros in about a megabyte, made once. */
let gzipBomb: Buffer | null = null
/** Sixty-four megabytes of zeros in a few bytes. */
let brotliBomb: Buffer | null = null

export function gigabyteGzip(): Buffer {
  if (gzipBomb === null) {
    // gzip members may be joined: sixty-four of sixteen megabytes each.
    const member = gzipSync(Buffer.alloc(16 << 20), { level: 9 })
    gzipBomb = Buffer.concat(Array.from({ length: 64 }, () => member))
  }
  return gzipBomb
}

function sixtyFourMegabytesBrotli(): Buffer {
  brotliBomb ??= brotliCompressSync(Buffer.alloc(64 << 20), { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })
  return brotliBomb
}

export type Misbehaviour = (socket: Socket, head: string) => void

const write = (...parts: (string | Buffer)[]): Misbehaviour => {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  return (socket) => void socket.write(bytes)
}

const closeAfter = (...parts: (string | Buffer)[]): Misbehaviour => {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  return (socket) => void socket.end(bytes)
}

const encoded = (encoding: string, body: Buffer): Misbehaviour => write(answer(body, { 'Content-Encoding': encoding }))

export const MODES: Readonly<Record<string, Misbehaviour>> = {
  // Well behaved
  '/ok': write(answer(TEXT)),
  '/close': closeAfter(answer(TEXT, { Connection: 'close' })),
  '/until-close': closeAfter(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n${TEXT}`),
  '/chunked': write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n'),
  '/cookies': write(
    answer(TEXT, { 'Set-Cookie': 'a=1\r\nSet-Cookie: b=2, c', 'X-Two': 'x\r\nX-Two: y', ['__proto__']: 'p' }),
  ),
  '/gzip': encoded('gzip', gzipSync(TEXT)),
  '/x-gzip': encoded('X-GZIP', gzipSync(TEXT)),
  '/br': encoded('br', brotliCompressSync(TEXT)),
  '/deflate': encoded('deflate', deflateSync(TEXT)),
  '/deflate-raw': encoded('deflate', deflateRawSync(TEXT)),
  '/two-layers': encoded('gzip, br', brotliCompressSync(gzipSync(TEXT))),
  '/gzip-large': encoded('gzip', gzipSync(Buffer.alloc(3 << 20, 'abc'))),
  '/no-content': write('HTTP/1.1 204 No Content\r\n\r\n'),
  '/not-modified': write('HTTP/1.1 304 Not Modified\r\nContent-Length: 99999999999\r\nETag: "x"\r\n\r\n'),
  '/partial': write(answer(TEXT, { 'Content-Range': 'bytes 0-11/100' }, '206 Partial Content')),
  '/redirect': write(answer('', { Location: 'file:///etc/passwd' }, '302 Found')),
  '/error': write(answer('oops', {}, '500 Internal Server Error')),
  '/empty': write(answer('')),
  '/empty-gzip': write(answer('', { 'Content-Encoding': 'gzip' })),
  '/early-hints': write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n', answer(TEXT)),
  '/tiny-chunks': write(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    '1\r\nx\r\n'.repeat(50_000),
    '0\r\n\r\n',
  ),

  // Slow
  '/silent': () => {},
  '/drip-headers': (socket) => drip(socket, `HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(5_000)}`, 20),
  '/drip-body': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
    drip(socket, 'a'.repeat(5_000), 20)
  },
  '/stall-body': write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'),

  // Large
  '/endless-chunks': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    flood(socket, Buffer.concat([Buffer.from('100000\r\n'), MEGABYTE, Buffer.from('\r\n')]))
  },
  '/endless-until-close': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    flood(socket, MEGABYTE)
  },
  '/ten-terabytes': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10995116277760\r\n\r\n')
    flood(socket, MEGABYTE)
  },
  '/gzip-bomb': (socket) => void socket.write(answer(gigabyteGzip(), { 'Content-Encoding': 'gzip' })),
  '/brotli-bomb': (socket) => void socket.write(answer(sixtyFourMegabytesBrotli(), { 'Content-Encoding': 'br' })),
  '/brotli-gigabyte': encoded('br', Buffer.from(BROTLI_GIGABYTE, 'base64')),
  '/nested-bomb': (socket) => void socket.write(answer(gzipSync(gigabyteGzip()), { 'Content-Encoding': 'gzip, gzip' })),
  '/20000-headers': write('HTTP/1.1 200 OK\r\n', 'A: b\r\n'.repeat(20_000), '\r\n'),
  '/megabyte-header': write('HTTP/1.1 200 OK\r\nX-Big: ', 'a'.repeat(1 << 20), '\r\n\r\n'),
  '/endless-headers': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    flood(socket, Buffer.from('X-More: and more\r\n'.repeat(100)))
  },

  // Cut
  '/length-too-large': closeAfter('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'),
  '/length-too-small': write(answer(TEXT, { 'Content-Length': '5' })),
  '/chunks-cut': closeAfter('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'),
  '/chunks-cut-close': closeAfter(
    'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
  ),
  '/headers-cut': closeAfter('HTTP/1.1 200 OK\r\nContent-Type: te'),
  '/fin-before-headers': (socket) => void socket.end(),
  '/reset-before-headers': (socket) => void socket.resetAndDestroy(),
  '/reset-mid-body': resetAfter('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'),
  '/reset-mid-chunks': resetAfter('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'),
  '/reset-until-close': resetAfter('HTTP/1.1 200 OK\r\n\r\nhalf'),

  // Encodings that lie
  '/encodings-200': write(answer(gzipSync(TEXT), { 'Content-Encoding': Array(200).fill('gzip').join(', ') })),
  '/encodings-3': write(answer(gzipSync(TEXT), { 'Content-Encoding': 'gzip, gzip, gzip' })),
  '/encoding-unknown': encoded('snappy', Buffer.from(TEXT)),
  '/gzip-broken': encoded('gzip', Buffer.concat([gzipSync(TEXT).subarray(0, 12), Buffer.from('garbage')])),
  '/gzip-cut': encoded('gzip', gzipSync('a longer text than the others '.repeat(50)).subarray(0, 30)),
  '/gzip-plain': encoded('gzip', Buffer.from(TEXT)),
  '/br-cut': encoded('br', brotliCompressSync('a longer text than the others '.repeat(50)).subarray(0, 10)),

  // Not HTTP
  '/http-0.9': closeAfter('<html>hello</html>'),
  '/garbage': write('\x00\x01\x02\x03garbage\r\n\r\n'),
  '/bad-status': write('HTTP/1.1 abc OK\r\n\r\n'),
  '/bare-lf': write(`HTTP/1.1 200 OK\nContent-Length: 12\n\n${TEXT}`),
  '/obs-fold': write(`HTTP/1.1 200 OK\r\nX-Folded: one\r\n two\r\nContent-Length: 12\r\n\r\n${TEXT}`),
  '/length-and-chunked': write(
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n',
  ),
  '/two-lengths': write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!'),
  '/bad-chunk': write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n'),
  '/100-unasked': write('HTTP/1.1 100 Continue\r\n\r\n', answer(TEXT)),
  '/1xx-flood': (socket) => flood(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10))),
  '/101': write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),

  // Kept connections
  '/ok-then-fin': closeAfter(answer(TEXT)),
  '/ok-for-a-second': write(answer(TEXT, { 'Keep-Alive': 'timeout=3' })),
  '/ok-then-hang-up-on-next': write(answer(TEXT, { 'X-Next': 'hang up' })),
}

function resetAfter(text: string): Misbehaviour {
  return (socket) => {
    socket.write(text)
    setTimeout(() => socket.resetAndDestroy(), 50)
  }
}
