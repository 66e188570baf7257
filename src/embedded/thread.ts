import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { LeaseReply, LeaseRequest, Settlement } from '../frontier/frontier.js'
import { BEATS_PER_LOST_AFTER } from '../frontier/liveness.js'
import { SqliteFrontierEngine } from '../frontier/sqlite/sqlite-engine.js'
import { SqliteNotesEngine } from '../notes/sqlite/sqlite-notes-engine.js'
import { SqliteLedgerEngine } from '../proxy/sqlite/sqlite-ledger-engine.js'
import type { SqliteDb } from '../sqlite/db.js'
import type { SqliteEngine } from '../sqlite/engine.js'
import { WatchedFiles } from '../sqlite/watched-file.js'
import { storeEngines } from '../store/sqlite/store-engines.js'
import { rescue } from './lost-file.js'
import { throughGate } from './native-gate.js'
import { openDatabase } from './open-database.js'
import type {
  Answer,
  Call,
  DatabaseThreadData,
  FromThread,
  KeepMessage,
  Service,
  ToThread,
  WaitingMessage,
  WireError,
} from './protocol.js'

/**
 * The database thread: one connection, one transaction for all calls that are waiting. Leases are kept alive and expired ones reaped
 * from here, so that neither depends on the event loop that runs the user's handlers.
 */

/** How often it is checked whether a beat or a renewal is due. */
const KEEP_EVERY_MS = 100
const REAP_EVERY_MS = 1_000
const REAP_AT_ONCE = 200
/** How often it is checked that the file is still at its path: two calls of stat, about 10 µs. */
const WATCH_EVERY_MS = 1_000

const NOTHING_LEASED: LeaseReply = { leases: [], idleMs: REAP_EVERY_MS, drain: false }

interface KeptWorker {
  readonly port: MessagePort
  readonly message: KeepMessage
  /** Token → monotonic time at which the lease is no longer kept. */
  readonly held: Map<string, number>
  /** Monotonic times of the next beat, and of the next renewal. */
  beatAt: number
  extendAt: number
}

function main(port: MessagePort, { file, gate }: DatabaseThreadData): void {
  const clock = systemClock
  let db: SqliteDb
  let frontier: SqliteFrontierEngine
  let proxies: SqliteLedgerEngine
  let files: WatchedFiles
  const engines = new Map<string, SqliteEngine>()
  try {
    throughGate(gate, () => {
      db = openDatabase(file)
      frontier = new SqliteFrontierEngine(db, clock)
      proxies = new SqliteLedgerEngine(db, clock)
      engines.set('frontier', frontier).set('proxies', proxies).set('notes', new SqliteNotesEngine(db, clock))
      for (const [part, engine] of Object.entries(storeEngines(db))) engines.set(`store.${part}`, engine)
      files = new WatchedFiles(file)
    })
  } catch (error) {
    send(port, { kind: 'failed', error: toWire(error) })
    port.close()
    return
  }
  const keepers = new Map<string, KeptWorker>()

  const run = (service: Service, name: string, args: readonly unknown[]): unknown => {
    const engine = engines.get(service) as unknown as Record<string, (...args: readonly unknown[]) => unknown>
    const method = engine[name] as (...args: readonly unknown[]) => unknown
    return method.apply(engine, args as unknown[])
  }

  const isRead = ([, service, name]: Call): boolean => engines.get(service)?.reads.has(name) === true

  const transaction = <T>(work: () => T): T =>
    db.transaction(() => {
      const result = work()
      frontier.beforeCommit()
      proxies.beforeCommit()
      return result
    })

  /** Workers known to be dead. A call that one of them sent before may arrive later, and nobody would work on what it leased. */
  const forfeited = new Set<string>()

  const runOne = (call: Call): Answer => {
    const [id, service, name, args] = call
    if (name === 'lease' && forfeited.has((args[0] as LeaseRequest).worker)) return [id, true, NOTHING_LEASED]
    // A read in the middle of a batch of changes must see them.
    if (service === 'frontier' && isRead(call)) frontier.beforeCommit()
    const result = run(service, name, args)
    if (service === 'frontier') noteLeases(name, args, result)
    return [id, true, result]
  }

  /** Leases granted and settled here are known here: the worker need not report them. */
  const noteLeases = (name: string, args: readonly unknown[], result: unknown): void => {
    if (name === 'lease') {
      const keeper = keepers.get((args[0] as LeaseRequest).worker)
      if (keeper === undefined) return
      const until = clock.mono() + keeper.message.holdMs
      for (const { token } of (result as LeaseReply).leases) keeper.held.set(token, until)
    } else if (name === 'settle') {
      for (const { lease } of args[0] as Settlement[])
        for (const keeper of keepers.values()) keeper.held.delete(lease.token)
    } else if (name === 'forfeit') {
      forfeited.add(args[0] as string)
      keepers.delete(args[0] as string)
    }
  }

  const rolledBack = (): void => {
    frontier.rolledBack()
    proxies.rolledBack()
  }

  /** Set for good once the file is not at its path any more: nothing that is written would be found again. */
  let lost: WireError | null = null
  const watch = (): void => {
    // What is only read cannot be lost here.
    if (lost !== null || db.access === 'read') return
    const change = files.change()
    if (change !== null) lost = toWire(rescue(db, change, process.pid))
  }

  const runAll = (calls: readonly Call[]): Answer[] => {
    if (lost !== null) {
      const error = lost
      return calls.map(([id]) => [id, false, error])
    }
    if (calls.every(isRead)) return calls.map(runAlone)
    if (calls.length === 1) return calls.map(runAlone)
    try {
      return transaction(() => calls.map(runOne))
    } catch {
      // One of them failed and rolled back the others: each is run alone, so that only the failing one gets its error.
      rolledBack()
      return calls.map(runAlone)
    }
  }

  const runAlone = (call: Call): Answer => {
    try {
      return isRead(call) ? runOne(call) : transaction(() => runOne(call))
    } catch (error) {
      rolledBack()
      return [call[0], false, toWire(error)]
    }
  }

  const listen = (client: MessagePort): void => {
    client.on('message', (first: ToThread) => {
      // All calls that are waiting share one transaction: a commit costs more than a call.
      let calls: Call[] = []
      const answer = () => {
        if (calls.length > 0) {
          const together = calls
          send(client, { kind: 'answers', answers: throughGate(gate, () => runAll(together)) })
        }
        calls = []
      }
      for (let message: ToThread | undefined = first; message !== undefined; ) {
        if (message.kind === 'calls') for (const call of message.calls) calls.push(call)
        else {
          // In the order in which they were sent: leases granted after a `keep` are to be kept.
          answer()
          handle(client, message)
        }
        message = receiveMessageOnPort(client)?.message as ToThread | undefined
      }
      answer()
    })
  }

  const handle = (client: MessagePort, message: ToThread): void => {
    if (message.kind === 'keep' && !forfeited.has(message.worker)) {
      const extendAt = clock.mono() + message.heartbeatMs
      keepers.set(message.worker, { port: client, message, held: new Map(), beatAt: 0, extendAt })
      // Before its first lease: a worker that dies a moment later is missed.
      keepAlive()
    } else if (message.kind === 'waiting') keepLonger(message)
    else if (message.kind === 'port') listen(message.port as MessagePort)
    else if (message.kind === 'close') {
      clearInterval(reaper)
      clearInterval(beat)
      clearInterval(watcher)
      throughGate(gate, () => {
        watch()
        db.close()
      })
      send(client, { kind: 'closed', error: lost })
      port.close()
      process.exit(0)
    }
  }

  const keepLonger = ({ worker, tokens }: WaitingMessage): void => {
    const keeper = keepers.get(worker)
    if (keeper === undefined) return
    const until = clock.mono() + keeper.message.holdMs
    for (const token of tokens) if (keeper.held.has(token)) keeper.held.set(token, until)
  }

  const beatAndExtend = (worker: string, keeper: KeptWorker): void => {
    const { lostAfterMs, heartbeatMs } = keeper.message
    const now = clock.mono()
    if (now >= keeper.beatAt) {
      const expected = transaction(() => frontier.beat(worker, lostAfterMs))
      keeper.beatAt = now + lostAfterMs / BEATS_PER_LOST_AFTER
      // It was lost, because this process did not run for a while: what it held is checked now.
      if (!expected) keeper.extendAt = now
    }
    if (now < keeper.extendAt) return
    keeper.extendAt = now + heartbeatMs
    for (const [token, until] of keeper.held) if (until < now) keeper.held.delete(token)
    if (keeper.held.size === 0) return
    const lost = transaction(() => frontier.extend(worker, [...keeper.held.keys()]))
    for (const token of lost) keeper.held.delete(token)
    if (lost.length > 0) send(keeper.port, { kind: 'lost', worker, tokens: lost })
  }

  /** The database may be locked or the disk full for a while: the next turn tries again, and the workers' calls report it. */
  const quietly = (work: () => void) => () => {
    try {
      throughGate(gate, work)
    } catch {
      rolledBack()
    }
  }
  const keepAlive = quietly(() => {
    if (lost !== null) return
    for (const [worker, keeper] of keepers) beatAndExtend(worker, keeper)
  })
  const beat = setInterval(keepAlive, KEEP_EVERY_MS)
  const reaper = setInterval(
    quietly(() => {
      if (lost === null && keepers.size > 0) transaction(() => frontier.reap(REAP_AT_ONCE))
    }),
    REAP_EVERY_MS,
  )
  const watcher = setInterval(quietly(watch), WATCH_EVERY_MS)
  listen(port)
  send(port, { kind: 'ready' })
}

function send(port: MessagePort, message: FromThread): void {
  port.postMessage(message)
}

function toWire(error: unknown): WireError {
  if (error instanceof ShoalError) return { code: error.code, message: error.message, hint: error.hint, stack: null }
  // Engines parse only what they have written themselves.
  if (error instanceof SyntaxError)
    return toWire(new ShoalError('db_corrupt', `a stored value is not JSON: ${error.message}`))
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { code: null, message, hint: null, stack: stack ?? null }
}

if (parentPort !== null) main(parentPort, workerData as DatabaseThreadData)
