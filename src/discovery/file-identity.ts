import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { ShoalError } from '../errors.js'

/** Path, size and time of a file: a name that changes when the file does. */
export function identityOf(path: string): string {
  try {
    const stat = statSync(path)
    if (!stat.isDirectory()) return `${resolve(path)} ${stat.size} ${Math.round(stat.mtimeMs)}`
  } catch {
    // Said below.
  }
  throw new ShoalError('usage', `there is no file ${path}`, {
    hint: 'Name a file of URLs, one a line, a .csv file, or - for standard input.',
  })
}
