import type { Json } from '../url/link.js'
import { ALL_SITES, type FieldRow, OTHER_FIELDS, WHOLE_RECORD } from './field-row.js'

/** A field filled on this share of records is one that people rely on. */
const USUALLY_FILLED = 0.95
/** How far its share must have fallen, in addition to chance. */
const FALL = 0.05
/** Records needed before and now: fewer mean nothing. */
const ENOUGH_BEFORE = 50
const ENOUGH_NOW = 20
/** 99.9 %: of a thousand unchanged fields, one is reported as drifting. */
const SURE_Z = 3

export interface Drift {
  readonly spider: string
  readonly kind: string
  /** '' for all sites together. */
  readonly site: string
  readonly field: string
  /** The hour in which it began. */
  readonly since: number
  readonly before: Share
  readonly now: Share
}

export interface Share {
  readonly records: number
  readonly filled: number
}

/** A share of records that fell in the course of the hours; its parts in order of time. */
export type HourlyShare = Share & { readonly hour: number }

/**
 * Which fields drift, from all rows that are kept, in the order of the store. Where single sites do, they are named; a fall that shows only
 * in all sites together is named without one.
 */
export async function driftsIn(rows: AsyncIterable<FieldRow> | Iterable<FieldRow>): Promise<Drift[]> {
  const found: Drift[] = []
  for await (const { hours, ...field } of seriesIn(rows)) {
    const drift = driftOf(hours)
    if (drift !== null) found.push({ ...field, ...drift })
  }
  const named = new Set(found.filter(({ site }) => site !== ALL_SITES).map(fieldId))
  return found.filter((drift) => drift.site !== ALL_SITES || !named.has(fieldId(drift)))
}

function fieldId({ spider, kind, field }: Drift): string {
  return JSON.stringify([spider, kind, field])
}

/**
 * Now are the newest hours, as few as hold enough records. Before is the longest time from the field's first appearance on in which it was
 * usually filled, and which ends before now: so hours that are already bad do not make what follows look normal.
 */
export function driftOf(hourly: readonly HourlyShare[]): Pick<Drift, 'since' | 'before' | 'now'> | null {
  const first = hourly.findIndex(({ filled }) => filled > 0)
  if (first === -1) return null
  const hours = hourly.slice(first)
  let nowFrom = hours.length
  let now: Share = NONE
  while (now.records < ENOUGH_NOW && nowFrom > 0) now = add(now, hours[--nowFrom] ?? NONE)
  if (now.records < ENOUGH_NOW) return null
  let before: Share = NONE
  let since = -1
  let sum: Share = NONE
  for (let end = 1; end <= nowFrom; end++) {
    sum = add(sum, hours[end - 1] ?? NONE)
    if (sum.records < ENOUGH_BEFORE || share(sum) < USUALLY_FILLED) continue
    before = sum
    since = end
  }
  if (since === -1 || mostLikely(now) >= share(before) - FALL) return null
  // The last hours of a long good time may be bad already without spoiling its share.
  while (since > 1 && isLow(hours[since - 1] ?? NONE, before)) since--
  return { since: hours[since]?.hour ?? 0, before, now }
}

function isLow(hour: Share, before: Share): boolean {
  return hour.records > 0 && share(hour) < share(before) - FALL
}

const NONE: Share = { records: 0, filled: 0 }

function add(a: Share, b: Share): Share {
  return { records: a.records + b.records, filled: a.filled + b.filled }
}

export function share({ records, filled }: Share): number {
  return records === 0 ? 0 : filled / records
}

/** The largest share that could have given these records by chance: Wilson's upper bound. */
function mostLikely({ records, filled }: Share): number {
  const p = filled / records
  const z2 = SURE_Z ** 2 / records
  const spread = SURE_Z * Math.sqrt((p * (1 - p)) / records + z2 / (4 * records))
  return (p + z2 / 2 + spread) / (1 + z2)
}

type FieldPlace = Pick<FieldRow, 'spider' | 'kind' | 'site' | 'field'>

/**
 * Each field by the hour. The rows of a whole record come before those of its fields, so that nothing is held but the hours of one site and
 * of one field: all rows of a spider may be hundreds of megabytes.
 */
export async function* seriesIn(
  rows: AsyncIterable<FieldRow> | Iterable<FieldRow>,
): AsyncGenerator<FieldPlace & { readonly hours: readonly HourlyShare[] }> {
  let place: FieldPlace | null = null
  let records: { hour: number; records: number }[] = []
  let filled = new Map<number, number>()
  const series = ({ spider, kind, site, field }: FieldPlace) => ({
    ...{ spider, kind, site, field },
    hours: records.map((hour) => ({ ...hour, filled: filled.get(hour.hour) ?? 0 })),
  })
  for await (const row of rows) {
    const { spider, kind, site, field, hour } = row
    const sameSite = isOfSite(place, row)
    if (!sameSite || !isOfField(place, row)) {
      if (place !== null && isField(place)) yield series(place)
      if (!sameSite) records = []
      filled = new Map()
      place = { spider, kind, site, field }
    }
    if (field === WHOLE_RECORD) records.push({ hour, records: row.filled + row.failed })
    else filled.set(hour, row.filled)
  }
  if (place !== null && isField(place)) yield series(place)
}

function isOfSite(place: FieldPlace | null, { spider, kind, site }: FieldPlace): boolean {
  return place?.spider === spider && place.kind === kind && place.site === site
}

function isOfField(place: FieldPlace | null, { field }: FieldPlace): boolean {
  return place?.field === field
}

function isField({ field }: FieldPlace): boolean {
  return field !== WHOLE_RECORD && field !== OTHER_FIELDS
}

/** Active until the drift is over; whoever delivers alerts sends each episode once. */
export interface DriftAlert {
  /** Also the name of its log event. */
  readonly name: 'records.drift'
  readonly severity: 'warn'
  /** The same for as long as it lasts. */
  readonly episode: string
  readonly spider: string
  /** It fell from what it was, or it was never filled at all. */
  readonly change: 'fell' | 'never'
  /** For a person, on one line. */
  readonly message: string
  /** For a program. */
  readonly fields: Readonly<Record<string, Json>>
}

export function driftAlert(drift: Drift): DriftAlert {
  const { spider, kind, site, field, since, before, now } = drift
  const where = site === ALL_SITES ? '' : ` on ${site}`
  const percent = (one: Share) => Math.floor(share(one) * 100)
  return {
    name: 'records.drift',
    severity: 'warn',
    episode: JSON.stringify([spider, kind, site, field]),
    spider,
    change: 'fell',
    message: `${kind}.${field} is filled on ${percent(now)} % of the records${where}, was ${percent(before)} %`,
    fields: {
      kind,
      field,
      ...(site === ALL_SITES ? {} : { site }),
      since: new Date(since).toISOString(),
      ...{ before: percent(before), now: percent(now), records: now.records },
    },
  }
}
