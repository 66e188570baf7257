import type { SqliteDb, Statement } from '../../sqlite/db.js'

/** So many rows may wait for their index entry: a reader scans them in about 2 ms. */
const RUN_LENGTH = 4096

/** Fills an index table in sorted runs: 4,096 entries in order dirty a few hundred pages, one by one they dirty 4,096. */
export class IndexRuns {
  readonly #pending: Statement
  readonly #fill: Statement
  readonly #mark: Statement
  readonly #takeBack: Statement

  constructor(db: SqliteDb, table: 'records' | 'fetches', index: string, column: string) {
    this.#pending = db.prepare(
      `SELECT (SELECT coalesce(max(id), 0) FROM ${table}) - upto FROM index_runs WHERE name = '${table}'`,
    )
    this.#fill = db.prepare(
      `INSERT OR IGNORE INTO ${index} (${column}, id)
       SELECT ${column}, id FROM ${table} WHERE id > ${indexedUpTo(table)} ORDER BY ${column}, id`,
    )
    const markAtEnd = `UPDATE index_runs SET upto = (SELECT coalesce(max(id), 0) FROM ${table}) WHERE name = '${table}'`
    this.#mark = db.prepare(markAtEnd)
    this.#takeBack = db.prepare(`${markAtEnd} AND upto > (SELECT coalesce(max(id), 0) FROM ${table})`)
  }

  fillWhenDue(): void {
    if (Number(this.#pending.get()?.[0]) >= RUN_LENGTH) this.fill()
  }

  fill(): void {
    this.#fill.run()
    this.#mark.run()
  }

  /** After a delete at the end of the table, whose ids will be given out again. */
  takeBack(): void {
    this.#takeBack.run()
  }
}

/** SQL: rows with a larger id are not in the index yet. */
export function indexedUpTo(table: 'records' | 'fetches'): string {
  return `(SELECT upto FROM index_runs WHERE name = '${table}')`
}
