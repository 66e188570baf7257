import { stripVTControlCharacters } from 'node:util'
import { MAX_LINE } from '../../spider/page-notes.js'

/** More is never shown, and must not be decoded. */
const MAX_BYTES = 4 * MAX_LINE

/**
 * What is written to a stream, as messages: one for each write that ends a line, so that a table or an object stays in one piece. What has no line
 * feed yet waits for it.
 */
export class OutputText {
  readonly #emit: (message: string) => void
  #open = ''
  /** Characters since the last message, also those that are not kept. */
  #length = 0

  constructor(emit: (message: string) => void) {
    this.#emit = emit
  }

  /** Something has no line feed yet. */
  get isOpen(): boolean {
    return this.#length > 0
  }

  add(piece: string | Uint8Array): void {
    if (piece.length === 0) return
    const text = typeof piece === 'string' ? piece : decoded(piece)
    if (this.#open.length < MAX_LINE) this.#open += text.slice(0, MAX_LINE - this.#open.length)
    this.#length += piece.length > MAX_BYTES ? piece.length : text.length
    const ends = typeof piece === 'string' ? piece.endsWith('\n') : piece.at(-1) === LINE_FEED
    if (ends) this.flush()
  }

  /** The rest, without its line feed. */
  flush(): void {
    if (this.#length === 0) return
    const message = plain(this.#open)
    const cut = this.#length > this.#open.length ? `… (${this.#length} characters)` : ''
    this.#open = ''
    this.#length = 0
    this.#emit(message + cut)
  }
}

const LINE_FEED = 0x0a

/** Binary output is shown as text as far as it is one. */
function decoded(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, MAX_BYTES))
}

/** Without colours and cursor movements; of a line that is overwritten again and again, as progress bars are, the last state. */
function plain(text: string): string {
  return stripVTControlCharacters(text)
    .split('\n')
    .map((line) => {
      const ended = line.endsWith('\r') ? line.slice(0, -1) : line
      return ended.slice(ended.lastIndexOf('\r') + 1)
    })
    .join('\n')
    .trimEnd()
}
