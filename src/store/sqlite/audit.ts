import type { SqliteDb } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import { AUDIT_KEPT, type AuditLog, auditBefore, auditPage, prepareAudit, type StoredAudit } from '../audit.js'
import { rowReader } from '../row-reader.js'

interface AuditRow extends StoredAudit {
  readonly id: number
}

export class SqliteAudit implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['page'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  log({ at, by, action, target, details, result }: StoredAudit): void {
    this.#sql.add.run(at, by, action, target, details, result)
    this.#sql.forget.run()
  }

  page(before: number, limit: number): AuditRow[] {
    return this.#sql.page.all(before, limit).map(toRow)
  }
}

const toRow = rowReader<AuditRow>('id', 'at', 'by', 'action', 'target', 'details', 'result')

export function auditOver(call: EngineCall<SqliteAudit>): AuditLog {
  return {
    log: (entry) => call('log', prepareAudit(entry)),
    async entries(page) {
      const rows = await call('page', auditBefore(page), page.limit + 1)
      return auditPage(
        rows.map((row) => ({ ...row, details: JSON.parse(row.details) })),
        page.limit,
      )
    },
  }
}

function statements(db: SqliteDb) {
  return {
    add: db.prepare('INSERT INTO audit (at, by, action, target, details, result) VALUES (?, ?, ?, ?, ?, ?)'),
    forget: db.prepare(`DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ${AUDIT_KEPT}`),
    page: db.prepare(
      'SELECT id, at, by, action, target, details, result FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?',
    ),
  }
}
