import type { SqliteDb, Statement } from '../../sqlite/db.js'

/**
 * Numbers of names and record sets, looked up once per batch. Not kept longer: a number that was given out in a transaction that rolled
 * back is given out again, for another name.
 */
export class InternedNames {
  readonly #sql: NameStatements
  readonly #names = new Map<string, number>()
  readonly #sets = new Map<string, number>()

  constructor(sql: NameStatements) {
    this.#sql = sql
  }

  number(name: string): number {
    return interned(this.#names, name, this.#sql.findName, this.#sql.addName, name)
  }

  set(spider: string, site: string, kind: string): number {
    const { findSet, addSet } = this.#sql
    return interned(this.#sets, `${spider}\0${site}\0${kind}`, findSet, addSet, spider, site, kind)
  }
}

export type NameStatements = ReturnType<typeof nameStatements>

export function nameStatements(db: SqliteDb) {
  return {
    addName: db.prepare('INSERT INTO names (name) VALUES (?)'),
    findName: db.prepare('SELECT id FROM names WHERE name = ?'),
    addSet: db.prepare('INSERT INTO record_sets (spider, site, kind) VALUES (?, ?, ?)'),
    findSet: db.prepare('SELECT id FROM record_sets WHERE spider = ? AND site = ? AND kind = ?'),
  }
}

function interned(
  known: Map<string, number>,
  id: string,
  find: Statement,
  add: Statement,
  ...params: string[]
): number {
  const before = known.get(id)
  if (before !== undefined) return before
  let row = find.get(...params)
  if (row === undefined) {
    add.run(...params)
    row = find.get(...params)
  }
  const number = Number(row?.[0])
  known.set(id, number)
  return number
}
