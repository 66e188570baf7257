import { createHash } from 'node:crypto'
import { ShoalError } from '../../errors.js'
import type { KindColumns } from '../kind-views.js'
import { quotedName, quotedText, tableName } from '../sql-names.js'
import type { Pg } from './pg.js'
import { sqlState } from './pg-errors.js'

/** A view or table in our schema, and what its comment says it was created for. */
export interface Relation {
  readonly kind: 'view' | 'table' | 'other'
  readonly made: Made | null
}

/** Kept as the comment of the relation, so that it moves with it. */
export interface Made {
  readonly for: string
  readonly columns: string
  /** Tables: the change up to which it has everything. */
  readonly upTo?: number
}

export async function relation(pg: Pg, name: string): Promise<Relation | null> {
  const text = `SELECT c.relkind::text, obj_description(c.oid, 'pg_class') FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`
  const [row] = await pg.query<[string, string | null]>({ name: 'kind_relation', text }, [pg.schema, name])
  if (row === undefined) return null
  const kind = row[0] === 'v' ? 'view' : row[0] === 'r' || row[0] === 'p' ? 'table' : 'other'
  return { kind, made: readMade(row[1]) }
}

export function refuseOthers(found: Relation | null, kind: KindColumns, name: string, wanted: 'view' | 'table'): void {
  if (found === null) return
  if (found.made === null || found.made.for !== idOf(kind)) {
    throw new ShoalError('usage', `${name} is there already, and was not made for these records`, {
      hint: 'Rename it, or rename the spider or the kind.',
    })
  }
  if (found.kind !== wanted) {
    throw new ShoalError('usage', `${name} is a ${found.kind} now`, {
      hint: `Drop it first: DROP ${found.kind === 'view' ? 'VIEW' : 'TABLE'} ${name};`,
    })
  }
}

export function fullName(schema: string, { spider, kind }: KindColumns): string {
  return `${schema}.${quotedName(tableName(spider, kind))}`
}

/** Distinguishes two kinds whose names become the same relation name. */
export function idOf({ spider, kind }: KindColumns): string {
  return digest([spider, kind])
}

export function columnsId({ columns }: KindColumns): string {
  return digest(columns.map(({ field, type }) => [field, type]))
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}

export function madeText(made: Made): string {
  return quotedText(`Made by shoal views. ${JSON.stringify(made)}`)
}

function readMade(comment: string | null): Made | null {
  const found = /^Made by shoal views\. \{"for":"([0-9a-f]+)","columns":"([0-9a-f]+)"(?:,"upTo":(-?\d+))?\}$/.exec(
    comment ?? '',
  )
  const [, forKind, columns, upTo] = found ?? []
  if (forKind === undefined || columns === undefined) return null
  return { for: forKind, columns, ...(upTo !== undefined && { upTo: Number(upTo) }) }
}

const OTHERS_DEPEND = '2BP01'

/** A view or table cannot be replaced by one with other columns while a user's own view shows them. */
export function replacementError(error: unknown, name: string): unknown {
  if (sqlState(error) !== OTHERS_DEPEND) return error
  return new ShoalError('usage', `${name} has other columns now, and something of yours is built on it`, {
    hint: 'Drop what depends on it, run this again, and make it anew.',
    cause: error,
  })
}
