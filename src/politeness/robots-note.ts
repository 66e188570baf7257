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
}

const FRESH_MS = 24 * 3_600_000
/** Waits after consecutive failures: 30 s, 1 min, 2 min, 4 min, 5 min. */
const RETRY_BASE_MS = 30_000
const RETRY_CAP_MS = 300_000

/** How long no worker asks the site again. */
export function freshMs({ failures }: RobotsNote): number {
  return failures === 0 ? FRESH_MS : Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** (failures - 1))
}

/** `strict`: access denied means that nothing is allowed. `retryAt` is when an unreachable file is requested again. */
export function robotsIn({ found }: RobotsNote, strict: boolean, retryAt: number): Robots {
  if (found === null) return unreachableUntil(retryAt)
  if (found.kind === 'rules') return robotsOf(found.part)
  return found.kind === 'denied' && strict ? FORBID_ALL : ALLOW_ALL
}

const noteShape = z.object({
  found: z.enum(['rules', 'none', 'denied']).nullable(),
  text: z.string().default(''),
  failures: z.number().int().nonnegative(),
})

export function encodeNote({ found, failures }: RobotsNote): string {
  const text = found?.kind === 'rules' ? { text: textOf(found.part) } : {}
  return JSON.stringify({ found: found?.kind ?? null, ...text, failures })
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
  const { found, failures } = parsed.data
  if (found === 'rules') return { found: { kind: found, part: ownPart(parsed.data.text, '') }, failures }
  return { found: found === null ? null : { kind: found }, failures }
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
