import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../clock.js'
import type { FetchResponse } from '../fetcher.js'
import { codeOf, entryPath } from './cache-folder.js'
import { type CacheableRequest, cacheKey } from './cache-key.js'
import { decodeEntry, encodeEntry } from './entry.js'
import { isKept } from './is-kept.js'

/** Responses of earlier runs, for development: the same request again sends nothing. Several processes may share a folder. */
export interface ResponseCache {
  /** Null: there is none, it is too old, or its file is damaged. */
  find(request: CacheableRequest): Promise<FetchResponse | null>
  /** Keeps the response if it is one that the next run should get. Never fails: a cache that cannot be written is only slower. */
  keep(request: CacheableRequest, response: FetchResponse): Promise<void>
}

export interface FolderCache extends ResponseCache {
  /** The last requests were all in vain: it is the first run, or a part of the site that no run has seen. */
  readonly isCold: boolean
}

interface ResponseCacheOptions {
  readonly folder: string
  /** Older entries are fetched again; null: entries of any age are used. */
  readonly maxAgeMs: number | null
  readonly clock: Pick<Clock, 'now'>
  /** Called for the first response that could not be written: a full disk, a read-only folder. */
  readonly onUnwritable: (reason: string) => void
}

/** One page in a hundred that is new must not make a cache look cold. */
const COLD_AFTER = 8

/** The folder must have been prepared (cache-folder.ts). */
export function openResponseCache({ folder, maxAgeMs, clock, onUnwritable }: ResponseCacheOptions): FolderCache {
  let isReported = false
  let missesInARow = 0

  const read = async (request: CacheableRequest): Promise<FetchResponse | null> => {
    const bytes = await readFile(entryPath(folder, cacheKey(request))).catch(() => null)
    const entry = bytes === null ? null : decodeEntry(bytes)
    if (entry === null) return null
    if (maxAgeMs !== null && clock.now() - entry.at > maxAgeMs) return null
    const { response, at } = entry
    // Nothing came over the network: neither budgets nor metrics count these bytes.
    return { ...response, wireBytes: 0, ms: 0, cached: { at, wireBytes: response.wireBytes, ms: response.ms } }
  }

  const write = async (path: string, bytes: Uint8Array): Promise<void> => {
    const part = `${path}.${randomUUID().slice(0, 8)}.tmp`
    try {
      await mkdir(dirname(path), { recursive: true })
      // Renamed when it is whole: another process never reads half of it, and neither does the next run after a kill.
      await writeFile(part, bytes, { mode: 0o600 })
      await rename(part, path)
    } catch (error) {
      await rm(part, { force: true }).catch(() => {})
      throw error
    }
  }

  return {
    get isCold() {
      return missesInARow >= COLD_AFTER
    },
    async find(request) {
      const found = await read(request)
      missesInARow = found === null ? missesInARow + 1 : 0
      return found
    },
    async keep(request, response) {
      if (!isKept(response)) return
      const { method = 'GET' } = request
      try {
        await write(entryPath(folder, cacheKey(request)), encodeEntry({ response, method, at: clock.now() }))
      } catch (error) {
        if (!isReported) onUnwritable(codeOf(error))
        isReported = true
      }
    },
  }
}
