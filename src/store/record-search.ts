import { ShoalError } from '../errors.js'
import { cleanJson } from './prepare.js'
import type { StoredRecord } from './rows.js'

/** Records for people who browse them. */
export interface RecordSearch {
  /**
   * Without a filter those that changed last come first; of a spider or kind they come in an order of the engine's own that stays the same
   * from page to page. No call reads more than SEARCH_MOST: the rest begins at `next`, so a page may be empty and not the last.
   */
  find(query: SearchQuery): Promise<SearchPage>
}

export interface SearchQuery {
  readonly spider?: string
  readonly kind?: string
  /** Plain text, in whichever case, anywhere in the key, the URL or the data as JSON. */
  readonly text?: string
  readonly limit: number
  /** `next` of the page before, with the same filters. */
  readonly after?: string
}

export interface SearchPage {
  readonly records: readonly StoredRecord[]
  /** Records read for this page. */
  readonly searched: number
  /** Null: there are no more. */
  readonly next: string | null
}

/** Records and characters of them: about a tenth of a second. */
export const SEARCH_MOST = { records: 5_000, chars: 8_000_000 } as const
/** Read at a time, before anybody knows how large they are: with the largest records that is 25 MB, with usual ones 40 KB. */
const FIRST_READ = 100
/** Afterwards as many as make about this many characters: each read is a round trip to a server. */
const READ_CHARS = 1_000_000
const MOST_READ = 1_000

/** The next rows after a place, as many as asked for; fewer: there are no more. `place` is where the next page continues after this row. */
export type ReadOn<Place> = (after: Place | null, want: number) => Promise<readonly FoundRow<Place>[]>

export interface FoundRow<Place> {
  readonly place: Place
  readonly key: string
  readonly url: string
  /** As JSON: most rows do not match, and need not be parsed. */
  json(): string
  record(): StoredRecord
}

/** Of a record that is parsed already. */
export function foundRow<Place>(place: Place, record: StoredRecord): FoundRow<Place> {
  const { key, url, data } = record
  return { place, key, url, json: () => JSON.stringify(data), record: () => record }
}

/** The search that every driver shares. */
export async function searchThrough<Place extends Parts>(
  { text = '', limit, after }: SearchQuery,
  isPlace: PlaceCheck<Place>,
  readOn: ReadOn<Place>,
): Promise<SearchPage> {
  const matches = matcher(text)
  const records: StoredRecord[] = []
  let at = after === undefined ? null : readPlace(after, isPlace)
  let searched = 0
  let chars = 0
  for (;;) {
    const some =
      chars === 0 ? FIRST_READ : Math.min(MOST_READ, Math.max(1, Math.floor((READ_CHARS * searched) / chars)))
    const want = Math.min(some, SEARCH_MOST.records - searched, text === '' ? limit - records.length : some)
    const rows = await readOn(at, want)
    for (const [index, row] of rows.entries()) {
      at = row.place
      searched += 1
      const found = matches(row)
      chars += found.chars
      if (found.matches) records.push(row.record())
      const enough = records.length >= limit || searched >= SEARCH_MOST.records || chars >= SEARCH_MOST.chars
      // The last row of all may be the one that fills the page.
      const last = index === rows.length - 1 && rows.length < want
      if (enough) return { records, searched, next: last ? null : makePlace(at) }
    }
    if (rows.length < want) return { records, searched, next: null }
  }
}

function matcher(text: string): (row: FoundRow<unknown>) => { readonly matches: boolean; readonly chars: number } {
  if (text === '') return () => ({ matches: true, chars: 0 })
  const plain = text.toLowerCase()
  // As it is written inside a JSON string.
  const quoted = JSON.stringify(plain).slice(1, -1)
  return (row) => {
    const { key, url } = row
    const json = row.json()
    const matches =
      key.toLowerCase().includes(plain) || url.toLowerCase().includes(plain) || json.toLowerCase().includes(quoted)
    return { matches, chars: key.length + url.length + json.length }
  }
}

type Parts = readonly (string | number)[]

type PlaceCheck<Place> = (value: unknown) => value is Place
type PartKind = 'number' | 'text'
type PlaceOf<Kinds extends readonly PartKind[]> = {
  -readonly [Index in keyof Kinds]: Kinds[Index] extends 'number' ? number : string
}

/** What a cursor must contain. A schema library would do, and loading one is a third of the start of a database thread. */
export function placeOf<const Kinds extends readonly PartKind[]>(...kinds: Kinds): PlaceCheck<PlaceOf<Kinds>> {
  return (value): value is PlaceOf<Kinds> =>
    Array.isArray(value) &&
    value.length === kinds.length &&
    kinds.every((kind, index) =>
      kind === 'number' ? Number.isSafeInteger(value[index]) : typeof value[index] === 'string',
    )
}

/** A cursor that can be part of a URL without escaping. */
function makePlace(parts: Parts): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

function readPlace<Place>(cursor: string, isPlace: PlaceCheck<Place>): Place {
  const parts = parsed(cleanJson(Buffer.from(cursor, 'base64url').toString()))
  if (isPlace(parts)) return parts
  throw new ShoalError('cursor_foreign', 'this is not a cursor of this search')
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
