import { ShoalError } from '../errors.js'
import type { Json } from '../url/link.js'
import { cleanJson, cleanText } from './prepare.js'

/** What people did by hand, on the command line and from the dashboard: who, what, to what, and the result. */
export interface AuditLog {
  /** Text is cleaned and cut to AUDIT_MAX; only the newest AUDIT_KEPT entries are kept. */
  log(entry: AuditEntry): Promise<void>
  /** Newest first. */
  entries(page: AuditPage): Promise<AuditEntries>
}

export interface AuditEntry {
  readonly at: number
  /** `dashboard`, or `cli user@machine`. */
  readonly by: string
  readonly action: string
  /** A crawl, a host, a worker, a link. */
  readonly target: string
  readonly details: Json
  /** `ok`, or the error's code. */
  readonly result: string
}

export interface AuditPage {
  readonly limit: number
  /** `next` of the page before. */
  readonly after?: string
}

export interface AuditEntries {
  readonly entries: readonly AuditEntry[]
  /** Null: there are no more. */
  readonly next: string | null
}

/** A number, not a time: what was done two years ago on a quiet installation is still worth knowing. About 30 MB of usual entries. */
export const AUDIT_KEPT = 100_000
/** Characters of a name, and of the details as JSON. */
export const AUDIT_MAX = { name: 200, target: 2_000, details: 4_000 } as const

/** An entry as it is stored: details are JSON text. */
export type StoredAudit = Omit<AuditEntry, 'details'> & { readonly details: string }

export function prepareAudit({ at, by, action, target, details, result }: AuditEntry): StoredAudit {
  const name = (text: string) => cut(text, AUDIT_MAX.name)
  const text = cleanJson(JSON.stringify(details))
  return {
    ...{ at, by: name(by), action: name(action), target: cut(target, AUDIT_MAX.target), result: name(result) },
    details: text.length <= AUDIT_MAX.details ? text : JSON.stringify({ cut: cut(text, AUDIT_MAX.details / 2 - 100) }),
  }
}

/** One page of entries that were read with one more than asked for. Numbers of entries grow. */
export function auditPage(rows: readonly (AuditEntry & { readonly id: number })[], limit: number): AuditEntries {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    entries: page.map(({ id: _id, ...entry }) => entry),
    next: rows.length > limit && last ? String(last.id) : null,
  }
}

/** The number that the page comes before. */
export function auditBefore({ after }: AuditPage): number {
  if (after === undefined) return Number.MAX_SAFE_INTEGER
  if (!/^\d{1,15}$/.test(after)) throw new ShoalError('cursor_foreign', 'this is not a cursor of the audit log')
  return Number(after)
}

function cut(text: string, most: number): string {
  const clean = cleanText(text)
  return clean.length <= most ? clean : cleanText(`${clean.slice(0, most - 1)}…`)
}
