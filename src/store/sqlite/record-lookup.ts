import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { LeasedRecord, PageReading, PageRecord, RecordKey } from '../record-lookup.js'
import { indexedUpTo } from './index-runs.js'
import { urlHash } from './url-hash.js'

/** Data is still text. */
export type LeasedRow = Omit<LeasedRecord, 'data'> & { readonly data: string }

export class SqliteRecordLookup {
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  recordsOf(keys: readonly RecordKey[]): (LeasedRow | null)[] {
    return keys.map(({ spider, site, kind, key }) => {
      const row = this.#sql.byKey.get(spider, site, kind, key)
      if (row === undefined) return null
      const [url, data, crawl, gen, epoch, scrapedAt, firstSeenAt, updatedAt] = row as [
        string,
        string,
        string,
        number,
        string,
        number,
        number,
        number,
      ]
      return { spider, site, kind, key, url, data, crawl, gen, epoch, scrapedAt, firstSeenAt, updatedAt }
    })
  }

  recordsOfPages(spider: string, readings: readonly PageReading[]): PageRecord[] {
    const found = readings.flatMap(({ url, gen, epoch }) =>
      this.#sql.byUrl.all(spider, url, urlHash(url), gen, BigInt(epoch)).map((row) => toPageRecord(spider, row)),
    )
    // One look at the rows that came after the index, for all of them.
    const wanted = new Set(readings.map(({ url, gen, epoch }) => `${gen} ${epoch} ${url}`))
    const hashes = JSON.stringify(readings.map(({ url }) => urlHash(url)))
    for (const row of this.#sql.late.all(spider, hashes)) {
      const record = toPageRecord(spider, row)
      if (wanted.has(`${record.gen} ${record.epoch} ${record.url}`)) found.push(record)
    }
    return found
  }
}

function statements(db: SqliteDb) {
  const record = 's.site, s.kind, r.key, r.url, r.gen, CAST(r.epoch AS TEXT)'
  return {
    byKey: db.prepare(
      `SELECT r.url, r.data, c.name, r.gen, CAST(r.epoch AS TEXT), r.seen_at, r.first_seen_at, r.updated_at
       FROM record_sets s CROSS JOIN records r ON r.set_id = s.id CROSS JOIN names c ON c.id = r.crawl_id
       WHERE s.spider = ?1 AND s.site = ?2 AND s.kind = ?3 AND r.key = ?4`,
    ),
    byUrl: db.prepare(
      `SELECT ${record} FROM record_urls u CROSS JOIN records r ON r.id = u.id CROSS JOIN record_sets s ON s.id = r.set_id
       WHERE u.url_hash = ?3 AND u.id <= ${indexedUpTo('records')}
         AND r.url = ?2 AND r.gen = ?4 AND r.epoch = ?5 AND s.spider = ?1`,
    ),
    late: db.prepare(
      `SELECT ${record} FROM records r CROSS JOIN record_sets s ON s.id = r.set_id
       WHERE r.id > ${indexedUpTo('records')} AND r.url_hash IN (SELECT value FROM json_each(?2)) AND s.spider = ?1`,
    ),
  }
}

function toPageRecord(spider: string, row: SqlValue[]): PageRecord {
  const [site, kind, key, url, gen, epoch] = row as [string, string, string, string, number, string]
  return { spider, site, kind, key, url, gen, epoch }
}
