import type { Json } from '../../url/link.js'
import type { HistoryQuery, RecordHistory, RecordVersion } from '../history.js'
import type { Records, StoredRecord } from '../record-store.js'
import type { Pg, SqlStatement } from './pg.js'
import { millis } from './read-statements.js'

const PAGE = 100
const AFTER_ALL = 250_000_000_000_000

/** $5 to $7: the version the scan saw last. */
const VERSIONS: SqlStatement = {
  name: 'versions',
  text: `SELECT url, data, crawl, ${millis('updated_at')}, ${millis('replaced_at')}, gen::text, epoch::text FROM shoal.record_versions
    WHERE spider = $1 AND kind = $2 AND key = $3 AND site = $4
      AND (replaced_at, gen, epoch) < (to_timestamp($5::float8 / 1000), $6::bigint, $7::bigint)
    ORDER BY replaced_at DESC, gen DESC, epoch DESC LIMIT ${PAGE}`,
}

export class PostgresHistory implements RecordHistory {
  readonly #pg: Pg
  readonly #records: Records

  constructor(pg: Pg, records: Records) {
    this.#pg = pg
    this.#records = records
  }

  async *versions(query: HistoryQuery): AsyncGenerator<RecordVersion> {
    for await (const record of this.#records.scan(query)) yield* this.#versionsOf(record)
  }

  /** Of one record, newest first. */
  async *#versionsOf(record: StoredRecord): AsyncGenerator<RecordVersion> {
    const { spider, site, kind, key, url, data, crawl, updatedAt } = record
    const about = { spider, site, kind, key }
    yield { ...about, url, data, crawl, from: updatedAt, until: null }
    let before: [number, string, string] = [AFTER_ALL, '0', '0']
    for (;;) {
      const rows: [string, Json, string, number, number, string, string][] = await this.#pg.query(VERSIONS, [
        ...[spider, kind, key, site],
        ...before,
      ])
      for (const [oldUrl, oldData, oldCrawl, from, until, gen, epoch] of rows) {
        yield { ...about, url: oldUrl, data: oldData, crawl: oldCrawl, from, until }
        before = [until, gen, epoch]
      }
      if (rows.length < PAGE) return
    }
  }
}
