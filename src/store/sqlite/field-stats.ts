import { ALL_SITES, type FieldRow, WHOLE_RECORD } from '../../quality/field-row.js'
import { type Sketch, unite } from '../../quality/sketch.js'
import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import { cleanRow, type FieldQuery, type FieldStats, KEPT_HOURS } from '../field-stats.js'
import { rowReader } from '../row-reader.js'

/** Rows of a hundred bytes, or with their sketches a kilobyte. */
const PAGE = 1000

export class SqliteFieldStats implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['page'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  add(rows: readonly FieldRow[]): void {
    for (const { spider, kind, site, field, hour, filled, failed, types, sketch } of rows) {
      const before = this.#sql.find.get(spider, kind, site, field, hour)
      const united = before === undefined ? sketch : unite(toSketch(before[0]), sketch)
      const { text, number, boolean, list, object } = types
      const counts = [filled, failed, text, number, boolean, list, object]
      this.#sql.add.run(spider, kind, site, field, hour, ...counts, toBytes(united))
      if (before === undefined && site === ALL_SITES && field === WHOLE_RECORD) {
        this.#sql.forget.run(spider, kind, KEPT_HOURS - 1)
      }
    }
  }

  page({ spider, kind, site, since, sketches }: FieldQuery, after: FieldRow | null, limit: number): FieldRow[] {
    const from = after ?? { spider: '', kind: '', site: '', field: '', hour: -1 }
    const keyset = [from.spider, from.kind, from.site, from.field, from.hour]
    const filters = [spider ?? null, kind ?? null, site ?? null, since ?? 0]
    return this.#sql.page.all(...keyset, ...filters, sketches === true ? 1 : 0, limit).map(toRow)
  }
}

export function fieldsOver(call: EngineCall<SqliteFieldStats>): FieldStats {
  return {
    add: (rows) => call('add', rows.map(cleanRow)),
    async *scan(query) {
      for (let after: FieldRow | undefined | null = null; after !== undefined; ) {
        const rows: FieldRow[] = await call('page', query, after, PAGE)
        yield* rows
        after = rows.length < PAGE ? undefined : rows.at(-1)
      }
    },
  }
}

function statements(db: SqliteDb) {
  return {
    find: db.prepare(
      'SELECT sketch FROM field_stats WHERE spider = ? AND kind = ? AND site = ? AND field = ? AND hour = ?',
    ),
    add: db.prepare(
      `INSERT INTO field_stats (spider, kind, site, field, hour, filled, failed, texts, numbers, booleans, lists, objects, sketch)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET filled = filled + excluded.filled, failed = failed + excluded.failed, texts = texts + excluded.texts,
         numbers = numbers + excluded.numbers, booleans = booleans + excluded.booleans, lists = lists + excluded.lists,
         objects = objects + excluded.objects, sketch = excluded.sketch`,
    ),
    forget: db.prepare(
      `DELETE FROM field_stats WHERE spider = ?1 AND kind = ?2 AND hour < (SELECT hour FROM field_stats
         WHERE spider = ?1 AND kind = ?2 AND site = '' AND field = '' ORDER BY hour DESC LIMIT 1 OFFSET ?3)`,
    ),
    page: db.prepare(
      `SELECT spider, kind, site, field, hour, filled, failed, texts, numbers, booleans, lists, objects, iif(?10, sketch, NULL)
       FROM field_stats WHERE (spider, kind, site, field, hour) > (?1, ?2, ?3, ?4, ?5)
         AND (?6 IS NULL OR spider = ?6) AND (?7 IS NULL OR kind = ?7) AND (?8 IS NULL OR site = ?8) AND hour >= ?9
       ORDER BY spider, kind, site, field, hour LIMIT ?11`,
    ),
  }
}

const toColumns = rowReader<Omit<FieldRow, 'types' | 'sketch'> & FieldRow['types'] & { readonly sketch: SqlValue }>(
  ...(['spider', 'kind', 'site', 'field', 'hour', 'filled', 'failed'] as const),
  ...(['text', 'number', 'boolean', 'list', 'object', 'sketch'] as const),
)

function toRow(row: SqlValue[]): FieldRow {
  const { text, number, boolean, list, object, sketch, ...counts } = toColumns(row)
  return { ...counts, types: { text, number, boolean, list, object }, sketch: toSketch(sketch) }
}

function toBytes(sketch: Sketch): Uint8Array {
  return new Uint8Array(Int32Array.from(sketch).buffer)
}

function toSketch(bytes: SqlValue | undefined): Sketch {
  // Copied: a view of 32 bits must begin at a multiple of 4.
  return bytes instanceof Uint8Array ? [...new Int32Array(Uint8Array.from(bytes).buffer)] : []
}
