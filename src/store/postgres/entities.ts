import type { Entities, EntityQuery, IdentifiedRecord } from '../entities.js'
import { storedKey } from '../prepare.js'
import type { Pg, SqlStatement } from './pg.js'
import { RECORD_COLUMNS, type RecordColumns, toRecord } from './read-statements.js'

const PAGE = 500

/** $3 to $5: the record the scan saw last; each statement walks the index it is ordered by. */
const page = (name: string, where: string, order: string): SqlStatement => ({
  name,
  text: `SELECT identity, ${RECORD_COLUMNS} FROM shoal.records WHERE spider = $1 AND kind = $2 AND ${where} ORDER BY ${order} LIMIT ${PAGE}`,
})
// The index has only records with an identity: the server uses it where the statement says so.
const ALL = page('entities', 'identity IS NOT NULL AND (identity, key, site) > ($3, $4, $5)', 'identity, key, site')
const ONE = page('entity', 'identity = $3 AND (key, site) > ($4, $5)', 'key, site')
const WITHOUT = page('no-entity', 'identity IS NULL AND $3::text IS NOT NULL AND (key, site) > ($4, $5)', 'key, site')

export class PostgresEntities implements Entities {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async *scan({ spider, kind, identity }: EntityQuery): AsyncGenerator<IdentifiedRecord> {
    const statement = identity === undefined ? ALL : identity === null ? WITHOUT : ONE
    let after = [typeof identity === 'string' ? storedKey(identity) : '', '', '']
    for (;;) {
      const rows = await this.#pg.query<[string | null, ...RecordColumns]>(statement, [spider, kind, ...after])
      for (const [name, ...columns] of rows) {
        const record = toRecord(columns)
        yield { ...record, identity: name }
        after = [name ?? '', record.key, record.site]
      }
      if (rows.length < PAGE) return
    }
  }
}
