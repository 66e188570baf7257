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

export class MemoryAudit implements AuditLog {
  readonly #rows: (AuditEntry & { readonly id: number })[] = []
  #last = 0

  async log(entry: AuditEntry): Promise<void> {
    const { details, ...stored } = prepareAudit(entry)
    this.#last += 1
    this.#rows.unshift({ id: this.#last, ...stored, details: JSON.parse(details) })
    if (this.#rows.length > AUDIT_KEPT) this.#rows.pop()
  }

  async entries(page: AuditPage): Promise<AuditEntries> {
    const before = auditBefore(page)
    return auditPage(
      this.#rows.filter(({ id }) => id < before),
      page.limit,
    )
  }
}
