import { ALL_SITES, addedUp, type FieldRow, WHOLE_RECORD } from '../../quality/field-row.js'
import { cleanRow, type FieldQuery, type FieldStats, KEPT_HOURS } from '../field-stats.js'

export class MemoryFieldStats implements FieldStats {
  #rows: FieldRow[] = []

  async add(rows: readonly FieldRow[]): Promise<void> {
    this.#rows = addedUp([...this.#rows, ...rows.map(cleanRow)])
    const hours = new Map<string, number[]>()
    for (const row of this.#rows) {
      if (row.site === ALL_SITES && row.field === WHOLE_RECORD)
        hours.set(kindId(row), [...(hours.get(kindId(row)) ?? []), row.hour])
    }
    this.#rows = this.#rows.filter((row) => row.hour >= (hours.get(kindId(row))?.at(-KEPT_HOURS) ?? 0))
  }

  async *scan({ spider, kind, site, since = 0, sketches = false }: FieldQuery): AsyncGenerator<FieldRow> {
    yield* this.#rows
      .filter((row) => (spider ?? row.spider) === row.spider && (kind ?? row.kind) === row.kind)
      .filter((row) => (site ?? row.site) === row.site && row.hour >= since)
      .map((row) => (sketches ? row : { ...row, sketch: [] }))
  }
}

function kindId({ spider, kind }: FieldRow): string {
  return JSON.stringify([spider, kind])
}
