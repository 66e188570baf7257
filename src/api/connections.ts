import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../clock.js'

/**
 * Who may keep a connection. Nobody who has the token, and no probe, is shut out by those who have none: a new connection is always accepted, and when
 * there are too many without a token, the oldest one of the address with the most of them is closed. On one machine all clients have the same address,
 * so a limit per address that refuses newcomers would refuse the owner: 700 idle connections did.
 */
export interface ConnectionLimits {
  /** Connections that have not sent the token yet. */
  readonly strangers: number
  /** Connections that have. They are never closed for others; over this number they end with their response. */
  readonly trusted: number
}

/** How long a connection without a token may take to send its request, and may idle after a response. */
export const STRANGER_MS = 5_000
/** Accepted in one turn of the event loop before the first of them is closed: the backlog of a listening socket, twice. */
const IN_ONE_TURN = 1_024

export interface Connections {
  /** The connection has sent the token; false: there are enough of those, and it should end with its response. */
  trust(socket: Socket): boolean
  /** Call it for each request: a connection without the token does not idle long after its response. */
  answering(socket: Socket, response: ServerResponse): void
}

export function limitConnections(server: Server, limits: ConnectionLimits, clock: Clock): Connections {
  const strangers = new Strangers<Socket>(limits.strangers)
  const trusted = new Set<Socket>()
  /** Cancels the end of a connection that idles. */
  const idle = new WeakMap<Socket, () => void>()
  // Only a bug here could reach it.
  server.maxConnections = limits.strangers + limits.trusted + IN_ONE_TURN
  server.on('connection', (socket: Socket) => {
    socket.once('close', () => {
      strangers.delete(socket)
      trusted.delete(socket)
      idle.get(socket)?.()
    })
    strangers.add(socket, socket.remoteAddress ?? '')?.destroy()
  })
  return {
    trust(socket) {
      if (trusted.has(socket)) return true
      if (trusted.size >= limits.trusted) return false
      strangers.delete(socket)
      trusted.add(socket)
      return true
    },
    answering(socket, response) {
      idle.get(socket)?.()
      response.once('finish', () => {
        if (trusted.has(socket) || socket.destroyed) return
        idle.set(
          socket,
          clock.after(STRANGER_MS, () => socket.destroy()),
        )
      })
    },
  }
}

/** Connections by address, oldest first. */
export class Strangers<Connection> {
  readonly #most: number
  readonly #addresses = new Map<Connection, string>()
  readonly #byAddress = new Map<string, Set<Connection>>()

  constructor(most: number) {
    this.#most = most
  }

  /** Returns the connection that has to make room, if there is one. */
  add(connection: Connection, address: string): Connection | null {
    this.#addresses.set(connection, address)
    const those = this.#byAddress.get(address)
    if (those === undefined) this.#byAddress.set(address, new Set([connection]))
    else those.add(connection)
    if (this.#addresses.size <= this.#most) return null
    const oldest = this.#oldestOfTheMost()
    if (oldest !== null) this.delete(oldest)
    return oldest
  }

  delete(connection: Connection): void {
    const address = this.#addresses.get(connection)
    if (address === undefined) return
    this.#addresses.delete(connection)
    const those = this.#byAddress.get(address)
    those?.delete(connection)
    if (those?.size === 0) this.#byAddress.delete(address)
  }

  #oldestOfTheMost(): Connection | null {
    let most: Set<Connection> | null = null
    for (const those of this.#byAddress.values()) if (most === null || those.size > most.size) most = those
    for (const connection of most ?? []) return connection
    return null
  }
}
