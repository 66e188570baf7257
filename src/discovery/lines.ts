import { createReadStream, type ReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { SeedSource } from '../coordinator/seed-source.js'
import { identityOf } from './file-identity.js'

/** A file of URLs or JSON entries, one a line; `-` is standard input, whose first lines a later run takes for the same ones. */
export function linesSource(path: string): SeedSource {
  if (path === '-') return { name: 'stdin', entries: () => lines(process.stdin) }
  return { name: `file ${identityOf(path)}`, entries: () => lines(createReadStream(path)) }
}

/** Empty lines and lines that begin with # are nothing. */
async function* lines(input: ReadStream | NodeJS.ReadStream): AsyncGenerator<string> {
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const entry = line.trim()
    if (entry !== '' && !entry.startsWith('#')) yield entry
  }
}
