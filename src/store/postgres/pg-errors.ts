import pg from 'pg'
import { type ErrorCode, ShoalError } from '../../errors.js'

/** SQLSTATE classes of a server that is stopping, starting, out of something, or a standby: the same call may work later. */
const AWAY_CLASSES = /^(?:08|53|57P0|58)/
/**
 * Lock not available, statement cancelled (by a time limit of the server), read-only or in recovery (a standby that is not yet the primary),
 * and an internal error of the server.
 */
const AWAY_CODES: ReadonlySet<string> = new Set(['55P03', '57014', '25006', '55000', 'XX000'])
const DISK_FULL = '53100'
/** Deadlock, serialization failure: the other transaction went first, ours may go now. */
const COLLISIONS: ReadonlySet<string> = new Set(['40001', '40P01'])
/** The data itself: numeric and text errors, constraints, sizes over a limit of the server. */
const DATA_CLASSES = /^(?:22|23|54)/
/** PgBouncer gave us another server connection than the one that knows the prepared statement. */
const UNPREPARED: ReadonlySet<string> = new Set(['26000', '42P05'])

export function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null
}

export function isCollision(error: unknown): boolean {
  return COLLISIONS.has(sqlState(error) ?? '')
}

export function isUnprepared(error: unknown): boolean {
  return UNPREPARED.has(sqlState(error) ?? '')
}

/** A row has no partition yet. A CHECK that somebody added names its constraint. */
export function isMissingPartition(error: unknown): boolean {
  return sqlState(error) === '23514' && (error as pg.DatabaseError).constraint === undefined
}

/** One of the rows is at fault. */
export function isDataError(error: unknown): boolean {
  return DATA_CLASSES.test(sqlState(error) ?? '') && !isMissingPartition(error)
}

/** While a crawl runs, any failure on the way to the server means that it is down. An error about our SQL is a defect. */
export function runError(error: unknown): unknown {
  if (error instanceof ShoalError) return error
  const state = sqlState(error)
  if (state === DISK_FULL) return shoalError('store_full', error)
  if (state === null) return isConnectionError(error) ? shoalError('store_down', error) : error
  if (AWAY_CLASSES.test(state) || AWAY_CODES.has(state) || COLLISIONS.has(state)) return shoalError('store_down', error)
  if (state.startsWith('28') || state === '3D000') return shoalError('store_down', error)
  if (state === '42501') return shoalError('store_forbidden', error)
  if (state === '42P01' || state === '3F000' || state === '42703') return shoalError('store_outdated', error)
  return error
}

/** When a command starts, a wrong address is for the user to fix. */
export function openError(error: unknown): unknown {
  if (error instanceof ShoalError) return error
  const state = sqlState(error)
  if (isTlsError(error)) return shoalError('store_tls', error)
  if (state?.startsWith('28')) return shoalError('store_auth', error)
  if (state === '3D000') return shoalError('store_missing', error)
  const known = runError(error)
  return known instanceof ShoalError && known.code === 'store_down' ? shoalError('store_unreachable', error) : known
}

function shoalError(code: ErrorCode, cause: unknown): ShoalError {
  return new ShoalError(code, `Postgres: ${oneLine(cause)}`, { cause })
}

/** The server's words about a connection never repeat its password; those of the client library about an address could. */
function oneLine(error: unknown): string {
  const found = error instanceof AggregateError ? error.errors[0] : error
  const message = found instanceof Error ? found.message : String(found)
  return message.replace(/\s+/g, ' ').slice(0, 300)
}

const SYSTEM_CODES = /^(?:E[A-Z]+|ERR_STREAM|ERR_SOCKET)/
const CLIENT_WORDS =
  /^(?:Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Cannot use a pool after|timeout expired)/

/** Of the connection, and not of a statement: whether the call before it ran is unknown. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionError)
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return (typeof code === 'string' && SYSTEM_CODES.test(code)) || CLIENT_WORDS.test(error.message)
}

function isTlsError(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return (
    (typeof code === 'string' && /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)) ||
    (typeof message === 'string' && refusesPlaintext(message))
  )
}

function refusesPlaintext(message: string): boolean {
  if (message.includes('does not support SSL')) return true
  return message.includes('no pg_hba.conf entry') && message.includes('no encryption')
}
