import type { CrawlId } from '../../frontier/frontier.js'
import { prepareBatch, storedKey } from '../prepare.js'
import type {
  FieldFailures,
  KindCount,
  RecordQuery,
  Records,
  RejectedRecord,
  StoredRecord,
  WriteBatch,
  WriteStatus,
} from '../record-store.js'
import { rowReader } from '../row-reader.js'
import type { Pg, SqlStatement } from './pg.js'
import { millis, type RecordColumns, type RecordPlace, recordsPage, SPIDERS, toRecord } from './read-statements.js'
import { writeBatch } from './write.js'

/** Rows read at a time: with the largest records that is 128 MB, with usual ones half a MB. */
const PAGE = 500

const toRejected = rowReader<RejectedRecord & { readonly id: number }>(
  ...(['id', 'spider', 'site', 'kind', 'key', 'url', 'data'] as const),
  ...(['issues', 'reason', 'crawl', 'scrapedAt'] as const),
)
const toCount = rowReader<KindCount>('spider', 'kind', 'records', 'rejected', 'fresh', 'unchanged')

export class PostgresRecords implements Records {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async write(batch: WriteBatch): Promise<WriteStatus[]> {
    const { prepared, answer } = prepareBatch(batch)
    return answer(await writeBatch(this.#pg, prepared))
  }

  async *scan(query: RecordQuery): AsyncGenerator<StoredRecord> {
    let left = query.limit ?? Number.POSITIVE_INFINITY
    const spiders = query.spider === undefined ? await this.#spiders() : [query.spider]
    for (const spider of spiders) {
      for await (const record of this.#ofSpider(spider, query, left)) {
        yield record
        left -= 1
      }
      if (left <= 0) return
    }
  }

  async #spiders(): Promise<string[]> {
    return (await this.#pg.query<[string]>(SPIDERS, [])).map(([spider]) => spider)
  }

  async *#ofSpider(spider: string, query: RecordQuery, limit: number): AsyncGenerator<StoredRecord> {
    const { kind, site, url, since } = query
    const key = query.key === undefined ? undefined : storedKey(query.key)
    const kinds = key !== undefined && kind === undefined ? await this.#kinds(spider) : [kind]
    let left = limit
    for (const one of kinds) {
      const asked = { ...defined({ kind: one, site, key, url }), ...(since === undefined ? {} : { since }) }
      let after: RecordPlace = { kind: '', key: '', site: '', updatedAt: since ?? 0 }
      for (let more = true; more && left > 0; ) {
        const want = Math.min(PAGE, left)
        const { statement, values } = recordsPage(spider, asked, after, want)
        const rows = await this.#pg.query<RecordColumns>(statement, values)
        for (const row of rows) {
          const record = toRecord(row)
          yield record
          after = record
        }
        more = rows.length === want
        left -= rows.length
      }
    }
  }

  /** A key is found at once in its kind; kinds are few. */
  async #kinds(spider: string): Promise<string[]> {
    return (await this.#pg.query<[string]>(KINDS, [spider])).map(([kind]) => kind)
  }

  async *rejected(query: { spider?: string; kind?: string; limit: number }): AsyncGenerator<RejectedRecord> {
    let before = Number.MAX_SAFE_INTEGER
    for (let left = query.limit; left > 0; ) {
      const want = Math.min(PAGE, left)
      const rows = await this.#pg.query<unknown[]>(REJECTED, [query.spider ?? null, query.kind ?? null, before, want])
      for (const { id, ...record } of rows.map(toRejected)) {
        yield record
        before = id
      }
      if (rows.length < want) return
      left -= rows.length
    }
  }

  async counts(query: { spider?: string; crawl?: CrawlId }): Promise<KindCount[]> {
    return (await this.#pg.query<unknown[]>(COUNTS, [query.spider ?? null, query.crawl ?? null])).map(toCount)
  }

  async rejectedByField(query: { spider: string; crawl?: CrawlId }): Promise<FieldFailures[]> {
    const { spider, crawl } = query
    const rows = await (crawl === undefined
      ? this.#pg.query<[string, string, number]>(REJECTED_BY_FIELD, [spider])
      : this.#pg.query<[string, string, number]>(REJECTED_OF_CRAWL, [spider, crawl]))
    return rows.map(([kind, field, count]) => ({ kind, field, count }))
  }
}

function defined<Fields extends Record<string, string | undefined>>(fields: Fields): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

const KINDS: SqlStatement = {
  name: 'kinds',
  text: 'SELECT DISTINCT kind FROM shoal.record_counts WHERE spider = $1 ORDER BY kind',
}

const COUNTS: SqlStatement = {
  name: 'counts',
  text: `SELECT spider, kind, sum(records)::float8, sum(rejected)::float8, sum(fresh)::float8, sum(unchanged)::float8 FROM shoal.record_counts
    WHERE ($1::text IS NULL OR spider = $1) AND ($2::text IS NULL OR crawl = $2)
    GROUP BY spider, kind HAVING sum(records) + sum(rejected) + sum(fresh) + sum(unchanged) > 0 ORDER BY spider, kind`,
}

const REJECTED: SqlStatement = {
  name: 'rejected',
  text: `SELECT id::float8, spider, site, kind, key, url, data, issues, reason, crawl, ${millis('scraped_at')} FROM shoal.rejected
    WHERE ($1::text IS NULL OR spider = $1) AND ($2::text IS NULL OR kind = $2) AND id < $3 ORDER BY id DESC LIMIT $4`,
}

const rejectedByField = (rows: string) =>
  `SELECT r.kind, issue ->> 'field' COLLATE "C" AS field, count(*)::float8 FROM shoal.rejected r, jsonb_array_elements(r.issues) issue
    WHERE ${rows} AND r.reason = 'invalid' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`

const REJECTED_BY_FIELD: SqlStatement = { name: 'rejected-by-field', text: rejectedByField('r.spider = $1') }

const REJECTED_OF_CRAWL: SqlStatement = {
  name: 'rejected-of-crawl',
  text: rejectedByField('r.spider = $1 AND r.crawl = $2'),
}
