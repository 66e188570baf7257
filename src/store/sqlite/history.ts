import type { SqliteDb } from '../../sqlite/db.js'

/** A version that was replaced; data is still text, `id` continues a scan. */
export interface VersionRow {
  readonly id: number
  readonly url: string
  readonly data: string
  readonly crawl: string
  readonly from: number
  readonly until: number
}

export class SqliteHistory {
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  /** Of the row as it stands, before it is changed. */
  keep(record: number, replacedAt: number): void {
    this.#sql.keep.run(record, replacedAt)
  }

  page(record: number, before: number | null, limit: number): VersionRow[] {
    return this.#sql.page.all(record, before, limit).map((row) => {
      const [id, url, data, crawl, from, until] = row as [number, string, string, string, number, number]
      return { id, url, data, crawl, from, until }
    })
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
