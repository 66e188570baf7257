import type { ServerResponse } from 'node:http'
import { type Clock, inTime } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { Log } from '../log.js'
import { failureOf } from './failure.js'
import type { Snapshots } from './snapshots.js'

/**
 * Server-sent events: one snapshot per second for all clients while any is connected, serialised once. Nothing is buffered for a slow reader: as
 * long as the last event is not sent, the next ones are skipped, and after STUCK_MS the connection is closed.
 */
export interface EventHub {
  /** Adds a client, which gets the events of a crawl too if one is named. Throws when there are too many. */
  join(response: ServerResponse, crawl: string | null): void
  readonly listeners: number
  /** Sends a final snapshot and `bye`. Waits for readers, but not for long. */
  sayBye(snapshots: Snapshots): Promise<void>
  close(): void
}

export const EVENTS_TYPE = 'text/event-stream; charset=utf-8'
const EVERY_MS = 1_000
const CLIENTS_MOST = 500
const CRAWLS_MOST = 20
const STUCK_MS = 30_000
/** A snapshot that takes longer is not waited for: a comment keeps the connection alive. */
const PATIENCE_MS = 5_000
/** How long shutdown waits for the last snapshot and the last bytes. */
const LAST_MS = 1_000

interface Client {
  readonly response: ServerResponse
  readonly crawl: string | null
  stuckSince: number | null
}

export function createEventHub({
  snapshots,
  clock,
  log,
}: {
  readonly snapshots: Snapshots
  readonly clock: Clock
  readonly log: Log
}): EventHub {
  const clients = new Set<Client>()
  const closed = new AbortController()
  let turning = false

  const leave = (client: Client) => {
    clients.delete(client)
    client.response.destroy()
  }
  const send = (client: Client, bytes: Buffer) => {
    const { response } = client
    if (response.destroyed) return leave(client)
    if (response.writableLength === 0) {
      client.stuckSince = null
      response.write(bytes)
      return
    }
    client.stuckSince ??= clock.mono()
    if (clock.mono() - client.stuckSince > STUCK_MS) leave(client)
  }
  const event = async (name: string, ask: () => Promise<unknown>, patienceMs: number): Promise<Buffer> => {
    try {
      return eventBytes(name, await inTime(ask(), clock, { ms: patienceMs, late: () => LATE }))
    } catch (error) {
      return error === LATE
        ? Buffer.from(': still looking\n\n')
        : eventBytes('problem', failureOf(error, log, 'read').answer)
    }
  }
  /** What each client receives now. */
  const news = async (snapshots: Snapshots, patienceMs: number): Promise<(client: Client) => Buffer> => {
    const crawls = [...new Set([...clients].map(({ crawl }) => crawl))].filter((crawl) => crawl !== null)
    const [overview, ...ofCrawls] = await Promise.all([
      event('overview', () => snapshots.overview(), patienceMs),
      ...crawls.map((crawl) => event('crawl', () => snapshots.crawl(crawl), patienceMs)),
    ])
    const both = new Map(crawls.map((crawl, i) => [crawl, Buffer.concat([overview, ofCrawls[i] ?? EMPTY])]))
    return ({ crawl }) => (crawl === null ? null : both.get(crawl)) ?? overview
  }
  const keepTurning = async () => {
    turning = true
    while (clients.size > 0 && !closed.signal.aborted) {
      const begun = clock.mono()
      const bytesFor = await news(snapshots, PATIENCE_MS)
      if (closed.signal.aborted) break
      for (const client of clients) send(client, bytesFor(client))
      await clock.sleep(Math.max(EVERY_MS / 4, EVERY_MS - (clock.mono() - begun)), closed.signal)
    }
    turning = false
  }

  return {
    get listeners() {
      return clients.size
    },
    join(response, crawl) {
      const watched = new Set([...clients].map((client) => client.crawl).filter((one) => one !== null))
      if (clients.size >= CLIENTS_MOST) throw tooMany(`${CLIENTS_MOST} listeners are here already`)
      if (crawl !== null && !watched.has(crawl) && watched.size >= CRAWLS_MOST)
        throw tooMany(`${CRAWLS_MOST} crawls are watched already`)
      response.writeHead(200, { 'content-type': EVENTS_TYPE, 'x-accel-buffering': 'no' })
      response.write('retry: 2000\n: hello\n\n')
      const client = { response, crawl, stuckSince: null }
      clients.add(client)
      response.once('close', () => clients.delete(client))
      response.on('error', () => leave(client))
      if (!turning) void keepTurning()
    },
    async sayBye(lastLook) {
      closed.abort()
      if (clients.size === 0) return
      const bytesFor = await news(lastLook, LAST_MS)
      const read = [...clients].map(
        (client) =>
          new Promise<void>((resolve) => {
            client.response.once('close', () => resolve())
            client.response.end(Buffer.concat([bytesFor(client), BYE]), () => resolve())
          }),
      )
      const enough = new AbortController()
      await Promise.race([Promise.all(read), clock.sleep(LAST_MS, enough.signal)])
      enough.abort()
    },
    close() {
      closed.abort()
      for (const client of clients) client.response.end()
      clients.clear()
    },
  }
}

const EMPTY = Buffer.alloc(0)
const BYE = eventBytes('bye', {})
const LATE = Symbol('late')

/** JSON.stringify never produces a line break, which would end the event. */
function eventBytes(name: string, data: unknown): Buffer {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
}

function tooMany(message: string): ShoalError {
  return new ShoalError('too_many_requests', message, { hint: 'Close some of the open pages and try again.' })
}
