import {
  AUDIT_KEPT,
  type AuditEntries,
  type AuditEntry,
  type AuditPage,
  auditBefore,
  auditPage,
  prepareAudit,
} from '../audit.js'

export class MemoryAudit {
  readonly #rows: { readonly id: number; readonly entry: AuditEntry }[] = []
  #last = 0

  note(entry: AuditEntry): void {
    const { details, ...stored } = prepareAudit(entry)
    this.#last += 1
    this.#rows.unshift({ id: this.#last, entry: { ...stored, details: JSON.parse(details) } })
    if (this.#rows.length > AUDIT_KEPT) this.#rows.pop()
  }

  page(page: AuditPage): AuditEntries {
    const before = auditBefore(page)
    return auditPage(
      this.#rows.filter(({ id }) => id < before),
      page.limit,
    )
  }
}
