import type { SqliteDb } from '../../sqlite/db.js'
import { AUDIT_KEPT, type StoredAudit } from '../audit.js'

export interface AuditRow {
  readonly id: number
  readonly entry: StoredAudit
}

export class SqliteAudit {
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  note({ at, by, action, target, details, result }: StoredAudit): void {
    this.#sql.note.run(at, by, action, target, details, result)
    this.#sql.forget.run()
  }

  page(before: number, limit: number): AuditRow[] {
    return this.#sql.page.all(before, limit).map((row) => {
      const [id, at, by, action, target, details, result] = row as [
        number,
        number,
        string,
        string,
        string,
        string,
        string,
      ]
      return { id, entry: { at, by, action, target, details, result } }
    })
  }
}

function statements(db: SqliteDb) {
  return {
    note: db.prepare('INSERT INTO audit (at, by, action, target, details, result) VALUES (?, ?, ?, ?, ?, ?)'),
    forget: db.prepare(`DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ${AUDIT_KEPT}`),
    page: db.prepare(
      'SELECT id, at, by, action, target, details, result FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?',
    ),
  }
}
