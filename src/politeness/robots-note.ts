import { z } from 'zod'
import type { Notes } from '../notes/notes.js'
import {
  ALLOW_ALL,
  FORBID_ALL,
  type OwnPart,
  ownPart,
  type Robots,
  robotsOf,
  textOf,
  unreachableUntil,
} from './robots.js'

/** What was found at /robots.txt: rules for us, nothing (404), or access denied (401, 403). */
export type Found =
  | { readonly kind: 'rules'; readonly part: OwnPart }
  | { readonly kind: 'none' }
  | { readonly kind: 'denied' }

/** What the fleet knows about a robots.txt. */
export interface RobotsNote {
  /** Null: it was never read. With failures it is an old copy, which is better than none. */
  readonly found: Found | null
  /** Consecutive failures since it was last read. */
  readonly failures: number
  /** The last of them, for people; '' without one, and in notes of versions that did not say. */
  readonly why: string
}

const FRESH_MS = 24 * 3_600_000
/** Waits after consecutive failures while an old copy does: 30 s, 1 min, 2 min, 4 min, 5 min. */
const RETRY_BASE_MS = 30_000
/** No wait is longer: a site that is back is noticed within minutes. */
const RETRY_CAP_MS = 300_000
/** However impatient the spider is, a site that is down is not asked more often. */
const RETRY_FLOOR_MS = 1_000

/** The wait after so many consecutive failures. */
export type RobotsWait = (failures: number) => number

export const PATIENT_WAIT: RobotsWait = (failures) => RETRY_BASE_MS * 2 ** (failures - 1)

/** How long no worker asks the site again. Without even an old copy, links wait for it: `wait` is the spider's own. */
export function freshMs({ found, failures }: Pick<RobotsNote, 'found' | 'failures'>, wait: RobotsWait): number {
  if (failures === 0) return FRESH_MS
  const ms = found === null ? wait(failures) : PATIENT_WAIT(failures)
  return Math.min(RETRY_CAP_MS, Math.max(RETRY_FLOOR_MS, ms))
}

/** Failures of a site that nobody has asked since are history: the next crawl gets all its retries. */
const HISTORY_MS = 60_000

export function asOfNow(note: RobotsNote, ageMs: number, wait: RobotsWait): RobotsNote {
  return note.found === null && ageMs > freshMs(note, wait) + HISTORY_MS ? { ...note, failures: 0 } : note
}

/** `strict`: access denied means that nothing is allowed. `retryAt` is when an unreachable file is requested again. */
export function robotsIn({ found, failures, why }: RobotsNote, strict: boolean, retryAt: number): Robots {
  if (found === null) return unreachableUntil(retryAt, failures, why)
  if (found.kind === 'rules') return robotsOf(found.part)
  return found.kind === 'denied' && strict ? FORBID_ALL : ALLOW_ALL
}

const noteShape = z.object({
  found: z.enum(['rules', 'none', 'denied']).nullable(),
  text: z.string().default(''),
  failures: z.number().int().nonnegative(),
  why: z.string().default(''),
})

export function encodeNote({ found, failures, why }: RobotsNote): string {
  const text = found?.kind === 'rules' ? { text: textOf(found.part) } : {}
  return JSON.stringify({ found: found?.kind ?? null, ...text, failures, ...(why !== '' && { why }) })
}

/** Null: not a note of this version of Shoal. */
export function decodeNote(text: string): RobotsNote | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  const parsed = noteShape.safeParse(json)
  if (!parsed.success) return null
  const { found, failures, why } = parsed.data
  if (found === 'rules') return { found: { kind: found, part: ownPart(parsed.data.text, '') }, failures, why }
  return { found: found === null ? null : { kind: found }, failures, why }
}

/** A note contains the rules for one robot name, so the name is part of its key. */
export function noteKey(url: string, productToken: string): string {
  const slash = url.indexOf('/', 8)
  return `robots ${productToken} ${slash === -1 ? url : url.slice(0, slash)}`
}

/** What the fleet knows, without asking the site. */
export async function knownRobots(
  notes: Pick<Notes, 'read'>,
  url: string,
  productToken: string,
): Promise<{ readonly note: RobotsNote; readonly ageMs: number } | null> {
  const held = await notes.read(noteKey(url, productToken))
  const note = held === null ? null : decodeNote(held.text)
  return held === null || note === null ? null : { note, ageMs: held.ageMs }
}
