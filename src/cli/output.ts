import { Writable } from 'node:stream'
import { ShoalError } from '../errors.js'
import { jsonText } from '../json-text.js'
import { cleanLayout } from './terminal/clean.js'
import { stderr, stdout } from './terminal/streams.js'
import { type Style, styleFor } from './terminal/style.js'
import { type Column, table } from './terminal/table.js'

/** Results go to standard output, everything else (progress, notes, errors) to standard error. */
export interface Output {
  readonly style: Style
  /** Columns of the terminal; Infinity for a pipe, where nothing is cut. */
  readonly width: number
  print(line?: string): void
  /** One JSON document on one line. */
  json(value: unknown): void
  /** One JSON document per line. */
  jsonLines(values: readonly unknown[]): void
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void
  /** Content from the web, byte for byte; on a terminal as text without control characters. */
  bytes(bytes: Uint8Array): void
  /** A remark about the result, on standard error. */
  note(line: string): void
}

export function standardOutput(): Output {
  const style = styleFor(stdout, process.env)
  const width = stdout.isTTY ? stdout.columns || 80 : Number.POSITIVE_INFINITY
  const print = (line = '') => void stdout.write(`${cleanLayout(line)}\n`)
  const json = (value: unknown) => void stdout.write(`${jsonText(value)}\n`)
  return {
    style,
    width,
    print,
    json,
    jsonLines(values) {
      for (const value of values) json(value)
    },
    table(columns, rows) {
      for (const line of table(columns, rows, width, style.dim)) print(line)
    },
    bytes(bytes) {
      if (!stdout.isTTY) stdout.write(bytes)
      else for (const line of new TextDecoder().decode(bytes).split(/\r?\n/)) print(line)
    },
    note: (line) => void stderr.write(`${cleanLayout(line)}\n`),
  }
}

/** Where an export goes without `--out`: byte for byte into a pipe or a file, without control characters on a terminal. */
export function exportStream(): Writable {
  if (!stdout.isTTY) return stdout
  const decoder = new TextDecoder()
  return new Writable({
    write(piece: Uint8Array, _encoding, done) {
      stdout.write(cleanLayout(decoder.decode(piece, { stream: true })), done)
    },
  })
}

/** Resolves when all output has left the process: process.exit would truncate a slow pipe. */
export async function flushed(): Promise<void> {
  const flush = (stream: NodeJS.WriteStream) => new Promise<void>((resolve) => stream.write('', () => resolve()))
  await Promise.all([flush(stdout), flush(stderr)])
}

/**
 * What a failed write to standard output means. Null: the reader closed the pipe (`| head`), it has what it wanted. Anything else, such as a full
 * disk, means that the result is missing or cut off, and must not look like success.
 */
export function brokenOutput(error: NodeJS.ErrnoException): ShoalError | null {
  if (error.code === 'EPIPE') return null
  return new ShoalError('out_unwritable', `standard output cannot be written: ${error.code ?? error.message}`, {
    cause: error,
    hint: error.code === 'ENOSPC' ? 'Free some space, or write to another disk.' : 'Check where the output goes.',
  })
}
