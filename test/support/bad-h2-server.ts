import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { GOOD, KEY } from './test-only-certificates.js'

/**
 * A server that speaks HTTP/2 by hand, frame by frame, and misbehaves on purpose. The path of a request is compressed in HTTP/2, so
 * the misbehaviour is set before the request. Every request is counted.
 */
export interface BadH2Server {
  readonly origin: string
  /** What comes next. */
  behave(mode: keyof typeof H2_MODES | Behaviour): void
  connections(): number
  requests(): number
  openSockets(): number
  close(): Promise<void>
}

const DATA = 0
const HEADERS = 1
const RST_STREAM = 3
const SETTINGS = 4
const GOAWAY = 7
const CONTINUATION = 9
const ACK = 1
const END_STREAM = 1
const END_HEADERS = 4

const PREFACE_BYTES = 24
const FRAME_HEAD_BYTES = 9

export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(payload as string)
  const head = Buffer.alloc(FRAME_HEAD_BYTES)
  head.writeUIntBE(bytes.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, bytes])
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** HPACK without tables or Huffman coding: each header literally. */
function headerBlock(headers: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]))
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text)
  const length: number[] = []
  if (bytes.length < 127) length.push(bytes.length)
  else {
    length.push(127)
    let rest = bytes.length - 127
    for (; rest >= 128; rest = rest >> 7) length.push((rest & 127) | 128)
    length.push(rest)
  }
  return Buffer.concat([Buffer.from(length), bytes])
}

const rst = (stream: number, code: number) => frame(RST_STREAM, 0, stream, number(code))
const goAway = (lastStream: number, code: number) =>
  frame(GOAWAY, 0, 0, Buffer.concat([number(lastStream), number(code)]))
const head = (stream: number, headers: Record<string, string> = {}, flags = END_HEADERS) =>
  frame(HEADERS, flags, stream, headerBlock([[':status', '200'], ...Object.entries(headers)]))
const data = (stream: number, text: string | Buffer, flags = 0) => frame(DATA, flags, stream, text)
const whole = (stream: number, text: string) => [head(stream), data(stream, text, END_STREAM)]

export type Behaviour = (socket: TLSSocket, stream: number) => void

const send =
  (frames: (stream: number) => readonly Buffer[]): Behaviour =>
  (socket, stream) =>
    void socket.write(Buffer.concat(frames(stream)))

/** First half an answer, then the rest of the mischief. */
const half =
  (then: Behaviour, headers: Record<string, string> = {}): Behaviour =>
  (socket, stream) => {
    socket.write(Buffer.concat([head(stream, headers), data(stream, 'half')]))
    setTimeout(() => then(socket, stream), 50)
  }

function repeat(socket: TLSSocket, bytes: Buffer, everyMs: number): void {
  const timer = setInterval(() => socket.write(bytes), everyMs)
  socket.on('close', () => clearInterval(timer))
}

function manyHeaders(stream: number, count: number, value: string): Buffer[] {
  const all = headerBlock([[':status', '200'], ...Array.from({ length: count }, (_, i) => [`x-${i}`, value] as const)])
  const pieces: Buffer[] = []
  for (let at = 0; at < all.length; at += 16_384) pieces.push(all.subarray(at, at + 16_384))
  return pieces.map((piece, i) =>
    frame(i === 0 ? HEADERS : CONTINUATION, i === pieces.length - 1 ? END_HEADERS : 0, stream, piece),
  )
}

export const H2_MODES = {
  ok: send((stream) => whole(stream, 'hello, world')),
  'not modified': send((stream) => [
    frame(
      HEADERS,
      END_HEADERS | END_STREAM,
      stream,
      headerBlock([
        [':status', '304'],
        ['content-length', '999'],
      ]),
    ),
  ]),
  'early hints': send((stream) => [
    frame(HEADERS, END_HEADERS, stream, headerBlock([[':status', '103']])),
    ...whole(stream, 'hello, world'),
  ]),
  silent: () => {},
  'half and silence': half(() => {}),
  'drips the body': half((socket, stream) => repeat(socket, data(stream, 'x'), 20)),
  'pings without end': (socket) => repeat(socket, frame(6, 0, 0, Buffer.alloc(8)), 20),
  'endless body': (socket, stream) => {
    socket.write(head(stream))
    repeat(socket, Buffer.concat(Array.from({ length: 4 }, () => data(stream, Buffer.alloc(16_384)))), 1)
  },
  'endless 1xx': (socket, stream) =>
    repeat(socket, frame(HEADERS, END_HEADERS, stream, headerBlock([[':status', '103']])), 5),
  'ten terabytes': send((stream) => [head(stream, { 'content-length': '10995116277760' }), data(stream, 'x')]),
  'reset without error': half((socket, stream) => socket.write(rst(stream, 0))),
  'reset cancel': half((socket, stream) => socket.write(rst(stream, 8))),
  'reset internal error': half((socket, stream) => socket.write(rst(stream, 2))),
  'reset before an answer': send((stream) => [rst(stream, 8)]),
  'refused stream': send((stream) => [rst(stream, 7)]),
  'go away in the middle': half((socket, stream) => socket.write(goAway(stream, 0))),
  'go away in the middle, then the rest': half((socket, stream) => {
    socket.write(goAway(stream, 0))
    setTimeout(() => socket.write(data(stream, ' more', END_STREAM)), 50)
  }),
  'go away before an answer': send(() => [goAway(0, 0)]),
  'go away after the answer': send((stream) => [...whole(stream, 'hello, world'), goAway(stream, 0)]),
  'ends the connection': half((socket) => socket.end()),
  'cuts the connection': half((socket) => socket.destroy()),
  'cuts before an answer': (socket) => socket.destroy(),
  'length too large': send((stream) => [head(stream, { 'content-length': '100' }), data(stream, 'half', END_STREAM)]),
  'length too small': send((stream) => [head(stream, { 'content-length': '2' }), data(stream, 'half', END_STREAM)]),
  '3,000 headers': send((stream) => [...manyHeaders(stream, 3_000, 'v'), data(stream, 'x', END_STREAM)]),
  '100 headers of 400 bytes': send((stream) => [
    ...manyHeaders(stream, 100, 'v'.repeat(400)),
    data(stream, 'x', END_STREAM),
  ]),
  'headers without end': (socket, stream) => {
    socket.write(frame(HEADERS, 0, stream, headerBlock([[':status', '200']])))
    repeat(socket, frame(CONTINUATION, 0, stream, headerBlock([['x-more', 'x'.repeat(10_000)]])), 1)
  },
  garbage: (socket) => void socket.write(Buffer.alloc(100, 'garbage')),
} satisfies Record<string, Behaviour>

export async function startBadH2Server(): Promise<BadH2Server> {
  const sockets = new Set<TLSSocket>()
  let mode: Behaviour = H2_MODES.ok
  let accepted = 0
  let requests = 0
  const server = createServer({ key: KEY, cert: GOOD, ALPNProtocols: ['h2'] }, (socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.write(frame(SETTINGS, 0, 0))
    let bytes = Buffer.alloc(0)
    let greeted = false
    socket.on('data', (piece) => {
      bytes = Buffer.concat([bytes, piece])
      if (!greeted && bytes.length >= PREFACE_BYTES) {
        greeted = true
        bytes = bytes.subarray(PREFACE_BYTES)
      }
      while (greeted && bytes.length >= FRAME_HEAD_BYTES) {
        const end = FRAME_HEAD_BYTES + bytes.readUIntBE(0, 3)
        if (bytes.length < end) return
        const [, , , type, flags = 0] = bytes
        const stream = bytes.readUInt32BE(5)
        bytes = bytes.subarray(end)
        if (type === SETTINGS && (flags & ACK) === 0) socket.write(frame(SETTINGS, ACK, 0))
        if (type === HEADERS) {
          requests++
          mode(socket, stream)
        }
      }
    })
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `https://127.0.0.1:${port}`,
    behave(next) {
      mode = typeof next === 'string' ? H2_MODES[next] : next
    },
    connections: () => accepted,
    requests: () => requests,
    openSockets: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
