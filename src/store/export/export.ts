import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ShoalError } from '../../errors.js'
import type { RecordQuery, RecordStore, StoredRecord } from '../record-store.js'
import { CsvTable, isoTime } from './csv.js'

export type ExportFormat = 'jsonl' | 'csv'

/** All that an export needs of a store. */
export type RecordSource = Pick<RecordStore, 'records'>

export interface ExportResult {
  readonly rows: number
  /** Fields that had no column: they appeared after the columns were read, or there were too many. Always 0 for jsonl. */
  readonly leftOut: number
}

/** Told now and then, with the rows written so far. */
export type ExportProgress = (rows: number) => void

/** Text is handed on in pieces of about this size: a write per row costs more than the row. */
const CHUNK_CHARS = 64 * 1024

/**
 * Writes records to a stream as fast as it takes them, in constant memory. CSV needs its columns first, so it reads the records twice.
 * The stream stays open (it may be stdout); a reader that goes away early (`| head`) ends the export quietly.
 */
export async function exportRecords(
  store: RecordSource,
  query: RecordQuery,
  format: ExportFormat,
  sink: Writable,
  progress?: ExportProgress,
): Promise<ExportResult> {
  try {
    return await pump(store, query, format, sink, progress)
  } catch (error) {
    throw outputError(error, 'the output')
  }
}

async function pump(
  store: RecordSource,
  query: RecordQuery,
  format: ExportFormat,
  sink: Writable,
  progress: ExportProgress = () => {},
): Promise<ExportResult> {
  const result = { rows: 0, leftOut: 0 }
  const lines = format === 'csv' ? csvLines(store, query, result) : jsonLines(store.records(query), result)
  try {
    await pipeline(
      Readable.from(
        inChunks(lines, () => progress(result.rows)),
        { highWaterMark: 1 },
      ),
      sink,
      { end: false },
    )
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EPIPE') throw error
  }
  return result
}

/** The same into a file that appears only when it is whole. */
export async function exportToFile(
  store: RecordSource,
  query: RecordQuery,
  format: ExportFormat,
  path: string,
  progress?: ExportProgress,
): Promise<ExportResult> {
  const part = `${path}.${randomUUID().slice(0, 8)}.part`
  try {
    await mkdir(dirname(path), { recursive: true })
    const file = createWriteStream(part, { flags: 'wx' })
    const closed = new Promise<void>((resolve, reject) => file.once('close', resolve).once('error', reject))
    // The export reports the same error; this promise is only waited for after a success.
    closed.catch(() => {})
    const result = await pump(store, query, format, file, progress)
    file.end()
    await closed
    await rename(part, path)
    return result
  } catch (error) {
    await rm(part, { force: true }).catch(() => {})
    throw outputError(error, path)
  }
}

function outputError(error: unknown, path: string): unknown {
  if (error instanceof ShoalError) return error
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new ShoalError('disk_full', `${path}: the disk is full`, { cause: error })
  if (syscall === undefined) return error
  return new ShoalError('out_unwritable', `${path}: cannot be written (${String(code)})`, { cause: error })
}

async function* jsonLines(records: AsyncIterable<StoredRecord>, result: { rows: number }): AsyncGenerator<string> {
  for await (const record of records) {
    const { spider, site, kind, key, url, data, crawl } = record
    const times = {
      scrapedAt: isoTime(record.scrapedAt),
      firstSeenAt: isoTime(record.firstSeenAt),
      updatedAt: isoTime(record.updatedAt),
    }
    result.rows += 1
    yield `${JSON.stringify({ spider, site, kind, key, url, data, crawl, ...times })}\n`
  }
}

async function* csvLines(
  store: RecordSource,
  query: RecordQuery,
  result: { rows: number; leftOut: number },
): AsyncGenerator<string> {
  const table = new CsvTable()
  for await (const record of store.records(query)) table.learn(record.data)
  yield table.header()
  for await (const record of store.records(query)) {
    const { text, leftOut } = table.row(record)
    result.rows += 1
    result.leftOut += leftOut
    yield text
  }
}

async function* inChunks(lines: AsyncIterable<string>, handedOn: () => void): AsyncGenerator<string> {
  let chunk = ''
  for await (const text of lines) {
    chunk += text
    if (chunk.length < CHUNK_CHARS) continue
    yield chunk
    handedOn()
    chunk = ''
  }
  if (chunk !== '') yield chunk
  handedOn()
}
