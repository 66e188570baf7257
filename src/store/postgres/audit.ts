import {
  AUDIT_KEPT,
  type AuditEntries,
  type AuditEntry,
  type AuditLog,
  type AuditPage,
  auditBefore,
  auditPage,
  prepareAudit,
} from '../audit.js'
import { rowReader } from '../row-reader.js'
import type { Pg, SqlStatement } from './pg.js'
import { millis } from './read-statements.js'

const LOG: SqlStatement = {
  name: 'log-audit',
  text: `WITH logged AS (
      INSERT INTO shoal.audit (at, by, action, target, details, result)
      VALUES (to_timestamp($1::float8 / 1000), $2, $3, $4, $5, $6) RETURNING id
    ) DELETE FROM shoal.audit WHERE id <= (SELECT id FROM logged) - ${AUDIT_KEPT}`,
}

const PAGE: SqlStatement = {
  name: 'audit',
  text: `SELECT id::float8, ${millis('at')}, by, action, target, details, result FROM shoal.audit WHERE id < $1 ORDER BY id DESC LIMIT $2`,
}

const toRow = rowReader<AuditEntry & { readonly id: number }>('id', 'at', 'by', 'action', 'target', 'details', 'result')

export class PostgresAudit implements AuditLog {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async log(entry: AuditEntry): Promise<void> {
    const { at, by, action, target, details, result } = prepareAudit(entry)
    await this.#pg.query(LOG, [at, by, action, target, details, result])
  }

  async entries(page: AuditPage): Promise<AuditEntries> {
    const rows = await this.#pg.query<unknown[]>(PAGE, [auditBefore(page), page.limit + 1])
    return auditPage(rows.map(toRow), page.limit)
  }
}
