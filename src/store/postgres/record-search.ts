import { cleanText } from '../prepare.js'
import {
  foundRow,
  placeOf,
  type RecordSearch,
  type SearchPage,
  type SearchQuery,
  searchThrough,
} from '../record-search.js'
import type { Pg, SqlStatement } from './pg.js'
import { RECORD_COLUMNS, type RecordColumns, recordsPage, SPIDERS, toRecord } from './read-statements.js'

/** One transaction changes many: the other columns order them. Walks the index records_change. */
export const NEWEST: SqlStatement = {
  name: 'newest-records',
  text: `SELECT change::float8, ${RECORD_COLUMNS} FROM shoal.records WHERE (change, spider, kind, key, site) < ($1, $2, $3, $4, $5)
    ORDER BY records.change DESC, spider DESC, kind DESC, key DESC, site DESC LIMIT $6`,
}

const isChangePlace = placeOf('number', 'text', 'text', 'text', 'text')
const isKeyPlace = placeOf('text', 'text', 'text', 'text')
type KeyPlace = [spider: string, kind: string, key: string, site: string]

export class PostgresRecordSearch implements RecordSearch {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  find(asked: SearchQuery): Promise<SearchPage> {
    const { spider, kind } = asked
    // The server takes no NUL.
    const query = {
      ...asked,
      ...(spider === undefined ? {} : { spider: cleanText(spider) }),
      ...(kind === undefined ? {} : { kind: cleanText(kind) }),
    }
    return spider === undefined && kind === undefined
      ? searchThrough(query, isChangePlace, async (after, want) => {
          const from = after ?? [Number.MAX_SAFE_INTEGER, '', '', '', '']
          const rows = await this.#pg.query<[number, ...RecordColumns]>(NEWEST, [...from, want])
          return rows.map(([change, ...columns]) => {
            const record = toRecord(columns)
            return foundRow([change, record.spider, record.kind, record.key, record.site] as const, record)
          })
        })
      : searchThrough(query, isKeyPlace, (after, want) => this.#byKey(query, after, want))
  }

  /** Along the primary key, one spider after the other. */
  async #byKey({ spider, kind }: SearchQuery, after: KeyPlace | null, want: number) {
    const all = spider === undefined ? (await this.#pg.query<[string]>(SPIDERS, [])).map(([name]) => name) : [spider]
    const [from, ...place] = after ?? ['', '', '', '']
    const found = []
    for (const one of all.filter((name) => name >= from)) {
      if (found.length >= want) break
      const [afterKind, key, site] = one === from ? place : ['', '', '']
      const asked = kind === undefined ? {} : { kind }
      const page = recordsPage(one, asked, { kind: afterKind, key, site, updatedAt: 0 }, want - found.length)
      for (const row of await this.#pg.query<RecordColumns>(page.statement, page.values)) {
        const record = toRecord(row)
        found.push(foundRow<KeyPlace>([one, record.kind, record.key, record.site], record))
      }
    }
    return found
  }
}
