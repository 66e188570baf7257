import type { SqliteDb } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import { type FoundRow, placeOf, type RecordSearch, searchThrough } from '../record-search.js'
import { RECORD_COLUMNS, type RecordPageRow, storedRecord, toPageRow } from './record-rows.js'

/** Changes are numbered, newest last: after this one. */
const isChangePlace = placeOf('number')
/** Set and key. */
const isKeyPlace = placeOf('number', 'text')

type ChangePlace = [change: number]
type KeyPlace = [set: number, key: string]

interface SearchRow<Place> {
  readonly place: Place
  readonly row: RecordPageRow
}

interface SearchFilter {
  readonly spider: string | undefined
  readonly kind: string | undefined
}

/** Both ways are steps along an index: records_change, and the one of (set_id, key) in one set after the other. */
export class SqliteRecordSearch implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['newest', 'byKey'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  newest(after: ChangePlace | null, want: number): SearchRow<ChangePlace>[] {
    const rows = this.#sql.newest.all(after?.[0] ?? Number.MAX_SAFE_INTEGER, want)
    return rows.map(([change, ...row]) => ({ place: [Number(change)], row: toPageRow(row) }))
  }

  byKey({ spider, kind }: SearchFilter, after: KeyPlace | null, want: number): SearchRow<KeyPlace>[] {
    const found: SearchRow<KeyPlace>[] = []
    let [set, key] = after ?? [0, '']
    for (;;) {
      for (const values of this.#sql.restOfSet.all(set, key, want - found.length)) {
        const row = toPageRow(values)
        found.push({ place: [set, row.key], row })
      }
      const next = found.length < want ? this.#sql.nextSet.get(set, spider ?? null, kind ?? null)?.[0] : undefined
      if (next === undefined) return found
      set = Number(next)
      key = ''
    }
  }
}

export function searchOver(call: EngineCall<SqliteRecordSearch>): RecordSearch {
  const found = <Place>({ place, row }: SearchRow<Place>): FoundRow<Place> => {
    const { key, url, data } = row
    return { place, key, url, json: () => data, record: () => storedRecord(row) }
  }
  return {
    find(query) {
      const { spider, kind } = query
      return spider === undefined && kind === undefined
        ? searchThrough(query, isChangePlace, async (after, want) => (await call('newest', after, want)).map(found))
        : searchThrough(query, isKeyPlace, async (after, want) =>
            (await call('byKey', { spider, kind }, after, want)).map(found),
          )
    },
  }
}

function statements(db: SqliteDb) {
  const joined = 'records r CROSS JOIN record_sets s ON s.id = r.set_id CROSS JOIN names c ON c.id = r.crawl_id'
  return {
    newest: db.prepare(
      `SELECT r.change, ${RECORD_COLUMNS} FROM ${joined} WHERE r.change < ?1 ORDER BY r.change DESC LIMIT ?2`,
    ),
    restOfSet: db.prepare(
      `SELECT ${RECORD_COLUMNS} FROM ${joined} WHERE r.set_id = ?1 AND r.key > ?2 ORDER BY r.key LIMIT ?3`,
    ),
    nextSet: db.prepare(
      `SELECT id FROM record_sets WHERE id > ?1 AND (?2 IS NULL OR spider = ?2) AND (?3 IS NULL OR kind = ?3) ORDER BY id LIMIT 1`,
    ),
  }
}
