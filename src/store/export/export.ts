import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { outputError } from '../output-error.js'
import type { RecordQuery, Records, StoredRecord } from '../record-store.js'
import { STORE_COLUMNS } from './columns.js'
import type { ExportFormat, ExportResult, Source } from './formats.js'
import { wholeFile } from './whole-file.js'

/** All that an export needs: the records of a store, or some other ones. */
export type RecordSource = Pick<Records, 'scan'>

export interface ExportOptions {
  /** Only the records' own fields, without what the store knows of them. */
  readonly dataOnly?: boolean
  readonly progress?: ExportProgress
  /** Ends it early: what was written so far is no export, and a file does not appear. */
  readonly signal?: AbortSignal
}

/** Called now and then: the records written so far, or those read for their columns. */
type ExportProgress = (rows: number, pass: 'columns' | 'rows') => void

/** Text is handed on in pieces of about this size: a write per row costs more than the row. */
const CHUNK_CHARS = 64 * 1024
/** Records between two calls while the columns are read. */
const TOLD_EVERY = 1000

/**
 * Writes records to a stream as fast as it takes them, in constant memory. All formats but JSON Lines need their columns first and read
 * the records twice. The stream stays open (it may be stdout); a reader that closes it early (`| head`) ends the export quietly.
 */
export async function exportRecords(
  from: RecordSource,
  query: RecordQuery,
  format: ExportFormat,
  sink: Writable,
  options: ExportOptions = {},
): Promise<ExportResult> {
  try {
    return await pump(from, query, format, [sink], options)
  } catch (error) {
    throw outputError(error, 'the output')
  }
}

/** The same into a file that appears only when it is whole, packed when its name ends in `.gz`. */
export function exportToFile(
  from: RecordSource,
  query: RecordQuery,
  format: ExportFormat,
  path: string,
  options: ExportOptions = {},
): Promise<ExportResult> {
  return wholeFile(path, (file) =>
    pump(from, query, format, /\.gz$/i.test(path) ? [createGzip(), file] : [file], options),
  )
}

async function pump(
  from: RecordSource,
  query: RecordQuery,
  format: ExportFormat,
  way: readonly Writable[],
  { progress = () => {}, signal, dataOnly = false }: ExportOptions,
): Promise<ExportResult> {
  const tally = { rows: 0, leftOut: 0 }
  const records = () => from.scan(query)
  const store = dataOnly ? [] : STORE_COLUMNS
  const source = { records, preview: () => previewed(records(), progress, signal), store, tally }
  const pieces = await piecesOf(format, source)
  const bytes = Readable.from(
    reporting(pieces, () => progress(tally.rows, 'rows')),
    { highWaterMark: 1 },
  )
  try {
    await pipeline([bytes, ...way], { end: false, ...(signal !== undefined && { signal }) })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EPIPE') throw error
  }
  return tally
}

/** Loaded when asked for: most exports need one of them. */
async function piecesOf(format: ExportFormat, source: Source): Promise<AsyncIterable<string | Uint8Array>> {
  switch (format) {
    case 'jsonl':
      return inChunks((await import('./json-lines.js')).jsonLines(source))
    case 'csv':
      return inChunks((await import('./csv.js')).csvLines(source))
    case 'sql':
    case 'mysql': {
      const [{ sqlStatements }, { MYSQL, STANDARD }] = await Promise.all([
        import('./sql.js'),
        import('./sql-dialects.js'),
      ])
      return inChunks(sqlStatements(source, format === 'mysql' ? MYSQL : STANDARD))
    }
    case 'parquet':
      return (await import('./parquet.js')).parquetBytes(source)
  }
}

/** Nothing is handed on here, so nobody else would notice the signal. */
async function* previewed(
  records: AsyncIterable<StoredRecord>,
  progress: ExportProgress,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoredRecord> {
  let rows = 0
  for await (const record of records) {
    rows += 1
    if (rows % TOLD_EVERY === 0) {
      progress(rows, 'columns')
      signal?.throwIfAborted()
    }
    yield record
  }
}

async function* inChunks(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = ''
  for await (const text of texts) {
    chunk += text
    if (chunk.length < CHUNK_CHARS) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

async function* reporting<Piece>(pieces: AsyncIterable<Piece>, report: () => void): AsyncGenerator<Piece> {
  for await (const piece of pieces) {
    yield piece
    report()
  }
  report()
}
