import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { parquetMetadata, parquetRead, parquetSchema } from 'hyparquet'
import { expect } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { type ExportOptions, exportRecords, type RecordSource } from '../../src/store/export/export.js'
import type { ExportFormat } from '../../src/store/export/formats.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordRow, Records } from '../../src/store/record-store.js'
import { batch, record } from '../contract/record-store-contract.js'

export type Row = Record<string, unknown>

export async function recordsWith(...rows: Partial<RecordRow>[]): Promise<Records> {
  const { records } = memoryRecordStore()
  await records.write(batch({ records: rows.map((row, index) => record({ key: `k${index}`, ...row })) }))
  return records
}

export async function exportedBytes(
  store: RecordSource,
  format: ExportFormat,
  options: ExportOptions = {},
): Promise<Buffer> {
  const chunks: Buffer[] = []
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk))
      done()
    },
  })
  await exportRecords(store, {}, format, sink, options)
  expect(sink.writableEnded).toBe(false)
  return Buffer.concat(chunks)
}

export async function exportedText(store: RecordSource, format: ExportFormat): Promise<string> {
  return (await exportedBytes(store, format)).toString()
}

/** RFC 4180, strictly: what a spreadsheet would see. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let at = 0
  let row: string[] = []
  while (at < text.length) {
    let cell = ''
    if (text[at] === '"') {
      for (at++; ; at++) {
        if (text[at] === '"' && text[at + 1] !== '"') break
        if (text[at] === '"') at++
        cell += text[at]
      }
      at++
    } else {
      while (text[at] !== ',' && text[at] !== '\r') cell += text[at++]
    }
    row.push(cell)
    if (text[at] === ',') at += 1
    else {
      expect(text.slice(at, at + 2)).toBe('\r\n')
      at += 2
      rows.push(row)
      row = []
    }
  }
  return rows
}

export const csvColumn = (rows: string[][], name: string) => rows.slice(1).map((row) => row[rows[0].indexOf(name)])

/** Rows as arrays: the reader's objects lose a column called `__proto__`. */
export async function readParquet(bytes: Buffer): Promise<Row[]> {
  const file = new Uint8Array(bytes).buffer
  const names = parquetSchema(parquetMetadata(file)).children.map(({ element }) => element.name)
  let rows: unknown[][] = []
  await parquetRead({
    file,
    onComplete: (read) => {
      rows = read as unknown as unknown[][]
    },
  })
  return rows.map((row) => Object.fromEntries(names.map((name, place) => [name, row[place]])))
}

/** What SQLite has in a table after it ran the statements. */
export function throughSqlite(sql: string, table: string): Row[] {
  const db = new SqliteDb(':memory:')
  try {
    db.exec(sql)
    const names = db.prepare(`SELECT name FROM pragma_table_info('${table}')`).all().flat()
    const rows = db.prepare(`SELECT * FROM "${table}" ORDER BY "_key"`).all()
    return rows.map((row) => Object.fromEntries(names.map((name, place) => [String(name), row[place]])))
  } finally {
    db.close()
  }
}

const run = promisify(execFile)

/** What Postgres has in a table after psql ran the file. */
export async function throughPsql(sql: string, table: string, address: string): Promise<Row[]> {
  const dir = await mkdtemp(join(tmpdir(), 'shoal-psql-'))
  try {
    await writeFile(join(dir, 'export.sql'), sql)
    const psql = (...args: string[]) => run('psql', [address, '-X', '-q', '-v', 'ON_ERROR_STOP=1', ...args])
    await psql('-f', join(dir, 'export.sql'))
    const select = `SELECT coalesce(json_agg(t ORDER BY "_key"), '[]') FROM "${table}" t`
    await psql('-At', '-o', join(dir, 'rows.json'), '-c', select)
    return JSON.parse(await readFile(join(dir, 'rows.json'), 'utf8')) as Row[]
  } finally {
    await rm(dir, { recursive: true })
  }
}
