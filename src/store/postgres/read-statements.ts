import type { Json } from '../../url/link.js'
import type { StoredRecord } from '../record-store.js'
import type { SqlStatement } from './pg.js'

/** Milliseconds, as everywhere outside Postgres. */
export const millis = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`

export const RECORD_COLUMNS = `spider, site, kind, key, url, data, crawl, ${millis('scraped_at')}, ${millis('first_seen_at')}, ${millis('updated_at')}`

/** A row of RECORD_COLUMNS. */
export type RecordColumns = [string, string, string, string, string, Json, string, number, number, number]

export function toRecord(row: RecordColumns): StoredRecord {
  const [spider, site, kind, key, url, data, crawl, scrapedAt, firstSeenAt, updatedAt] = row
  return { spider, site, kind, key, url, data, crawl, scrapedAt, firstSeenAt, updatedAt }
}

/** Where a scan of records continues: after this row. */
export interface RecordPlace {
  readonly kind: string
  readonly key: string
  readonly site: string
  readonly updatedAt: number
}

/**
 * One page of a spider's records. Only what is asked for is in the statement: with `$2 IS NULL OR kind = $2` the server would plan for
 * both and read the whole table.
 */
export function recordsPage(
  spider: string,
  query: { kind?: string; site?: string; key?: string; url?: string; since?: number },
  after: RecordPlace,
  limit: number,
): { statement: SqlStatement; values: unknown[] } {
  const values: unknown[] = []
  const place = (value: unknown) => `$${values.push(value)}`
  const filters = [`spider = ${place(spider)}`]
  const asked = Object.entries(query).filter(([, value]) => value !== undefined)
  for (const [column, value] of asked) {
    filters.push(column === 'since' ? `updated_at >= ${moment(place(value))}` : `${column} = ${place(value)}`)
  }
  const byTime = query.since !== undefined && query.url === undefined && query.key === undefined
  const order = `${byTime ? 'updated_at, ' : ''}kind, key, site`
  const from = [byTime ? [moment(place(after.updatedAt))] : [], [after.kind, after.key, after.site].map(place)].flat()
  const text = `SELECT ${RECORD_COLUMNS} FROM ${sourceOf(filters, query)} WHERE (${order}) > (${from.join(', ')}) ORDER BY ${order} LIMIT ${place(limit)}`
  return { statement: { name: `records ${asked.map(([column]) => column).join(' ')}`, text }, values }
}

/** The few rows of one URL are found first: before a LIMIT the planner would rather walk the primary key until it meets one. */
function sourceOf(filters: readonly string[], { url }: { url?: string }): string {
  const rows = `SELECT * FROM shoal.records WHERE ${filters.join(' AND ')}`
  return `(${rows}${url === undefined ? '' : ' OFFSET 0'}) AS asked`
}

const moment = (value: string) => `to_timestamp(${value}::float8 / 1000)`

export const SPIDERS: SqlStatement = {
  name: 'spiders',
  text: 'SELECT DISTINCT spider FROM shoal.record_counts ORDER BY spider',
}
