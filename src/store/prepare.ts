import { createHash } from 'node:crypto'
import { remainsOf } from '../json/copy.js'
import { isTextDeeperThan, MAX_JSON_DEPTH } from '../json/depth.js'
import { textOf } from '../thrown.js'
import type { Json } from '../url/link.js'
import { compareLease } from './judge.js'
import type {
  ConfirmedRecord,
  FetchRow,
  RecordRow,
  RejectedRecord,
  RejectedRow,
  WriteBatch,
  WriteStatus,
} from './rows.js'
import type { VisitRow } from './visits.js'

/** Larger than any page worth a record, small enough for a hundred of them in one batch. */
const MAX_RECORD_BYTES = 256 * 1024
/** Postgres refuses an index entry above 2,704 bytes; nobody's real key comes near this. */
const MAX_KEY_BYTES = 512
/** How much is kept of data that cannot be stored whole. */
const KEPT_CHARS = 4096
const KEPT_ISSUES = 50

/** A record ready to be stored: text is clean, data is JSON text. */
export type PreparedRecord = Omit<RecordRow, 'data'> & { readonly data: string }
export type PreparedRejected = Omit<RejectedRecord, 'data' | 'issues'> & {
  readonly data: string
  readonly issues: string
}

export interface PreparedBatch {
  readonly records: readonly PreparedRecord[]
  readonly rejected: readonly PreparedRejected[]
  readonly fetches: readonly FetchRow[]
  readonly visits: readonly VisitRow[]
  readonly confirmed: readonly ConfirmedRecord[]
}

/**
 * Makes a batch storable: NUL and lone surrogates become U+FFFD, overlong keys become their hash, and a record that cannot be stored
 * goes to the rejected ones. `answer` puts the statuses of the remaining records and of the quarantined ones back in order.
 */
export function prepareBatch(batch: WriteBatch): {
  prepared: PreparedBatch
  answer(statuses: readonly WriteStatus[]): WriteStatus[]
} {
  const records: PreparedRecord[] = []
  const rejected = batch.rejected.map(prepareRejected)
  const bad = new Set<number>()
  for (const [index, row] of batch.records.entries()) {
    const data = toText(row.data)
    const clean = { key: storedKey(row.key), url: cleanText(row.url), site: cleanText(row.site) }
    if (data.ok) {
      const identity = row.identity === null ? null : storedKey(row.identity)
      records.push({ ...row, ...clean, identity, data: data.text })
      continue
    }
    rejected.push(quarantined({ ...row, ...clean }, JSON.stringify(data.remains), data.problem))
    bad.add(index)
  }
  return {
    prepared: {
      ...{ records, rejected, fetches: batch.fetches.map(prepareFetch) },
      visits: batch.visits ?? [],
      confirmed: notWritten(batch.confirmed ?? [], records),
    },
    answer(statuses) {
      if (bad.size === 0) return [...statuses]
      const rest = statuses[Symbol.iterator]()
      return batch.records.map((_, index) => (bad.has(index) ? 'quarantined' : (rest.next().value as WriteStatus)))
    },
  }
}

/** A record that cannot be stored, as it is kept: `data` is JSON text of what remains of it. */
export function quarantined(record: Omit<RecordRow, 'data'>, data: string, problem: string): PreparedRejected {
  const { spider, crawl, site, kind, key, url, scrapedAt } = record
  const issues = JSON.stringify([{ field: '', message: cleanText(problem) }])
  return { spider, crawl, site, kind, key, url, data, issues, scrapedAt, reason: 'quarantined' }
}

/**
 * The key under which a record is stored and found: the key itself, or `sha256:…` of one that is longer than MAX_KEY_BYTES. The whole
 * key is then only where the spider put it in the data.
 */
export function storedKey(key: string): string {
  const clean = cleanText(key)
  if (clean.length * 3 <= MAX_KEY_BYTES || Buffer.byteLength(clean) <= MAX_KEY_BYTES) return clean
  return `sha256:${createHash('sha256').update(clean).digest('hex')}`
}

/** Each once, and none that is written by the same batch: what is written says more than that nothing changed. */
function notWritten(confirmed: readonly ConfirmedRecord[], records: readonly PreparedRecord[]): ConfirmedRecord[] {
  if (confirmed.length === 0) return []
  const id = ({ spider, site, kind, key }: ConfirmedRecord) => JSON.stringify([spider, site, kind, key])
  const written = new Set(records.map(id))
  const rows = new Map<string, ConfirmedRecord>()
  for (const row of confirmed) {
    const stored = { ...row, key: storedKey(row.key), site: cleanText(row.site) }
    const before = rows.get(id(stored))
    if (written.has(id(stored)) || (before !== undefined && compareLease(before, stored) > 0)) continue
    rows.set(id(stored), stored)
  }
  return [...rows.values()]
}

function prepareRejected(row: RejectedRow): PreparedRejected {
  const data = toText(row.data)
  return {
    ...row,
    key: storedKey(row.key),
    url: cleanText(row.url),
    site: cleanText(row.site),
    data: data.ok ? data.text : JSON.stringify(data.remains),
    issues: cleanJson(JSON.stringify(row.issues.slice(0, KEPT_ISSUES))),
    reason: row.reason ?? 'invalid',
  }
}

function prepareFetch(row: FetchRow): FetchRow {
  const url = cleanText(row.url)
  return url === row.url ? row : { ...row, url }
}

type Text =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string; readonly remains: string }

/** Records of a spider are JSON by now (`src/json/copy.ts`); a program may hand over anything. */
function toText(data: Json): Text {
  try {
    const text: string | undefined = JSON.stringify(data)
    if (text === undefined) return { ok: false, problem: 'not JSON', remains: show(data) }
    // In the text, where it costs nothing for a short record.
    if (isTextDeeperThan(text, MAX_JSON_DEPTH)) return { ok: false, problem: TOO_DEEP, remains: show(data) }
    const clean = cleanJson(text)
    if (clean.length * 3 > MAX_RECORD_BYTES && Buffer.byteLength(clean) > MAX_RECORD_BYTES) {
      return {
        ok: false,
        problem: `larger than ${MAX_RECORD_BYTES} bytes`,
        remains: cleanText(clean.slice(0, KEPT_CHARS)),
      }
    }
    return { ok: true, text: clean }
  } catch (error) {
    const problem = error instanceof RangeError ? TOO_DEEP : `not JSON: ${cleanText(textOf(error))}`
    return { ok: false, problem, remains: show(data) }
  }
}

const TOO_DEEP = `deeper than ${MAX_JSON_DEPTH} levels`

function show(data: unknown): string {
  return cleanText(remainsOf(data))
}

// With the u flag a surrogate pair is one character, so this class matches lone surrogates only.
const UNSTORABLE = /[\0\p{Surrogate}]/u
const EVERY_UNSTORABLE = /[\0\p{Surrogate}]/gu

/** Postgres refuses NUL and lone surrogates, and UTF-8 has no lone surrogates: what cannot be kept is replaced, visibly. */
export function cleanText(text: string): string {
  return UNSTORABLE.test(text) ? text.replace(EVERY_UNSTORABLE, '\ufffd') : text
}

/** The same for JSON text, where JSON.stringify writes exactly those characters as escapes. Escapes are taken in turn, so `\\u0000` stays. */
export function cleanJson(text: string): string {
  if (!text.includes('\\u')) return text
  return text.replace(/\\(?:u(?:0000|d[89a-f][0-9a-f]{2})|.)/g, (found) => (found.length === 6 ? '\ufffd' : found))
}
