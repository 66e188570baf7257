import type { Clock } from '../clock.js'
import { asShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import { type Robots, type RobotsOutcome, robotsFor, unreachableUntil } from './robots.js'

const FRESH_MS = 24 * 3_600_000
/** Waits after failures in a row: 30 s, 1 min, 2 min, 4 min, 5 min. */
const RETRY_BASE_MS = 30_000
const RETRY_CAP_MS = 300_000
const MAX_ENTRIES = 10_000

/**
 * Fetches a robots.txt with a permit of its own, redirects followed (five at most). What goes wrong behind a redirect is thrown as
 * bad_redirect: another host's troubles say nothing about this one.
 */
export type GetRobots = (robotsUrl: string) => Promise<FetchResponse>

export interface RobotsCache {
  /**
   * What holds for the URL's authority: a value when it is known, a promise only when the file must be fetched. Many callers at
   * once share one fetch, made with the `get` of the first. Rejects when the fetch itself could not be made (the plant, a stop), and
   * with the host's own error when no page of it could be fetched either.
   */
  check(url: string, get: GetRobots): Robots | Promise<Robots>
}

interface Entry {
  robots: Robots | null
  error: Error | null
  /** Monotonic. */
  freshUntil: number
  failures: number
  pending: Promise<Robots> | null
}

export function createRobotsCache(options: { clock: Clock; productToken: string; maxEntries?: number }): RobotsCache {
  const { clock, productToken, maxEntries = MAX_ENTRIES } = options
  const entries = new Map<string, Entry>()

  function check(url: string, get: GetRobots): Robots | Promise<Robots> {
    const slash = url.indexOf('/', 8)
    const authority = slash === -1 ? url : url.slice(0, slash)
    const entry = entries.get(authority) ?? addEntry(authority)
    if (clock.mono() < entry.freshUntil) {
      if (entry.robots !== null) return entry.robots
      if (entry.error !== null) return Promise.reject(entry.error)
    }
    // The first caller's fetch may have been given up for reasons of its own: then the next one tries.
    if (entry.pending !== null)
      return entry.pending.catch((error: unknown) => (entry.error === error ? Promise.reject(error) : check(url, get)))
    entry.pending = refresh(entry, authority, get).finally(() => {
      entry.pending = null
    })
    return entry.pending
  }

  function addEntry(authority: string): Entry {
    if (entries.size >= maxEntries) evictOldest()
    const entry: Entry = { robots: null, error: null, freshUntil: 0, failures: 0, pending: null }
    entries.set(authority, entry)
    return entry
  }

  function evictOldest(): void {
    for (const [authority, entry] of entries) {
      if (entry.pending !== null) continue
      entries.delete(authority)
      return
    }
  }

  async function refresh(entry: Entry, authority: string, get: GetRobots): Promise<Robots> {
    const outcome = await fetchOutcome(`${authority}/robots.txt`, get)
    const decision = robotsFor(outcome, productToken)
    if (decision.kind === 'rules') {
      entry.failures = 0
      entry.error = null
      entry.robots = decision.robots
      entry.freshUntil = clock.mono() + FRESH_MS
      return decision.robots
    }
    const waitMs = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** entry.failures)
    entry.failures++
    entry.freshUntil = clock.mono() + waitMs
    // An old copy is better than none.
    if (entry.robots !== null && entry.robots.retryAt === null) return entry.robots
    if (decision.kind === 'hopeless') {
      entry.robots = null
      entry.error = decision.error
      throw decision.error
    }
    entry.error = null
    entry.robots = unreachableUntil(clock.now() + waitMs)
    return entry.robots
  }

  return { check }
}

/** What our own plant did (no sockets, a stop, no permit) says nothing about the site and is passed on. */
async function fetchOutcome(robotsUrl: string, get: GetRobots): Promise<RobotsOutcome> {
  try {
    return { kind: 'response', response: await get(robotsUrl) }
  } catch (thrown) {
    const error = asShoalError(thrown)
    if (error.next === 'plant' || error.code === 'internal') throw thrown
    return { kind: 'error', error }
  }
}
