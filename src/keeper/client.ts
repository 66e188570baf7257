import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { type Clock, systemClock } from '../clock.js'
import { entryFile } from '../entry-file.js'
import type { FromKeeper, Holding, KeeperThreadData, Keeping, ToKeeper } from './protocol.js'

/** The keeper thread of this process. */
export class KeeperThread {
  readonly #thread: Worker

  constructor(address: string) {
    const data: KeeperThreadData = { address }
    this.#thread = new Worker(entryFile(import.meta.url, './thread.js'), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    // The thread keeps no process alive, and its failure ends none: a worker whose leases are not renewed loses them, and the queue says so.
    this.#thread.unref()
    this.#thread.on('error', () => {})
  }

  /** A port for one worker, in this thread or another. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    this.#thread.postMessage(port1, [port1])
    return port2
  }

  async close(): Promise<void> {
    await this.#thread.terminate()
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
  const send = (message: ToKeeper) => port.postMessage(message)
  send({ kind: 'keep', ...keeping })
  const ready = new Promise<void>((resolve) => {
    port.on('message', (message: FromKeeper) => {
      if (message.kind === 'lost') onLost(message.tokens)
      else resolve()
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
      port.close()
    },
  }
}
