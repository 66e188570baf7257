import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import { outputError } from '../output-error.js'
import { outputTarget } from './output-target.js'

/** Lets `write` fill a file that appears only when it is whole; an older one of that name stays until then. A device or a pipe is written to directly. */
export async function wholeFile<Result>(path: string, write: (file: Writable) => Promise<Result>): Promise<Result> {
  try {
    const target = await outputTarget(path)
    if (target.kind === 'stream') return await fill(target.path, 'w', write)
    return await replace(target.path, write)
  } catch (error) {
    throw outputError(error, path)
  }
}

async function replace<Result>(path: string, write: (file: Writable) => Promise<Result>): Promise<Result> {
  const part = partOf(path)
  try {
    await mkdir(dirname(path), { recursive: true })
    const result = await fill(part, 'wx', write)
    await rename(part, path)
    return result
  } catch (error) {
    await rm(part, { force: true }).catch(() => {})
    throw error
  }
}

async function fill<Result>(
  path: string,
  flags: 'w' | 'wx',
  write: (file: Writable) => Promise<Result>,
): Promise<Result> {
  const file = createWriteStream(path, { flags })
  const closed = new Promise<void>((resolve, reject) => file.once('close', resolve).once('error', reject))
  // What writes reports the same error; this promise is only waited for after a success.
  closed.catch(() => {})
  const result = await write(file)
  file.end()
  await closed
  return result
}

/** The name of a file that is not whole yet. */
export function partOf(path: string): string {
  return `${path}.${randomUUID().slice(0, 8)}.part`
}
