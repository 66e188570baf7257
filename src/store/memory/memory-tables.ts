import type { Version } from '../judge.js'
import type { PreparedRecord, PreparedRejected } from '../prepare.js'
import type { FetchRow, StoredRecord } from '../record-store.js'

/** What the parts of the reference share. */
export class MemoryTables {
  readonly records = new Map<string, Row>()
  readonly rejected = new Map<string, PreparedRejected>()
  readonly skips: { spider: string; kind: string; crawl: string; status: 'fresh' | 'unchanged' }[] = []
  readonly fetches = new Map<string, FetchRow>()
  lastChange = 0
}

export interface Row {
  readonly record: PreparedRecord
  /** The number of the change that gave it its content. */
  readonly change: number
  readonly version: Version
  readonly firstSeenAt: number
  readonly crawl: string
  readonly seenAt: number
  /** What it was before, newest first. */
  readonly older: readonly (Omit<Row, 'older'> & { readonly until: number })[]
}

export function recordId({
  spider,
  site,
  kind,
  key,
}: Pick<PreparedRecord, 'spider' | 'site' | 'kind' | 'key'>): string {
  return JSON.stringify([spider, site, kind, key])
}

export function storedRecord({ record, version, firstSeenAt, crawl, seenAt }: Row): StoredRecord {
  const { spider, site, kind, key, url } = record
  const times = { scrapedAt: seenAt, firstSeenAt, updatedAt: version.at }
  return { spider, site, kind, key, url, data: JSON.parse(version.data), crawl, ...times }
}

/** By code unit; SQLite's BINARY order differs only outside the basic plane. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
