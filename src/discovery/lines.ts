import type { SeedSource } from '../coordinator/seed-source.js'
import { ShoalError } from '../errors.js'
import { identityOf, textPieces } from './seed-file.js'

/** A longer line means another kind of file: the whole line would be kept in memory. */
const MAX_LINE_CHARS = 1024 * 1024

/** A file with one URL or JSON entry per line. `-` is standard input, which a later run assumes to start with the same lines. */
export function linesSource(path: string): SeedSource {
  const isStdin = path === '-'
  return {
    name: isStdin ? 'stdin' : `file ${identityOf(path)}`,
    label: isStdin ? 'standard input' : `file ${path}`,
    entries: () => linesOf(textPieces(path)),
  }
}

/** Skips empty lines and lines that start with #. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let half = ''
  const entriesOf = (lines: readonly string[]) =>
    lines.map((line) => line.trim()).filter((entry) => entry !== '' && !entry.startsWith('#'))
  for await (const piece of pieces) {
    const lines = (half + piece).split(/[\r\n]/)
    half = lines.pop() ?? ''
    yield* entriesOf(lines)
    if (half.length > MAX_LINE_CHARS)
      throw new ShoalError('seeds_unreadable', `a line of the file is longer than ${MAX_LINE_CHARS} characters`, {
        hint: 'Pass a file with one URL or JSON entry per line, or a CSV file whose name ends in `.csv`.',
      })
  }
  yield* entriesOf([half])
}
