import { ALL_SITES, type FieldRow, WHOLE_RECORD } from '../../quality/field-row.js'
import { SKETCH_SIZE } from '../../quality/sketch.js'
import { cleanRow, type FieldQuery, type FieldStats, KEPT_HOURS } from '../field-stats.js'
import { rowReader } from '../row-reader.js'
import type { Pg, SqlStatement } from './pg.js'
import { millis } from './read-statements.js'

const PAGE = 1_000

/**
 * One statement for all rows of a worker, in the order of their key: workers that add to the same rows wait for each other for some
 * milliseconds every few seconds, and never in a circle. `xmax` shows whether a row is new.
 */
const ADD: SqlStatement = {
  name: 'add-fields',
  text: `INSERT INTO shoal.field_stats AS f (spider, kind, site, field, hour, filled, failed, texts, numbers, booleans, lists, objects, sketch)
    SELECT spider, kind, site, field, to_timestamp(hour / 1000), filled, failed, texts, numbers, booleans, lists, objects, sketch
    FROM jsonb_to_recordset($1) AS i (spider text, kind text, site text, field text, hour float8, filled bigint, failed bigint,
      texts bigint, numbers bigint, booleans bigint, lists bigint, objects bigint, sketch integer[])
    ORDER BY spider COLLATE "C", kind COLLATE "C", site COLLATE "C", field COLLATE "C", hour
    ON CONFLICT (spider, kind, site, field, hour) DO UPDATE SET
      ${['filled', 'failed', 'texts', 'numbers', 'booleans', 'lists', 'objects'].map((name) => `${name} = f.${name} + excluded.${name}`).join(', ')},
      sketch = CASE WHEN cardinality(excluded.sketch) = 0 THEN f.sketch ELSE ARRAY(
        SELECT DISTINCT hash FROM unnest(f.sketch || excluded.sketch) AS hash ORDER BY hash LIMIT ${SKETCH_SIZE}) END
    RETURNING spider, kind, site, field, xmax = 0`,
}

/** $3: the hours that stay, less one. */
const FORGET: SqlStatement = {
  name: 'forget-fields',
  text: `DELETE FROM shoal.field_stats WHERE spider = $1 AND kind = $2 AND hour < (SELECT hour FROM shoal.field_stats
    WHERE spider = $1 AND kind = $2 AND site = '' AND field = '' ORDER BY hour DESC LIMIT 1 OFFSET $3)`,
}

export class PostgresFieldStats implements FieldStats {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async add(rows: readonly FieldRow[]): Promise<void> {
    if (rows.length === 0) return
    const plain = rows.map(cleanRow).map(({ types: { text, number, boolean, list, object }, ...row }) => ({
      ...row,
      ...{ texts: text, numbers: number, booleans: boolean, lists: list, objects: object },
    }))
    const added = await this.#pg.query<[string, string, string, string, boolean]>(ADD, [JSON.stringify(plain)])
    for (const [spider, kind, site, field, isNew] of added) {
      if (isNew && site === ALL_SITES && field === WHOLE_RECORD)
        await this.#pg.query(FORGET, [spider, kind, KEPT_HOURS - 1])
    }
  }

  async *scan(query: FieldQuery): AsyncGenerator<FieldRow> {
    for (let after: FieldRow | undefined | null = null; after !== undefined; ) {
      const rows: FieldRow[] = await this.#page(query, after)
      yield* rows
      after = rows.length < PAGE ? undefined : rows.at(-1)
    }
  }

  async #page(query: FieldQuery, after: FieldRow | null): Promise<FieldRow[]> {
    const { spider, kind, site, since, sketches } = query
    const values: unknown[] = []
    const place = (value: unknown) => `$${values.push(value)}`
    const asked = Object.entries({ spider, kind, site }).filter(([, value]) => value !== undefined)
    const filters = asked.map(([column, value]) => `${column} = ${place(value)}`)
    if (since !== undefined) filters.push(`hour >= to_timestamp(${place(since)}::float8 / 1000)`)
    if (after !== null) {
      const from = [after.spider, after.kind, after.site, after.field].map(place)
      filters.push(
        `(spider, kind, site, field, hour) > (${from.join(', ')}, to_timestamp(${place(after.hour)}::float8 / 1000))`,
      )
    }
    const name = ['fields', ...asked.map(([column]) => column), since === undefined ? '' : 'since', after && 'after']
    const text = `SELECT spider, kind, site, field, ${millis('hour')}, filled::float8, failed::float8, texts::float8, numbers::float8,
        booleans::float8, lists::float8, objects::float8, ${sketches === true ? 'sketch' : "'{}'::integer[]"}
      FROM shoal.field_stats WHERE ${filters.length === 0 ? 'true' : filters.join(' AND ')}
      ORDER BY spider, kind, site, field, hour LIMIT ${PAGE}`
    const statement = { name: `${name.filter(Boolean).join(' ')}${sketches === true ? ' sketches' : ''}`, text }
    return (await this.#pg.query<unknown[]>(statement, values)).map(toRow)
  }
}

const toColumns = rowReader<Omit<FieldRow, 'types'> & FieldRow['types']>(
  ...(['spider', 'kind', 'site', 'field', 'hour', 'filled', 'failed'] as const),
  ...(['text', 'number', 'boolean', 'list', 'object', 'sketch'] as const),
)

function toRow(row: readonly unknown[]): FieldRow {
  const { text, number, boolean, list, object, ...counts } = toColumns(row)
  return { ...counts, types: { text, number, boolean, list, object } }
}
