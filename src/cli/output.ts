import { clean } from './terminal/clean.js'
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
  const style = styleFor(process.stdout, process.env)
  const width = process.stdout.isTTY ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY
  const print = (line = '') => void process.stdout.write(`${line}\n`)
  return {
    style,
    width,
    print,
    json: (value) => print(JSON.stringify(value)),
    jsonLines(values) {
      for (const value of values) print(JSON.stringify(value))
    },
    table(columns, rows) {
      for (const line of table(columns, rows, width, style.dim)) print(line)
    },
    bytes(bytes) {
      if (!process.stdout.isTTY) process.stdout.write(bytes)
      else for (const line of new TextDecoder().decode(bytes).split(/\r?\n/)) print(clean(line))
    },
    note: (line) => void process.stderr.write(`${line}\n`),
  }
}

/** Resolves when all output has left the process: process.exit would truncate a slow pipe. */
export async function flushed(): Promise<void> {
  const flush = (stream: NodeJS.WriteStream) => new Promise<void>((resolve) => stream.write('', () => resolve()))
  await Promise.all([flush(process.stdout), flush(process.stderr)])
}
