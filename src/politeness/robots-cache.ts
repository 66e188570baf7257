import type { Clock } from '../clock.js'
import { asShoalError, describeError, isAway } from '../errors.js'
import type { Notes } from '../notes/notes.js'
import { Busy } from './busy.js'
import { type Robots, type RobotsOutcome, type RobotsResponse, robotsFor } from './robots.js'
import {
  asOfNow,
  decodeNote,
  encodeNote,
  freshMs,
  noteKey,
  PATIENT_WAIT,
  type RobotsNote,
  type RobotsWait,
  robotsIn,
} from './robots-note.js'

/** A copy older than this is useless. */
const KEEP_MS = 3 * 24 * 3_600_000
/** Longer than fetching a robots.txt with its redirects usually takes; a slower worker may find that another one was faster. */
const CLAIM_MS = 60_000
/** While another worker fetches it, the notes are read again after 50 ms, 100 ms … 1 s. */
const FIRST_NAP_MS = 50
const LONGEST_NAP_MS = 1_000
const MAX_ENTRIES = 10_000

/**
 * Fetches a robots.txt with its own permit and follows at most five redirects. A failure after a redirect is thrown as bad_redirect: problems of
 * another host say nothing about this one.
 */
export type GetRobots = (robotsUrl: string) => Promise<RobotsResponse>
/** The same, but it may find no free slot. */
type MayGetRobots = (robotsUrl: string) => Promise<RobotsResponse | Busy>
/** Rejects when the caller is being stopped. */
type Nap = (ms: number) => Promise<void>

export interface RobotsCache {
  /**
   * The rules for the URL's authority: a value if they are known here, a promise if the fleet's notes or the site must be asked. Concurrent callers,
   * of all workers, share one fetch, made with the `get` of the first. Rejects if the fetch itself could not be made (a backend is down, a stop), and
   * with the host's own error if no page of it could be fetched either.
   */
  check(url: string, get: GetRobots, nap?: Nap): Robots | Promise<Robots>
  /** Busy if `get` is: nothing is known then, and the next caller tries. */
  check(url: string, get: MayGetRobots, nap?: Nap): Robots | Promise<Robots | Busy>
}

export interface RobotsCacheOptions {
  readonly clock: Clock
  readonly productToken: string
  /** Null: there are no other workers. */
  readonly notes: Notes | null
  /** Who claims the fetch; unique for each cache of the fleet. */
  readonly holder: string
  /** A robots.txt that answers 401 or 403 forbids everything. */
  readonly strict?: boolean
  /** When a robots.txt that was never read is requested again: the links that wait for it obey the spider's `retries`. */
  readonly retryWait?: RobotsWait
  readonly maxEntries?: number
}

interface Entry {
  robots: Robots | null
  error: Error | null
  /** The note that `robots` was built from. */
  note: RobotsNote | null
  /** Monotonic. */
  freshUntil: number
  pending: Promise<Robots | Busy> | null
}

type Claimed =
  | { readonly kind: 'note'; readonly note: RobotsNote; readonly ageMs: number }
  | { readonly kind: 'yours'; readonly old: RobotsNote | null }
  | { readonly kind: 'taken'; readonly waitMs: number; readonly old: RobotsNote | null }

export function createRobotsCache(options: RobotsCacheOptions): RobotsCache {
  const {
    clock,
    productToken,
    notes,
    holder,
    strict = false,
    retryWait = PATIENT_WAIT,
    maxEntries = MAX_ENTRIES,
  } = options
  const entries = new Map<string, Entry>()
  const sleep: Nap = (ms) => clock.sleep(ms)

  function check(url: string, get: GetRobots, nap?: Nap): Robots | Promise<Robots>
  function check(url: string, get: MayGetRobots, nap?: Nap): Robots | Promise<Robots | Busy>
  function check(url: string, get: MayGetRobots, nap = sleep): Robots | Promise<Robots | Busy> {
    const slash = url.indexOf('/', 8)
    const authority = slash === -1 ? url : url.slice(0, slash)
    const entry = entries.get(authority) ?? addEntry(authority)
    if (clock.mono() < entry.freshUntil) {
      if (entry.robots !== null) return entry.robots
      if (entry.error !== null) return Promise.reject(entry.error)
    }
    // The first caller's fetch may have been abandoned for its own reasons: then the next one tries.
    if (entry.pending !== null)
      return entry.pending.then(
        (robots) => (robots instanceof Busy ? check(url, get, nap) : robots),
        (error: unknown) => (entry.error === error ? Promise.reject(error) : check(url, get, nap)),
      )
    entry.pending = refresh(entry, authority, get, nap).finally(() => {
      entry.pending = null
    })
    return entry.pending
  }

  function addEntry(authority: string): Entry {
    if (entries.size >= maxEntries) evictOldest()
    const entry: Entry = { robots: null, error: null, note: null, freshUntil: 0, pending: null }
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

  async function refresh(entry: Entry, authority: string, get: MayGetRobots, nap: Nap): Promise<Robots | Busy> {
    const key = noteKey(authority, productToken)
    for (let napMs = FIRST_NAP_MS; ; napMs = Math.min(LONGEST_NAP_MS, 2 * napMs)) {
      const claimed = await claim(key)
      if (claimed.kind === 'note') return adopt(entry, claimed.note, freshMs(claimed.note, retryWait) - claimed.ageMs)
      const old = claimed.old ?? entry.note
      if (claimed.kind === 'yours') return renew(entry, key, authority, old, get)
      // Another worker is fetching it: yesterday's copy will do until then.
      if (old !== null && old.found !== null) return adopt(entry, old, Math.min(claimed.waitMs, LONGEST_NAP_MS))
      await nap(Math.min(claimed.waitMs, napMs))
    }
  }

  /** A note says how long it is valid; the note of a failure, not for long. */
  async function claim(key: string): Promise<Claimed> {
    if (notes === null) return { kind: 'yours', old: null }
    for (let youngerThan = freshMs({ found: null, failures: 0 }, retryWait); ; ) {
      const answer = await notes.claim(key, holder, youngerThan, CLAIM_MS)
      if (answer.kind !== 'note') {
        const old = answer.old === null ? null : decodeNote(answer.old.text)
        return { ...answer, old: old === null ? null : asOfNow(old, answer.old?.ageMs ?? 0, retryWait) }
      }
      const note = decodeNote(answer.note.text)
      const lasts = note === null ? 0 : freshMs(note, retryWait)
      if (note !== null && answer.note.ageMs < lasts) return { kind: 'note', note, ageMs: answer.note.ageMs }
      youngerThan = lasts
    }
  }

  async function renew(entry: Entry, key: string, authority: string, old: RobotsNote | null, get: MayGetRobots) {
    let outcome: RobotsOutcome | Busy
    try {
      outcome = await fetchOutcome(`${authority}/robots.txt`, get)
    } catch (error) {
      await unlessAway(notes?.drop(key, holder))
      throw error
    }
    if (outcome instanceof Busy) {
      await unlessAway(notes?.drop(key, holder))
      return outcome
    }
    const decision = robotsFor(outcome, productToken)
    const why = decision.kind === 'unreachable' ? decision.why : ''
    const failed: RobotsNote = { found: old?.found ?? null, failures: (old?.failures ?? 0) + 1, why }
    if (decision.kind === 'hopeless') {
      // Each worker decides whether a host can be asked at all; that costs the site nothing.
      await unlessAway(notes?.drop(key, holder))
      if (failed.found === null) {
        entry.robots = null
        entry.error = decision.error
        entry.note = failed
        entry.freshUntil = clock.mono() + freshMs(failed, PATIENT_WAIT)
        throw decision.error
      }
      return adopt(entry, failed, freshMs(failed, retryWait))
    }
    const note: RobotsNote = decision.kind === 'unreachable' ? failed : { found: decision, failures: 0, why: '' }
    await unlessAway(notes?.post(key, holder, encodeNote(note), KEEP_MS))
    return adopt(entry, note, freshMs(note, retryWait))
  }

  function adopt(entry: Entry, note: RobotsNote, forMs: number): Robots {
    const robots = robotsIn(note, strict, clock.now() + forMs)
    entry.robots = robots
    entry.error = null
    entry.note = note
    entry.freshUntil = clock.mono() + forMs
    return robots
  }

  return { check }
}

/** The result is known here either way. If the notes are unreachable right now, another worker will write them later. */
async function unlessAway(writing: Promise<unknown> | undefined): Promise<void> {
  try {
    await writing
  } catch (error) {
    if (!isAway(error)) throw error
  }
}

/**
 * Failures of our own backends or of the user's code (no sockets, a stop, no permit, a refused proxy) say nothing about the site and are passed on.
 */
async function fetchOutcome(robotsUrl: string, get: MayGetRobots): Promise<RobotsOutcome | Busy> {
  try {
    const response = await get(robotsUrl)
    return response instanceof Busy ? response : { kind: 'response', response }
  } catch (thrown) {
    const error = asShoalError(thrown)
    const { failedAt } = describeError(error.code)
    const ours = failedAt === 'proxy' || failedAt === 'handler' || failedAt === 'shoal'
    if (error.next === 'backend' || ours) throw thrown
    return { kind: 'error', error }
  }
}
