import type { SqliteDb } from '../../sqlite/db.js'
import { type EngineCall, forward, type SqliteEngine } from '../../sqlite/engine.js'
import type { Generations } from '../record-store.js'

export class SqliteGenerations implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['highestMark'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  of(queueIdentity: string): number {
    this.#sql.add.run(queueIdentity)
    return Number(this.#sql.find.get(queueIdentity)?.[0])
  }

  highestMark(queueIdentity: string): number {
    return Number(this.#sql.highestMark.get(queueIdentity)?.[0] ?? 0)
  }

  noteMark(queueIdentity: string, mark: number): void {
    this.of(queueIdentity)
    this.#sql.noteMark.run(queueIdentity, mark)
  }

  renew(queueIdentity: string, mark: number): void {
    this.of(queueIdentity)
    this.#sql.renew.run(queueIdentity, mark)
  }
}

export function generationsOver(call: EngineCall<SqliteGenerations>): Generations {
  return forward(call, 'of', 'highestMark', 'noteMark', 'renew')
}

function statements(db: SqliteDb) {
  return {
    add: db.prepare(
      `INSERT INTO generations (queue_id, gen) SELECT ?, coalesce(max(gen), 0) + 1 FROM generations WHERE true
       ON CONFLICT (queue_id) DO NOTHING`,
    ),
    find: db.prepare('SELECT gen FROM generations WHERE queue_id = ?'),
    highestMark: db.prepare('SELECT mark FROM generations WHERE queue_id = ?'),
    noteMark: db.prepare('UPDATE generations SET mark = max(mark, ?2) WHERE queue_id = ?1'),
    renew: db.prepare(
      'UPDATE generations SET mark = 0, gen = (SELECT max(gen) FROM generations) + 1 WHERE queue_id = ?1 AND mark = ?2',
    ),
  }
}
