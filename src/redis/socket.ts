import { readFile } from 'node:fs/promises'
import { createClient, RESP_TYPES } from '@redis/client'
import type { Clock, Random } from '../clock.js'
import { ShoalError } from '../errors.js'
import { nameOf, type Server } from './address.js'
import {
  dialError,
  isReply,
  leadsToWrongServer,
  refusesAll,
  replyError,
  silentError,
  unreachable,
} from './redis-errors.js'

/** Bulk and status strings come as Buffers: payloads are opaque bytes. */
export type RedisReply = Buffer | number | null | readonly RedisReply[]

/**
 * One connection to one server. It dials when it is needed, and again after it was lost. A command whose reply did not come is rejected
 * once with `queue_down` and never sent again: whether it ran is unknown, and only the caller knows how to repeat it.
 */
export interface RedisSocket {
  call(args: readonly (string | Buffer)[], before?: readonly string[]): Promise<RedisReply>
  close(): void
}

export interface SocketOptions {
  /** Called before anything is sent on another connection. */
  readonly onLost?: () => void
  /** The server to dial; asked before every dial. */
  readonly target: () => Promise<Server>
  readonly deadlineMs: number
  readonly clock: Clock
  readonly random: Random
}

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000
/** A dial ends before the calls that wait for it, so that they can say why it failed. */
const DIAL_SHARE = 0.8
/** After a freeze of this process timers fire before replies are read: what has arrived meanwhile still counts. */
const GRACE_MS = 250

interface Connected {
  readonly client: Client
  readonly server: Server
  repliedAt: number
}

type Client = Awaited<ReturnType<typeof makeClient>>

async function makeClient(server: Server, connectTimeout: number) {
  const { host, port, credentials, tls, database } = server
  const socket = { host, port, connectTimeout, reconnectStrategy: false } as const
  return createClient({
    socket: tls === null ? socket : { ...socket, tls: true, ...(await trust(server)) },
    ...credentials,
    database,
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandOptions: {
      typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer },
      timeout: 0,
    },
  })
}

async function trust({ tls }: Server): Promise<{ ca?: Buffer; servername?: string }> {
  const { caFile, servername } = tls ?? {}
  const named = servername === undefined ? {} : { servername }
  if (caFile === undefined) return named
  try {
    return { ...named, ca: await readFile(caFile) }
  } catch {
    throw new ShoalError('queue_tls', `The CA file '${caFile}' of the Redis queue cannot be read.`)
  }
}

export function openSocket({ target, deadlineMs, clock, random, onLost }: SocketOptions): RedisSocket {
  let current: Promise<Connected> | undefined
  let failures = 0
  let closed = false
  let greeting: Client | undefined

  function connected(): Promise<Connected> {
    if (current === undefined) {
      const dialed = dial()
      current = dialed
      dialed.then(
        ({ client }) => {
          client.on('end', () => forget(dialed))
          // Also after a reply that cannot be read: what follows it could be taken for another call's.
          client.on('error', () => client.destroy())
        },
        () => forget(dialed),
      )
    }
    return current
  }

  function forget(lost: Promise<Connected>): void {
    if (current !== lost) return
    current = undefined
    onLost?.()
  }

  async function dial(): Promise<Connected> {
    if (failures > 0) {
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
      await clock.sleep(pause * (0.5 + random() / 2))
    }
    failures += 1
    if (closed) throw unreachable('the connection was closed')
    const server = await target()
    const dialMs = Math.round(deadlineMs * DIAL_SHARE)
    const client = await makeClient(server, dialMs).catch((error: unknown) => {
      throw dialError(error, server)
    })
    // Without a listener an 'error' event would end the process.
    client.on('error', () => {})
    greeting = client
    // The greeting (TLS, AUTH, SELECT, PING) has no deadline of its own.
    let tooLate = false
    const cancel = clock.after(dialMs, () => {
      tooLate = true
      client.destroy()
    })
    try {
      await client.connect()
      // A load balancer takes the connection also when nothing is behind it.
      await client.sendCommand(['PING']).catch((error: unknown) => {
        if (!isReply(error) || refusesAll(error)) throw error
      })
      if (closed) throw unreachable('the connection was closed')
    } catch (error) {
      client.destroy()
      throw tooLate ? silentError(server) : dialError(error, server)
    } finally {
      cancel()
      greeting = undefined
    }
    failures = 0
    return { client, server, repliedAt: clock.mono() }
  }

  function send(
    { client }: Connected,
    args: readonly (string | Buffer)[],
    before?: readonly string[],
  ): Promise<RedisReply> {
    // Written in the same tick, so nothing comes between the two.
    if (before !== undefined) client.sendCommand(before).catch(() => {})
    return client.sendCommand<RedisReply>(args)
  }

  async function exchange(
    args: readonly (string | Buffer)[],
    before: readonly string[] | undefined,
    until: number,
    sent: (on: Connected) => void,
  ) {
    const dialed = connected()
    const found = await dialed
    if (clock.mono() >= until) throw unreachable(`no connection within ${deadlineMs} ms`)
    sent(found)
    try {
      const reply = await send(found, args, before)
      found.repliedAt = clock.mono()
      return reply
    } catch (error) {
      if (!isReply(error)) {
        forget(dialed)
        throw unreachable(`the connection to ${nameOf(found.server)} was lost`, error)
      }
      found.repliedAt = clock.mono()
      if (leadsToWrongServer(error)) found.client.destroy()
      throw replyError(error, found.server)
    }
  }

  return {
    async call(args, before) {
      if (closed) throw new ShoalError('closed', 'The connection to Redis was closed.')
      const until = clock.mono() + deadlineMs
      return await new Promise<RedisReply>((resolve, reject) => {
        let sentOn: Connected | undefined
        const tooLate = () => {
          reject(unreachable(`no answer within ${deadlineMs} ms`))
          // While other calls are answered the server is slow, and the connection sound.
          if (sentOn !== undefined && clock.mono() - sentOn.repliedAt >= deadlineMs) sentOn.client.destroy()
        }
        let cancel = clock.after(deadlineMs, () => {
          cancel = clock.after(GRACE_MS, tooLate)
        })
        exchange(args, before, until, (on) => {
          sentOn = on
        })
          .then(resolve, reject)
          .finally(() => cancel())
      })
    },
    close() {
      closed = true
      greeting?.destroy()
      current?.then(
        ({ client }) => client.destroy(),
        () => {},
      )
      current = undefined
    },
  }
}
