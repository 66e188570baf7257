import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import { outputError } from '../output-error.js'

/** Lets `write` fill a file that appears only when it is whole; an older one of that name stays until then. */
export async function wholeFile<Result>(path: string, write: (file: Writable) => Promise<Result>): Promise<Result> {
  const part = partOf(path)
  try {
    await mkdir(dirname(path), { recursive: true })
    const file = createWriteStream(part, { flags: 'wx' })
    const closed = new Promise<void>((resolve, reject) => file.once('close', resolve).once('error', reject))
    // What writes reports the same error; this promise is only waited for after a success.
    closed.catch(() => {})
    const result = await write(file)
    file.end()
    await closed
    await rename(part, path)
    return result
  } catch (error) {
    await rm(part, { force: true }).catch(() => {})
    throw outputError(error, path)
  }
}

/** The name of a file that is not whole yet. */
export function partOf(path: string): string {
  return `${path}.${randomUUID().slice(0, 8)}.part`
}
