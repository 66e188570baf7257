import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { isMainThread } from 'node:worker_threads'
import type { Clock } from '../../clock.js'
import type { SpiderLevel } from '../../log.js'
import { type PageAbout, runningPage } from '../../worker/running-page.js'
import { OutputText } from './output-text.js'

/** How long a text without a line feed waits for one. */
const OPEN_MS = 500

export interface Printed {
  readonly level: SpiderLevel
  readonly message: string
  readonly page: PageAbout | null
}

/**
 * From now on, what code of this thread prints with `console` or writes to `process.stdout` and `process.stderr` goes to `onPrinted`. Standard output
 * belongs to the results of a command, and the terminal to its progress. Shoal's own commands write to the streams that were there before
 * (cli/terminal/streams.ts); a program that uses Shoal as a library keeps its console. What bypasses the streams, such as `fs.writeSync(1, …)` or a child
 * process with inherited streams, is not captured. Returns the function that hands over what has no line feed yet.
 */
export function captureOutput(clock: Clock, onPrinted: (printed: Printed) => void): () => void {
  /** Of the method of console that is being called. */
  let called: SpiderLevel | null = null
  const stream = (name: 'stdout' | 'stderr', usual: SpiderLevel) => {
    const captured = new CapturedStream(clock, () => called ?? usual, onPrinted)
    if (!isMainThread) keepNodesOwnMethods(process[name], captured)
    Object.defineProperty(process, name, { value: captured, configurable: true, enumerable: true })
    return captured
  }
  const stdout = stream('stdout', 'info')
  const stderr = stream('stderr', 'warn')
  const own = new Console({ stdout, stderr })
  const at = (wanted: SpiderLevel, print: (...values: unknown[]) => void) => {
    return (...values: unknown[]) => {
      called = wanted
      try {
        print(...values)
      } finally {
        called = null
      }
    }
  }
  own.warn = at('warn', own.warn)
  own.error = at('error', own.error)
  Object.assign(console, own)
  return () => {
    stdout.flush()
    stderr.flush()
  }
}

/**
 * In a thread, Node calls a method of `process.stdout` that has a symbol for a name, when the parent has read what was printed so far. That may be at any
 * time, and a stream without the method ended the thread: on Node 24 every worker thread died before its first page.
 */
function keepNodesOwnMethods(original: object, captured: object): void {
  const prototype: object = Object.getPrototypeOf(original)
  for (const name of Object.getOwnPropertySymbols(prototype)) {
    const method: unknown = Reflect.get(prototype, name, original)
    if (typeof method === 'function') Object.defineProperty(captured, name, { value: method.bind(original) })
  }
}

/** Nobody can close it, and it never fails: both would end the thread. */
class CapturedStream extends Writable {
  readonly #clock: Clock
  readonly #levelNow: () => SpiderLevel
  readonly #text: OutputText
  /** Of the text that waits for its line feed. */
  #level: SpiderLevel = 'info'
  #page: PageAbout | null = null
  #cancelFlush = () => {}

  constructor(clock: Clock, levelNow: () => SpiderLevel, onPrinted: (printed: Printed) => void) {
    super({ decodeStrings: false })
    this.#clock = clock
    this.#levelNow = levelNow
    this.#text = new OutputText((message) => onPrinted({ level: this.#level, message, page: this.#page }))
    this.on('error', () => {})
  }

  flush(): void {
    this.#text.flush()
  }

  override _write(piece: string | Uint8Array, encoding: BufferEncoding, done: () => void): void {
    const page = runningPage.current()
    // What one page began, another does not end.
    if (page !== this.#page) this.#text.flush()
    if (!this.#text.isOpen) this.#level = this.#levelNow()
    this.#page = page
    const isText = typeof piece !== 'string' || encoding === 'utf8'
    this.#text.add(isText ? piece : Buffer.from(piece, encoding))
    this.#cancelFlush()
    this.#cancelFlush = this.#text.isOpen ? this.#clock.after(OPEN_MS, () => this.flush()) : () => {}
    done()
  }

  override end(...given: unknown[]): this {
    const [piece] = given
    if (typeof piece === 'string' || piece instanceof Uint8Array) this.write(piece)
    return this
  }

  override destroy(): this {
    return this
  }
}
