import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** `requests` go to the server, `replies` come from it. */
type Direction = 'requests' | 'replies'

/** Stands between a client and a server on loopback and does to their bytes what networks do. */
export interface TcpProxy {
  readonly port: number
  /** Connections taken so far. */
  readonly accepted: number
  /** Bytes passed on so far. */
  readonly bytes: Readonly<Record<Direction, number>>
  /** Every piece of this direction comes so much later, in order. */
  delay(direction: Direction, ms: number): void
  /** Keeps the bytes of one direction, or of both (a half-open connection), of present and future connections until `release`. */
  hold(direction?: Direction): void
  release(): void
  /** Passes on `count` more bytes of this direction, then resets the connection. */
  cutAfter(direction: Direction, count: number): void
  /** The server gets the next request and answers it; the reply is swallowed and the connection reset. */
  dropNextReply(): Promise<void>
  /** Resets all connections of now. */
  reset(): void
  /** New connections are reset at once, or taken again. */
  refuse(refused: boolean): void
  stop(): Promise<void>
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
}

interface Rule {
  delayMs: number
  held: boolean
  /** Bytes that may still pass before the connection is reset. */
  left: number
}

export async function startTcpProxy(targetPort: number, targetHost = '127.0.0.1'): Promise<TcpProxy> {
  const pairs = new Set<Pair>()
  const rules: Record<Direction, Rule> = {
    requests: { delayMs: 0, held: false, left: Number.POSITIVE_INFINITY },
    replies: { delayMs: 0, held: false, left: Number.POSITIVE_INFINITY },
  }
  const bytes = { requests: 0, replies: 0 }
  const kept: (() => void)[] = []
  let accepted = 0
  let refused = false
  let onReply: (() => void) | undefined

  const listener = createServer({ noDelay: true }, (client) => {
    accepted += 1
    if (refused) {
      client.resetAndDestroy()
      return
    }
    const pair = { client, server: connect({ port: targetPort, host: targetHost, noDelay: true }) }
    pairs.add(pair)
    carry(pair, 'requests')
    carry(pair, 'replies')
  })

  function carry(pair: Pair, direction: Direction): void {
    const [from, to] = direction === 'requests' ? [pair.client, pair.server] : [pair.server, pair.client]
    let tail = Promise.resolve()
    const later = (act: () => void) => {
      const { delayMs } = rules[direction]
      if (delayMs > 0) {
        const waited = new Promise<void>((resolve) => setTimeout(resolve, delayMs))
        tail = tail.then(() => waited)
      }
      tail = tail.then(() => {
        if (rules[direction].held) kept.push(act)
        else act()
      })
    }
    from.on('data', (chunk: Buffer) => {
      if (direction === 'replies' && onReply !== undefined) {
        const seen = onReply
        onReply = undefined
        end(pair)
        seen()
        return
      }
      later(() => pass(pair, direction, to, chunk))
    })
    from.on('end', () => later(() => to.end()))
    from.on('error', () => end(pair))
    from.on('close', () => {
      // Not told at once when this direction is held: the other side believes in a half-open connection.
      later(() => to.end())
      if (to.destroyed) pairs.delete(pair)
    })
  }

  function pass(pair: Pair, direction: Direction, to: Socket, chunk: Buffer): void {
    const rule = rules[direction]
    const piece = chunk.subarray(0, Math.min(chunk.length, rule.left))
    rule.left -= piece.length
    bytes[direction] += piece.length
    if (rule.left > 0) {
      if (to.writable) to.write(piece)
      return
    }
    rule.left = Number.POSITIVE_INFINITY
    to.write(piece, () => end(pair))
  }

  function end(pair: Pair): void {
    pairs.delete(pair)
    pair.client.resetAndDestroy()
    pair.server.destroy()
  }

  function reset(): void {
    for (const pair of [...pairs]) end(pair)
  }

  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')

  return {
    port: address.port,
    get accepted() {
      return accepted
    },
    bytes,
    delay(direction, ms) {
      rules[direction].delayMs = ms
    },
    hold(direction) {
      if (direction !== 'replies') rules.requests.held = true
      if (direction !== 'requests') rules.replies.held = true
    },
    release() {
      rules.requests.held = false
      rules.replies.held = false
      for (const act of kept.splice(0)) act()
    },
    cutAfter(direction, count) {
      rules[direction].left = count
    },
    dropNextReply: () =>
      new Promise((resolve) => {
        onReply = resolve
      }),
    reset,
    refuse(now) {
      refused = now
    },
    async stop() {
      reset()
      const closed = once(listener, 'close')
      listener.close()
      await closed
    },
  }
}
