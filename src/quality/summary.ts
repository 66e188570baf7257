import { type Drift, share } from './drift.js'
import { ALL_SITES, addRows, type FieldRow, type TypeCounts, WHOLE_RECORD } from './field-row.js'
import { distinctValues, SKETCH_SIZE } from './sketch.js'

/** How well the fields of a kind were filled over some hours. */
export interface KindSummary {
  readonly spider: string
  readonly kind: string
  /** Records that pages produced, including those skipped or rejected later. */
  readonly records: number
  readonly rejected: number
  readonly fields: readonly FieldSummary[]
}

export interface FieldSummary {
  readonly field: string
  readonly filled: number
  /** Of the records. */
  readonly share: number
  readonly failed: number
  readonly distinct: number
  /** False: an estimate, with a standard error of 6.3 %. */
  readonly exact: boolean
  readonly types: TypeCounts
  /** Where it fell: single sites, or all of them together. */
  readonly drift: readonly Pick<Drift, 'site' | 'since' | 'before' | 'now'>[]
}

const NO_TYPES: TypeCounts = { text: 0, number: 0, boolean: 0, list: 0, object: 0 }

/** A declared field that no record of a crawl has. */
type NeverFilled = Pick<Drift, 'spider' | 'kind' | 'field'>

/** `rows` of the hours in question, in any order; a field that drifts or was never filled is there even if none of them has it. */
export function summarise(
  rows: Iterable<FieldRow>,
  drifts: readonly Drift[],
  never: readonly NeverFilled[] = [],
): KindSummary[] {
  const kinds = new Map<string, { spider: string; kind: string; fields: Map<string, FieldRow> }>()
  for (const row of rows) {
    const { spider, kind, site, field } = row
    if (site !== ALL_SITES) continue
    const id = JSON.stringify([spider, kind])
    const one = kinds.get(id) ?? { spider, kind, fields: new Map() }
    const sum = one.fields.get(field)
    kinds.set(id, one)
    one.fields.set(field, sum === undefined ? row : addRows(sum, row))
  }
  return [...kinds.values()].map(({ spider, kind, fields }) => {
    const whole = fields.get(WHOLE_RECORD)
    const records = (whole?.filled ?? 0) + (whole?.failed ?? 0)
    const ours = drifts.filter((drift) => drift.spider === spider && drift.kind === kind)
    const unfilled = never.filter((one) => one.spider === spider && one.kind === kind)
    const names = new Set([...fields.keys(), ...[...ours, ...unfilled].map(({ field }) => field)])
    names.delete(WHOLE_RECORD)
    return {
      ...{ spider, kind, records, rejected: whole?.failed ?? 0 },
      fields: [...names].sort().map((field) => fieldSummary(field, fields.get(field), records, ours)),
    }
  })
}

function fieldSummary(
  field: string,
  row: FieldRow | undefined,
  records: number,
  drifts: readonly Drift[],
): FieldSummary {
  const { filled = 0, failed = 0, types = NO_TYPES, sketch = [] } = row ?? {}
  return {
    field,
    filled,
    share: share({ records, filled }),
    failed,
    distinct: Math.min(distinctValues(sketch), filled),
    exact: sketch.length < SKETCH_SIZE,
    types,
    drift: drifts
      .filter((drift) => drift.field === field)
      .map(({ site, since, before, now }) => ({ site, since, before, now })),
  }
}
