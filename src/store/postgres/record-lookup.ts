import type { GivenKey, LeasedRecord, PageReading, PageRecord, RecordKey, RecordLookup } from '../record-lookup.js'
import type { Pg, SqlStatement } from './pg.js'
import { RECORD_COLUMNS, type RecordColumns, toRecord } from './read-statements.js'

const BY_KEY: SqlStatement = {
  name: 'records-of-keys',
  text: `SELECT n::int4, gen::float8, epoch, identity, ${RECORD_COLUMNS}
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS i (a, b, c, d, n)
    JOIN shoal.records ON spider = a AND kind = b AND key = c AND site = d`,
}

const LEFT: SqlStatement = {
  name: 'records-left',
  text: `SELECT r.site, r.kind, r.key, r.url, r.gen::float8, r.epoch
    FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS i (url, gen, epoch)
    JOIN shoal.records r ON r.url = i.url AND r.gen = i.gen AND r.epoch = i.epoch AND r.spider = $1
    WHERE NOT EXISTS (SELECT 1 FROM unnest($5::text[], $6::text[], $7::text[]) AS g (site, kind, key)
      WHERE g.key = r.key AND g.kind = r.kind AND g.site = r.site)`,
}

export class PostgresRecordLookup implements RecordLookup {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async byKeys(keys: readonly RecordKey[]): Promise<(LeasedRecord | null)[]> {
    if (keys.length === 0) return []
    const columns = (['spider', 'kind', 'key', 'site'] as const).map((name) => keys.map((key) => key[name]))
    const found: (LeasedRecord | null)[] = keys.map(() => null)
    type Row = [n: number, gen: number, epoch: string, identity: string | null, ...record: RecordColumns]
    const rows = await this.#pg.query<Row>(BY_KEY, columns)
    for (const [n, gen, epoch, identity, ...record] of rows)
      found[n - 1] = { ...toRecord(record), gen, epoch, identity }
    return found
  }

  async leftOver(spider: string, readings: readonly PageReading[], given: readonly GivenKey[]): Promise<PageRecord[]> {
    if (readings.length === 0) return []
    const read = (['url', 'gen', 'epoch'] as const).map((name) => readings.map((reading) => reading[name]))
    const keys = (['site', 'kind', 'key'] as const).map((name) => given.map((key) => key[name]))
    const rows = await this.#pg.query<[string, string, string, string, number, string]>(LEFT, [
      spider,
      ...read,
      ...keys,
    ])
    return rows.map(([site, kind, key, url, gen, epoch]) => ({ spider, site, kind, key, url, gen, epoch }))
  }
}
