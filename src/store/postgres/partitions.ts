import { PARTITION_UNITS, type PartitionedTable, type PartitionUnit } from '../maintenance.js'
import type { Pg } from './pg.js'
import { millis } from './read-statements.js'

/** From `from` up to and without `to`, in milliseconds. */
export interface Range {
  readonly from: number
  readonly to: number
}

interface Partition extends Range {
  readonly table: PartitionedTable
  readonly name: string
}

const DAY_MS = 86_400_000
/** 1970-01-01 was a Thursday; weeks begin on Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS

/** The day, week or month (UTC) that a moment falls into. */
export function rangeOf(at: number, unit: PartitionUnit): Range {
  if (unit === 'month') {
    const date = new Date(at)
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
    return { from: Date.UTC(year, month), to: Date.UTC(year, month + 1) }
  }
  const length = unit === 'day' ? DAY_MS : 7 * DAY_MS
  const origin = unit === 'day' ? 0 : FIRST_MONDAY_MS
  const from = origin + Math.floor((at - origin) / length) * length
  return { from, to: from + length }
}

/**
 * What to make so that a row of this moment has a place: nothing when it has one, else its day, week or month without what older partitions
 * of another length take of it.
 */
export function missingRange(at: number, unit: PartitionUnit, existing: readonly Range[]): Range | null {
  let { from, to } = rangeOf(at, unit)
  for (const other of existing) {
    if (other.from <= at && at < other.to) return null
    if (other.to <= at) from = Math.max(from, other.to)
    else to = Math.min(to, other.from)
  }
  return { from, to }
}

/** `fetches_20261101`: by its first day; what is cut short by another partition still has a first day of its own. */
export function partitionName(table: PartitionedTable, { from }: Range): string {
  return `${table}_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '')}`
}

/** A partition of this month and so many after it always exist, so that the first row of a month never waits for a lock. */
const AHEAD = 3

/** Moments for which partitions should exist: each row's own, and those to come. */
export function aheadOf(now: number, unit: PartitionUnit): number[] {
  const moments = [now]
  for (let n = 0; n < AHEAD; n++) moments.push(rangeOf(moments.at(-1) ?? now, unit).to)
  return moments
}

/** SQL: the bounds of a partition as the server writes them, which it reads itself: how it writes a time depends on the connection. */
export function boundsOf(relation: string): string {
  return `regexp_match(pg_get_expr(${relation}.relpartbound, ${relation}.oid), 'FROM \\(''([^'']+)''\\) TO \\(''([^'']+)''\\)')`
}
export const FROM_AND_TO = `${millis('bounds[1]::timestamptz')}, ${millis('bounds[2]::timestamptz')}`

const LIST = {
  name: 'partitions',
  text: `SELECT parent, child, ${FROM_AND_TO}
    FROM (
      SELECT parent.relname AS parent, child.relname AS child, ${boundsOf('child')} AS bounds
      FROM pg_inherits i JOIN pg_class parent ON parent.oid = i.inhparent JOIN pg_class child ON child.oid = i.inhrelid
      WHERE parent.oid IN ('shoal.fetches'::regclass, 'shoal.record_versions'::regclass) AND NOT i.inhdetachpending
    ) listed ORDER BY 3`,
}

async function partitions(pg: Pg): Promise<Partition[]> {
  const rows = await pg.query<[PartitionedTable, string, number, number]>(LIST, [])
  return rows.map(([table, name, from, to]) => ({ table, name, from, to }))
}

async function partitionUnit(pg: Pg): Promise<PartitionUnit> {
  const [[unit] = ['month']] = await pg.query<[string]>(
    { name: 'partition-unit', text: `SELECT value FROM shoal.settings WHERE name = 'partition'` },
    [],
  )
  return PARTITION_UNITS.find((known) => known === unit) ?? 'month'
}

/**
 * Makes what is missing. A new table is filled into the row of partitions only when it is ready (ATTACH), because CREATE … PARTITION OF would
 * make every writer wait for whoever holds the table at the moment.
 */
export async function ensurePartitions(pg: Pg, table: PartitionedTable, moments: readonly number[]): Promise<string[]> {
  return pg.transaction(async (tx) => {
    await tx.query({ name: 'partition-lock', text: `SELECT pg_advisory_xact_lock(hashtext('shoal.partitions'))` }, [])
    const unit = await partitionUnit(tx)
    const existing: Range[] = (await partitions(tx)).filter((one) => one.table === table)
    const made: string[] = []
    for (const at of moments) {
      const range = missingRange(at, unit, existing)
      if (range === null) continue
      const name = await freeName(tx, partitionName(table, range))
      await tx.script(
        `CREATE TABLE shoal.${name} (LIKE shoal.${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)`,
      )
      await tx.script(
        `ALTER TABLE shoal.${table} ATTACH PARTITION shoal.${name} FOR VALUES FROM ('${isoTime(range.from)}') TO ('${isoTime(range.to)}')`,
      )
      existing.push(range)
      made.push(name)
    }
    return made
  })
}

/** Of both tables, for now and the time to come. */
export async function makeAhead(pg: Pg, now: number): Promise<string[]> {
  const moments = aheadOf(now, await partitionUnit(pg))
  return [
    ...(await ensurePartitions(pg, 'fetches', moments)),
    ...(await ensurePartitions(pg, 'record_versions', moments)),
  ]
}

/** A partition of these days may have been taken out and wait for its end: late rows get another one. */
async function freeName(tx: Pg, name: string): Promise<string> {
  for (let n = 1; ; n++) {
    const tried = n === 1 ? name : `${name}_${n}`
    const statement = { name: 'partition-there', text: `SELECT to_regclass('shoal.' || $1) IS NULL` }
    const [[free] = [false]] = await tx.query<[boolean]>(statement, [tried])
    if (free) return tried
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
