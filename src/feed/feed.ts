import type { Json } from '../url/link.js'

/**
 * URLs from outside: other programs push, workers take. Duties of every driver:
 *  - An entry is never lost: it waits, is taken, and leaves only by `done` or `refuse`. One that was taken and not ended within
 *    the hold is taken again, by whoever asks: its taker is dead.
 *  - Two takers never hold the same entry at the same time, as long as each ends it within the hold.
 *  - `done` and `refuse` of an entry that is gone are harmless.
 */
export interface Feed {
  /** Up to `count` entries, oldest first; empty when nothing waits. */
  take(count: number): Promise<FeedEntry[]>
  /** They are in the queue: forgotten here. */
  done(entries: readonly FeedEntry[]): Promise<void>
  /** Sets them aside with the reason; the oldest of a thousand and more are dropped. */
  refuse(refusals: readonly FeedRefusal[]): Promise<void>
  /** Newest first. */
  refused(limit: number): Promise<RefusedEntry[]>
  /** Nothing waits and nobody holds anything. */
  empty(): Promise<boolean>
  push(texts: readonly string[]): Promise<void>
}

export interface FeedEntry {
  readonly id: string
  readonly text: string
}

export interface FeedRefusal {
  readonly entry: FeedEntry
  readonly reason: string
}

export interface RefusedEntry {
  readonly text: string
  readonly reason: string
  readonly at: number
}

/** Where the feed of a spider is. */
export interface FeedPlace {
  readonly kind: 'list' | 'stream'
  /** Null: `shoal:feed:<spider>`. */
  readonly key: string | null
  /** Consumer group of a stream. */
  readonly group: string
}

/** Of a spider that says nothing of feeds. */
export const DEFAULT_FEED: FeedPlace = { kind: 'list', key: null, group: 'shoal' }

/** What an entry says, before anybody has looked whether the spider wants it. */
export interface FedUrl {
  readonly url: string
  readonly route?: string
  readonly priority?: number
  readonly data?: Json
  readonly again?: boolean
}

export type ParsedEntry = { readonly ok: true; readonly fed: FedUrl } | { readonly ok: false; readonly reason: string }

/** Longest entry that is looked at: a URL of the largest allowed length, and user data. */
const MAX_ENTRY_LENGTH = 256 * 1024
const KEYS = ['url', 'route', 'priority', 'data', 'again']

/** A plain URL, or a JSON object with `url` and, if wanted, route, priority, data and again. */
export function parseEntry(text: string): ParsedEntry {
  const trimmed = text.trim()
  if (trimmed === '') return refuse('it is empty')
  if (text.length > MAX_ENTRY_LENGTH) return refuse(`${text.length} characters are more than ${MAX_ENTRY_LENGTH}`)
  if (!trimmed.startsWith('{')) return { ok: true, fed: { url: trimmed } }
  let value: unknown
  try {
    value = JSON.parse(trimmed)
  } catch (error) {
    return refuse(`it is not JSON: ${error instanceof Error ? error.message : String(error)}`.slice(0, 200))
  }
  return parseFields(value as Record<string, unknown>)
}

/** The same for an object. */
export function parseFields(value: Readonly<Record<string, unknown>>): ParsedEntry {
  if (typeof value !== 'object' || value === null) return refuse('it is neither a URL nor an object')
  const unknown = Object.keys(value).find((key) => !KEYS.includes(key))
  if (unknown !== undefined) return refuse(`it has an unknown key ${JSON.stringify(unknown.slice(0, 60))}`)
  const { url, route, priority, data, again } = value
  if (typeof url !== 'string') return refuse('it has no url')
  if (route !== undefined && typeof route !== 'string') return refuse('route is not a text')
  if (priority !== undefined && typeof priority !== 'number') return refuse('priority is not a number')
  if (again !== undefined && typeof again !== 'boolean') return refuse('again is neither true nor false')
  return {
    ok: true,
    fed: {
      url: url.trim(),
      ...(route !== undefined && { route }),
      ...(priority !== undefined && { priority }),
      ...(data !== undefined && { data: data as Json }),
      ...(again !== undefined && { again }),
    },
  }
}

function refuse(reason: string): ParsedEntry {
  return { ok: false, reason }
}
