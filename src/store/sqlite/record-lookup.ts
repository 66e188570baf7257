import type { SqliteDb } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import type { GivenKey, LeasedRecord, PageReading, PageRecord, RecordKey, RecordLookup } from '../record-lookup.js'
import { rowReader } from '../row-reader.js'
import { urlHash } from './hashes.js'
import { indexedUpTo } from './index-runs.js'

/** Data is still text. */
type LeasedRow = Omit<LeasedRecord, 'data'> & { readonly data: string }

export class SqliteRecordLookup implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['byKeys', 'leftOver'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  byKeys(keys: readonly RecordKey[]): (LeasedRow | null)[] {
    return keys.map(({ spider, site, kind, key }) => {
      const row = this.#sql.byKey.get(spider, site, kind, key)
      if (row === undefined) return null
      return { spider, site, kind, key, ...toLeased(row) }
    })
  }

  /** `read` and `given` as JSON: see `asReadings` and `asGiven`. */
  leftOver(spider: string, read: string, given: string): PageRecord[] {
    return this.#sql.leftOver.all(spider, read, given).map((row) => ({ spider, ...toPageRecord(row) }))
  }
}

const toLeased = rowReader<Omit<LeasedRow, keyof RecordKey>>(
  ...(['url', 'data', 'crawl', 'gen', 'epoch', 'scrapedAt', 'firstSeenAt', 'updatedAt', 'identity'] as const),
)

export function lookupOver(call: EngineCall<SqliteRecordLookup>): RecordLookup {
  return {
    async byKeys(keys) {
      const rows: (LeasedRow | null)[] = await call('byKeys', keys)
      return rows.map((row) => row && { ...row, data: JSON.parse(row.data) })
    },
    // As text they travel to the database thread in one piece.
    leftOver: (spider, readings, given) => call('leftOver', spider, asReadings(readings), asGiven(given)),
  }
}

/** Epochs stay text: they may have more digits than JSON numbers keep. */
function asReadings(readings: readonly PageReading[]): string {
  return JSON.stringify(readings.map(({ url, gen, epoch }) => [urlHash(url), url, gen, epoch]))
}

function asGiven(given: readonly GivenKey[]): string {
  return JSON.stringify(given.map(({ site, kind, key }) => `${site}\n${kind}\n${key}`))
}

function statements(db: SqliteDb) {
  return {
    byKey: db.prepare(
      `SELECT r.url, r.data, c.name, r.gen, CAST(r.epoch AS TEXT), r.seen_at, r.first_seen_at, r.updated_at, r.identity
       FROM record_sets s CROSS JOIN records r ON r.set_id = s.id CROSS JOIN names c ON c.id = r.crawl_id
       WHERE s.spider = ?1 AND s.site = ?2 AND s.kind = ?3 AND r.key = ?4`,
    ),
    // One call for many pages. The second part scans the few rows that are not in the index yet, once for all pages.
    leftOver: db.prepare(
      `WITH reading AS MATERIALIZED (
         SELECT value ->> 0 AS url_hash, value ->> 1 AS url, value ->> 2 AS gen, CAST(value ->> 3 AS INTEGER) AS epoch FROM json_each(?2)
       ), found AS (
         SELECT r.set_id, r.key, r.url, r.gen, r.epoch FROM reading p CROSS JOIN record_urls u ON u.url_hash = p.url_hash CROSS JOIN records r ON r.id = u.id
         WHERE u.id <= ${indexedUpTo('records')} AND r.url = p.url AND r.gen = p.gen AND r.epoch = p.epoch
         UNION ALL
         SELECT r.set_id, r.key, r.url, r.gen, r.epoch FROM records r CROSS JOIN reading p ON p.url_hash = r.url_hash
         WHERE r.id > ${indexedUpTo('records')} AND r.url = p.url AND r.gen = p.gen AND r.epoch = p.epoch
       )
       SELECT s.site, s.kind, r.key, r.url, r.gen, CAST(r.epoch AS TEXT) FROM found r CROSS JOIN record_sets s ON s.id = r.set_id
       WHERE s.spider = ?1 AND s.site || char(10) || s.kind || char(10) || r.key NOT IN (SELECT value FROM json_each(?3))`,
    ),
  }
}

const toPageRecord = rowReader<Omit<PageRecord, 'spider'>>('site', 'kind', 'key', 'url', 'gen', 'epoch')
