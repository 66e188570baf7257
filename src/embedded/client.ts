import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { entryFile } from '../entry-file.js'
import { asShoalError, ShoalError } from '../errors.js'
import type { EngineCall } from '../sqlite/engine.js'
import { type NativeGate, nativeGate, shutGate } from './native-gate.js'
import type {
  Answer,
  Call,
  DatabaseThreadData,
  FromThread,
  KeepMessage,
  Service,
  ToThread,
  WireError,
} from './protocol.js'

/** Both ends of a thread: a Worker seen from outside, a MessagePort seen from another thread. */
interface DuplexPort {
  postMessage(message: ToThread, transfer?: readonly MessagePort[]): void
  on(event: 'message' | 'close', listener: (message: FromThread) => void): unknown
}

/** Calls to the database thread. Calls made in the same turn of the event loop travel together and share one transaction. */
export class DatabaseClient {
  readonly #port: DuplexPort
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  #calls: Call[] = []
  #nextId = 1
  #dead: Error | null = null
  /** Why what was written is not at its path, as the thread found when it closed the file. */
  closeError: Error | null = null
  /** Called with leases of a worker that turned out to be lost. */
  onLost: (tokens: readonly string[]) => void = () => {}

  constructor(port: DuplexPort) {
    this.#port = port
    port.on('message', (message: FromThread) => {
      if (message.kind === 'answers') for (const answer of message.answers) this.#settle(answer)
      else if (message.kind === 'lost') this.onLost(message.tokens)
      else if (message.kind === 'closed' && message.error !== null) this.closeError = fromWire(message.error)
    })
    port.on('close', () => this.fail(threadEnded()))
  }

  service<Engine>(service: Service): EngineCall<Engine> {
    return ((method: string, ...args: unknown[]) => this.#call(service, method, args)) as EngineCall<Engine>
  }

  keep(message: Omit<KeepMessage, 'kind'>): void {
    this.post({ kind: 'keep', ...message })
  }

  /** See WaitingMessage. */
  waiting(worker: string, tokens: readonly string[]): void {
    this.post({ kind: 'waiting', worker, tokens })
  }

  post(message: ToThread): void {
    this.#port.postMessage(message, message.kind === 'port' ? [message.port as MessagePort] : [])
  }

  fail(error: Error): void {
    this.#dead ??= error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  #call(service: Service, method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#dead !== null) return Promise.reject(this.#dead)
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      this.#waiting.set(id, { resolve, reject })
      if (this.#calls.length === 0) queueMicrotask(() => this.#flush())
      this.#calls.push([id, service, method, args])
    })
  }

  #flush(): void {
    const calls = this.#calls
    this.#calls = []
    try {
      this.post({ kind: 'calls', calls })
    } catch {
      // One of them contains what cannot be cloned: each is sent alone, so that only that one fails.
      for (const call of calls) this.#sendAlone(call)
    }
  }

  #sendAlone(call: Call): void {
    try {
      this.post({ kind: 'calls', calls: [call] })
    } catch (error) {
      this.#waiting.get(call[0])?.reject(asShoalError(error))
      this.#waiting.delete(call[0])
    }
  }

  #settle([id, ok, value]: Answer): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    this.#waiting.delete(id)
    if (ok) waiting.resolve(value)
    else waiting.reject(fromWire(value))
  }
}

/** Long enough for the longest batch; not long enough for a database that another process has locked. */
const EXIT_PATIENCE_MS = 500
const gates = new Set<NativeGate>()

/** Whatever ends this process: in the middle of a native call that would be an abort. */
function shutAtExit(thread: Worker, gate: NativeGate): void {
  if (gates.size === 0) process.on('exit', shutGates)
  gates.add(gate)
  thread.once('exit', () => {
    gates.delete(gate)
    if (gates.size === 0) process.off('exit', shutGates)
  })
}

function shutGates(): void {
  for (const gate of gates) shutGate(gate, EXIT_PATIENCE_MS)
}

/** The database thread of one file. */
export class DatabaseThread {
  readonly client: DatabaseClient
  readonly #thread: Worker
  readonly #ended: Promise<void>

  private constructor(thread: Worker) {
    this.#thread = thread
    this.client = new DatabaseClient(thread)
    this.#ended = new Promise((resolve) => {
      thread.once('exit', () => {
        this.client.fail(threadEnded())
        resolve()
      })
    })
    thread.on('error', (error: Error) => this.client.fail(error))
  }

  static async start(file: string): Promise<DatabaseThread> {
    const data: DatabaseThreadData = { file, gate: nativeGate() }
    const thread = new Worker(entryFile(import.meta.url, './thread.js'), {
      workerData: data,
      // It produces little garbage: a larger young generation would only hold memory.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    shutAtExit(thread, data.gate)
    await new Promise<void>((resolve, reject) => {
      thread.once('message', (message: FromThread) => {
        if (message.kind === 'failed') reject(fromWire(message.error))
        else resolve()
      })
      thread.once('error', reject)
      // A thread that is terminated before its first message ends without an error, and the start would wait for ever.
      thread.once('exit', () => reject(threadEnded()))
    })
    return new DatabaseThread(thread)
  }

  /** A port for another thread of this process, which wraps it in a DatabaseClient. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    this.client.post({ kind: 'port', port: port1 })
    return port2
  }

  async close(): Promise<void> {
    this.client.post({ kind: 'close' })
    await this.#ended
    await this.#thread.terminate()
    if (this.client.closeError !== null) throw this.client.closeError
  }
}

function threadEnded(): ShoalError {
  return new ShoalError('db_unwritable', 'the database thread has ended')
}

function fromWire(error: WireError): Error {
  if (error.code !== null)
    return new ShoalError(error.code, error.message, error.hint === null ? {} : { hint: error.hint })
  const defect = new Error(error.message)
  if (error.stack !== null) defect.stack = error.stack
  return defect
}
