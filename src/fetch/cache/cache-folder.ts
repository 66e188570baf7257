import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ShoalError } from '../../errors.js'
import { makeDirs } from '../../make-dirs.js'

/**
 * The folder of a cache:
 *   CACHEDIR.TAG      says whose folder it is; backup programs leave out folders with this file (bford.info/cachedir)
 *   .gitignore        keeps the pages of other people's sites out of the repository
 *   ab/cdef01…        one file for each response, named by its key
 *   ab/cdef01….x.tmp  a response that is being written, or was when its process was killed
 */
const TAG = 'CACHEDIR.TAG'
const SIGNATURE = 'Signature: 8a477f597d28d172789f06886806bc55'
const OURS = '# Responses that `shoal --cache` keeps; docs/cache.md'
const TAG_TEXT = `${SIGNATURE}\n${OURS}\n`
const SHELF = /^[0-9a-f]{2}$/
const ENTRY = /^[0-9a-f]{62}(\.[0-9a-f-]+\.tmp)?$/
/** What an empty folder may have, so that it can become a cache: left by a process that was killed before it wrote the tag. */
const HARMLESS = new Set(['.gitignore'])

export interface CacheSize {
  readonly responses: number
  readonly bytes: number
}

/** Where the entry of a key is: a folder with a million files is slow on many file systems. */
export function entryPath(folder: string, key: string): string {
  return join(folder, key.slice(0, 2), key.slice(2))
}

/** Creates the folder, or checks that it is a cache. Files of somebody else are never written between, and never deleted. */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    makeDirs(folder)
    if (await isOurs(folder)) return
    const others = (await readdir(folder)).filter((name) => !HARMLESS.has(name))
    if (others.length > 0) throw notACache(folder)
    // The tag comes last: a folder that has it is complete.
    await writeFile(join(folder, '.gitignore'), '*\n')
    await writeFile(join(folder, TAG), TAG_TEXT)
  } catch (error) {
    throw folderError(error, folder)
  }
}

/** Deletes every response and nothing else. A folder that does not exist is an empty cache. */
export async function clearFolder(folder: string): Promise<CacheSize> {
  return forEachEntry(folder, (path) => rm(path, { force: true }))
}

export async function sizeOfFolder(folder: string): Promise<CacheSize> {
  return forEachEntry(folder, async () => {})
}

async function forEachEntry(folder: string, work: (path: string) => Promise<void>): Promise<CacheSize> {
  let responses = 0
  let bytes = 0
  try {
    const shelves = await readdir(folder)
    if (shelves.length > 0 && !(await isOurs(folder))) throw notACache(folder)
    for (const shelf of shelves.filter((name) => SHELF.test(name))) {
      const path = join(folder, shelf)
      for (const name of (await readdir(path)).filter((one) => ENTRY.test(one))) {
        // Another process may be faster.
        bytes += (await stat(join(path, name)).catch(() => null))?.size ?? 0
        await work(join(path, name))
        responses++
      }
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw folderError(error, folder)
  }
  return { responses, bytes }
}

async function isOurs(folder: string): Promise<boolean> {
  const tag = await readFile(join(folder, TAG), 'utf8').catch(() => '')
  return tag.includes(OURS)
}

function notACache(folder: string): ShoalError {
  return new ShoalError('cache_unusable', `${folder} is not a cache of Shoal: it contains other files`)
}

function folderError(error: unknown, folder: string): ShoalError {
  if (error instanceof ShoalError) return error
  return new ShoalError('cache_unusable', `the cache folder ${folder} cannot be used: ${codeOf(error)}`, {
    cause: error,
  })
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
