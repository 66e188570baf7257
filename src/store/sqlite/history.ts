import type { SqliteDb } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import type { RecordHistory, RecordVersion } from '../history.js'
import { rowReader } from '../row-reader.js'
import { PAGE, type RecordCursor, type RecordPageRow, type RecordPages } from './record-rows.js'

/** A version that was replaced; data is still text, `id` continues a scan. */
interface VersionRow {
  readonly id: number
  readonly url: string
  readonly data: string
  readonly crawl: string
  readonly from: number
  readonly until: number
}

export class SqliteHistory implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['page'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  /** Keeps the row as it is, before it is changed. */
  keep(record: number, replacedAt: number): void {
    this.#sql.keep.run(record, replacedAt)
  }

  page(record: number, before: number | null, limit: number): VersionRow[] {
    return this.#sql.page.all(record, before, limit).map(toVersion)
  }
}

const toVersion = rowReader<VersionRow>('id', 'url', 'data', 'crawl', 'from', 'until')

export function historyOver(call: EngineCall<SqliteHistory>, records: EngineCall<RecordPages>): RecordHistory {
  async function* versionsOf(record: RecordPageRow): AsyncGenerator<RecordVersion> {
    const { id, spider, site, kind, key, url, data, crawl, updatedAt } = record
    const about = { spider, site, kind, key }
    yield { ...about, url, data: JSON.parse(data), crawl, from: updatedAt, until: null }
    for (let before: number | undefined | null = null; before !== undefined; ) {
      const versions: VersionRow[] = await call('page', id, before, PAGE)
      for (const { id: _id, ...version } of versions) yield { ...about, ...version, data: JSON.parse(version.data) }
      before = versions.length < PAGE ? undefined : versions.at(-1)?.id
    }
  }
  return {
    async *versions(query) {
      let after: RecordCursor | null = null
      do {
        const rows: RecordPageRow[] = await records('page', query, after, PAGE)
        for (const row of rows) yield* versionsOf(row)
        const last = rows.at(-1)
        after = rows.length < PAGE || last === undefined ? null : last
      } while (after !== null)
    },
  }
}

function statements(db: SqliteDb) {
  return {
    keep: db.prepare(
      `INSERT INTO record_versions (record_id, url, data, crawl_id, updated_at, replaced_at)
       SELECT id, url, data, crawl_id, updated_at, ?2 FROM records WHERE id = ?1`,
    ),
    page: db.prepare(
      `SELECT v.id, v.url, v.data, c.name, v.updated_at, v.replaced_at
       FROM record_versions v CROSS JOIN names c ON c.id = v.crawl_id
       WHERE v.record_id = ?1 AND v.id < coalesce(?2, 9223372036854775807) ORDER BY v.id DESC LIMIT ?3`,
    ),
  }
}
