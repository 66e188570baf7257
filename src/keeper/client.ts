import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { type Clock, systemClock } from '../clock.js'
import { entryFile } from '../entry-file.js'
import type { FromKeeper, Holding, KeeperThreadData, Keeping, ToKeeper, ToKept } from './protocol.js'

/** A thread that ends at once, as on a machine without memory, must not be started a thousand times a second. */
const RESTART_AFTER_MS = 1_000

/**
 * The keeper thread of this process. One that ends is replaced, and each worker gets a port of the new one: a worker whose beats had ended with
 * the thread lost every lease, and continued with pages that others fetched again.
 */
export class KeeperThread {
  readonly #address: string
  readonly #clock: Clock
  /** One for each worker, which receives the ports of the keeper threads over it. */
  readonly #workers = new Set<MessagePort>()
  #thread: Worker
  #cancelRestart = () => {}
  #isClosed = false

  constructor(address: string, clock: Clock = systemClock) {
    this.#address = address
    this.#clock = clock
    this.#thread = this.#start()
  }

  /** A port for one worker, in this thread or another. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    this.#workers.add(port1)
    port1.on('close', () => this.#workers.delete(port1))
    port1.unref()
    this.#introduce(port1)
    return port2
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelRestart()
    for (const worker of this.#workers) worker.close()
    await this.#thread.terminate()
  }

  #start(): Worker {
    const data: KeeperThreadData = { address: this.#address }
    const thread = new Worker(entryFile(import.meta.url, './thread.js'), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    // The thread keeps no process alive, and its failure ends none.
    thread.unref()
    thread.on('error', () => {})
    thread.once('exit', () => {
      if (this.#isClosed) return
      this.#cancelRestart = this.#clock.after(RESTART_AFTER_MS, () => {
        this.#thread = this.#start()
        for (const worker of this.#workers) this.#introduce(worker)
      })
    })
    return thread
  }

  #introduce(worker: MessagePort): void {
    const { port1, port2 } = new MessageChannel()
    this.#thread.postMessage(port1, [port1])
    worker.postMessage({ keeper: port2 } satisfies ToKept, [port2])
  }
}

const READY_PATIENCE_MS = 10_000

export interface Kept {
  /** A lease taken before may be lost again, on a machine where a thread takes seconds to start. */
  readonly ready: Promise<void>
  stop(): void
}

/** Has the worker's leases kept until it is stopped. */
export function keepThrough(
  port: MessagePort,
  keeper: Keeping & {
    readonly held: () => readonly Holding[]
    readonly onLost: (tokens: readonly string[]) => void
  },
  clock: Clock = systemClock,
): Kept {
  const { held, onLost, ...keeping } = keeper
  let thread: MessagePort | null = null
  const send = (message: ToKeeper) => thread?.postMessage(message)
  const ready = new Promise<void>((resolve) => {
    port.on('message', (message: ToKept) => {
      thread?.close()
      thread = message.keeper
      thread.on('message', (news: FromKeeper) => {
        if (news.kind === 'lost') onLost(news.tokens)
        else resolve()
      })
      thread.unref()
      send({ kind: 'keep', ...keeping })
      send({ kind: 'holding', leases: held() })
    })
    port.on('close', resolve)
    // A thread that cannot start must not stop its worker: the queue says which leases it loses.
    clock.after(READY_PATIENCE_MS, resolve)
  })
  port.unref()
  let cancel = () => {}
  const sendHolding = () => {
    send({ kind: 'holding', leases: held() })
    cancel = clock.after(keeping.heartbeatMs / 2, sendHolding)
  }
  sendHolding()
  return {
    ready,
    stop() {
      cancel()
      send({ kind: 'leave' })
      thread?.close()
      port.close()
    },
  }
}
