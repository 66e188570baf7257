import type { SeedSource } from '../coordinator/seed-source.js'
import { ShoalError } from '../errors.js'
import { identityOf, textPieces } from './seed-file.js'

/** A longer line is no seed, but a file of another kind: it would be kept in memory whole. */
const MAX_LINE_CHARS = 1024 * 1024

/** A file of URLs or JSON entries, one a line; `-` is standard input, whose first lines a later run takes for the same ones. */
export function linesSource(path: string): SeedSource {
  return { name: path === '-' ? 'stdin' : `file ${identityOf(path)}`, entries: () => linesOf(textPieces(path)) }
}

/** Empty lines and lines that begin with # are nothing. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let half = ''
  const entriesOf = (lines: readonly string[]) =>
    lines.map((line) => line.trim()).filter((entry) => entry !== '' && !entry.startsWith('#'))
  for await (const piece of pieces) {
    const lines = (half + piece).split(/[\r\n]/)
    half = lines.pop() ?? ''
    yield* entriesOf(lines)
    if (half.length > MAX_LINE_CHARS)
      throw new ShoalError('seeds_unreadable', `a line of the seeds is longer than ${MAX_LINE_CHARS} characters`, {
        hint: 'Give a file with one URL or JSON entry a line; a CSV file is named with `.csv`.',
      })
  }
  yield* entriesOf([half])
}
