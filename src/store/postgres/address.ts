import type pg from 'pg'
import { ShoalError } from '../../errors.js'

export interface PostgresAddress {
  readonly config: pg.PoolConfig
  readonly schema: string
}

const DEFAULT_SCHEMA = 'shoal'
/** What Postgres accepts without quotes, so that it can be typed into psql as it is. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/
/** What is not listed here would be passed on to the server or ignored, and a typing error would go unnoticed. */
const PARAMETERS: ReadonlySet<string> = new Set(['schema', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'])

/** `postgres://user:password@host:port/database?schema=shoal&sslmode=verify-full`. Messages never repeat it: it may hold a password. */
export function parsePostgres(address: string): PostgresAddress {
  let url: URL
  try {
    url = new URL(address)
  } catch {
    throw bad('it is not of the form postgres://user:password@host:port/database')
  }
  if (url.pathname.length < 2) throw bad('it names no database')
  for (const name of url.searchParams.keys()) if (!PARAMETERS.has(name)) throw bad(`it has an unknown part ?${name}=`)
  const schema = url.searchParams.get('schema') ?? DEFAULT_SCHEMA
  if (!SCHEMA.test(schema)) throw bad('?schema= must be lower-case letters, digits and underscores, at most 63')
  url.searchParams.delete('schema')
  return { config: { connectionString: url.href }, schema }
}

function bad(why: string): ShoalError {
  return new ShoalError('store_address', `the address of the Postgres store cannot be read: ${why}`)
}
