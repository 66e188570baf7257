import { DatabaseSync } from '@photostructure/sqlite'
import { Client } from 'pg'
import type { StoredRow } from './checker.js'

/** The pages' rows as another program finds them, which knows nothing of Shoal. */
export async function storedRows(store: string): Promise<StoredRow[]> {
  const rows = store.startsWith('postgres:') ? await inPostgres(store) : inSqlite(store.slice('sqlite:'.length))
  return rows.map(([key, gen, epoch]) => ({ key, epoch: `${gen}:${epoch}` }))
}

type Row = [key: string, gen: number | string, epoch: string]

function inSqlite(file: string): Row[] {
  const db = new DatabaseSync(file, { returnArrays: true })
  try {
    return db.prepare('SELECT key, gen, CAST(epoch AS TEXT) FROM records').all() as Row[]
  } finally {
    db.close()
  }
}

async function inPostgres(address: string): Promise<Row[]> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    const text = "SELECT key, gen, epoch::text FROM shoal.records WHERE kind = 'page'"
    return (await client.query<Row>({ text, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}
