import { createReadStream, type ReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { ShoalError } from '../errors.js'
import type { SeedSource } from './seeding.js'

/** A file of URLs or JSON entries, one a line; `-` is standard input, whose first lines a later run takes for the same ones. */
export function seedFile(path: string): SeedSource {
  if (path === '-') return { name: 'stdin', entries: () => lines(process.stdin) }
  const { size, mtimeMs } = statOf(path)
  return {
    name: `file ${resolve(path)} ${size} ${Math.round(mtimeMs)}`,
    entries: () => lines(createReadStream(path)),
  }
}

function statOf(path: string) {
  try {
    const stat = statSync(path)
    if (!stat.isDirectory()) return stat
  } catch {
    // Said below.
  }
  throw new ShoalError('usage', `there is no file ${path}`, {
    hint: 'Name a file of URLs, one a line, or - for standard input.',
  })
}

/** Empty lines and lines that begin with # are nothing. */
async function* lines(input: ReadStream | NodeJS.ReadStream): AsyncGenerator<string> {
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const entry = line.trim()
    if (entry !== '' && !entry.startsWith('#')) yield entry
  }
}
