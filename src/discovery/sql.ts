import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { QueryConfig } from 'pg'
import type { Clock } from '../clock.js'
import type { SeedGroup, SeedSource } from '../coordinator/seed-source.js'
import { ShoalError } from '../errors.js'
import type { StoredValue } from '../sqlite/foreign-file.js'
import { createSpool } from './spool.js'

const ROWS_AT_ONCE = 1_000
const CONNECT_MS = 10_000

export interface SqlParts {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * The URLs of a query: its column `url`, or its first column. The result is read into a spool at once: a transaction that stays open while the queue is full
 * would keep Postgres from vacuuming.
 */
export function sqlSource(address: string, query: string, { clock, signal }: SqlParts): SeedGroup {
  const name = createHash('sha256').update(`${address}\n${query}`).digest('hex').slice(0, 16)
  return {
    label: 'result of the SQL query',
    async *sources() {
      const spool = createSpool()
      try {
        const isPostgres = /^postgres(ql)?:\/\//.test(address)
        const rows = isPostgres ? postgresRows(address, query, signal) : sqliteRows(address, query)
        for await (const urls of rows) {
          spool.write(Buffer.from(urls.map((url) => `${JSON.stringify(url)}\n`).join('')))
          // A driver that reads a local file never waits: without a pause, nothing else would run until all rows are read.
          await clock.sleep(0)
          if (signal.aborted) throw stopped()
        }
        const source: SeedSource = { name: `sql ${name} ${spool.digest()}`, entries: () => spooledTexts(spool.read()) }
        yield source
      } finally {
        spool.close()
      }
    },
  }
}

async function* spooledTexts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let half = ''
  for await (const piece of pieces) {
    const lines = (half + decoder.decode(piece, { stream: true })).split('\n')
    half = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as string
  }
}

/** In a read-only transaction, through a cursor. */
async function* postgresRows(address: string, query: string, signal: AbortSignal): AsyncGenerator<string[]> {
  const { Client } = (await import('pg')).default
  const options = { connectionString: address, connectionTimeoutMillis: CONNECT_MS, application_name: 'shoal' }
  const client = openClient(() => new Client(options))
  // A connection that breaks between two calls is reported by the next call.
  client.on('error', () => {})
  // The server notices that the connection is closed, and ends the query.
  const giveUp = () => void client.end().catch(() => {})
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    if (signal.aborted) throw stopped()
    await client.connect()
    await client.query('BEGIN READ ONLY')
    // The extended protocol allows one statement only: the query cannot end the transaction and start to write.
    const declare: QueryConfig & { queryMode: string } = {
      text: `DECLARE shoal_seeds NO SCROLL CURSOR FOR ${query}`,
      queryMode: 'extended',
    }
    await client.query(declare)
    for (;;) {
      const { rows, fields } = await client.query<unknown[]>({
        text: `FETCH ${ROWS_AT_ONCE} FROM shoal_seeds`,
        rowMode: 'array',
      })
      if (rows.length === 0) return
      yield urlsOf(
        rows,
        fields.map((field) => field.name),
      )
    }
  } catch (error) {
    throw signal.aborted ? stopped() : unreadable(error)
  } finally {
    signal.removeEventListener('abort', giveUp)
    await client.end().catch(() => {})
  }
}

/** With our own message and without a cause: the error of the parser contains the address. */
function openClient<Client>(open: () => Client): Client {
  try {
    return open()
  } catch {
    throw new ShoalError('seeds_unreadable', 'the address of the database with the start URLs is not a URL', {
      hint: 'In a password, write # / ? @ and % as %23 %2F %3F %40 and %25.',
    })
  }
}

function stopped(): ShoalError {
  return new ShoalError('aborted', 'stopped')
}

async function* sqliteRows(address: string, query: string): AsyncGenerator<string[]> {
  const path = address.replace(/^sqlite:/, '')
  if (!existsSync(path)) throw new ShoalError('seeds_unreadable', `there is no file ${path}`)
  const { readColumn } = await import('../sqlite/foreign-file.js')
  try {
    let row = 0
    let urls: string[] = []
    for (const value of readColumn(path, query, urlColumn)) {
      row++
      if (value.bytes !== null) urls.push(urlText(value, row))
      if (urls.length < ROWS_AT_ONCE) continue
      yield urls
      urls = []
    }
    yield urls
  } catch (error) {
    throw unreadable(error)
  }
}

/** Text that is not UTF-8 becomes one that is no URL: it is refused alone, like any other start URL that cannot be used, and shown. */
function urlText({ type, bytes }: StoredValue, row: number): string {
  const stored = Buffer.from(bytes ?? [])
  if (!isUtf8(stored)) return `row ${row} is not UTF-8: ${escapedBytes(stored)}`
  const text = stored.toString()
  return type === 'real' ? String(Number(text)) : text
}

function escapedBytes(stored: Buffer): string {
  const escaped = (byte: number) => `\\x${byte.toString(16).padStart(2, '0')}`
  return Array.from(stored, (byte) => (byte < 0x80 ? String.fromCharCode(byte) : escaped(byte))).join('')
}

function urlColumn(names: readonly string[]): number {
  return Math.max(0, names.indexOf('url'))
}

function urlsOf(rows: readonly unknown[][], names: readonly string[]): string[] {
  const at = urlColumn(names)
  return rows.flatMap((row) => (row[at] === null || row[at] === undefined ? [] : [String(row[at])]))
}

/** Without the address, which contains a password. */
function unreadable(error: unknown): ShoalError {
  if (error instanceof ShoalError) return error
  const reason =
    error instanceof Error && error.message !== '' ? error.message : String((error as { code?: string }).code)
  return new ShoalError('seeds_unreadable', `the query for start URLs failed: ${reason.slice(0, 300)}`, {
    cause: error,
  })
}
