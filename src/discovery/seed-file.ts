import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { ShoalError } from '../errors.js'

/** Path, size and time of a file: a name that changes when the file does. */
export function identityOf(path: string): string {
  try {
    const stat = statSync(path)
    if (!stat.isDirectory()) return `${resolve(path)} ${stat.size} ${Math.round(stat.mtimeMs)}`
  } catch {
    // Reported below.
  }
  throw new ShoalError('usage', `there is no file ${path}`, {
    hint: 'Pass a file with one URL per line, a .csv file, or - for standard input.',
  })
}

/** A file as text, piece by piece; `-` is standard input. */
export async function* textPieces(path: string): AsyncGenerator<string> {
  const input = path === '-' ? process.stdin.setEncoding('utf8') : createReadStream(path, { encoding: 'utf8' })
  try {
    for await (const piece of input) yield String(piece)
  } catch (error) {
    const name = path === '-' ? 'standard input' : path
    throw new ShoalError('seeds_unreadable', `${name} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}
