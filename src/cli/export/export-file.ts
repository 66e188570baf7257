import { existsSync, statSync } from 'node:fs'
import { extname } from 'node:path'
import { ShoalError } from '../../errors.js'
import type { ExportFormat } from '../../store/export/formats.js'

const ENDINGS: Readonly<Record<string, ExportFormat | 'warc'>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.csv': 'csv',
  '.parquet': 'parquet',
  '.sql': 'sql',
  '.mysql': 'mysql',
  '.warc': 'warc',
}

/** The format asked for, or that of the file name; JSON Lines otherwise. */
export function formatFor(out: string | undefined, asked: ExportFormat | 'warc' | undefined): ExportFormat | 'warc' {
  const packed = out !== undefined && /\.gz$/i.test(out)
  const format =
    asked ?? (out === undefined ? 'jsonl' : ENDINGS[extname(packed ? out.slice(0, -3) : out).toLowerCase()])
  if (format === undefined) {
    throw new ShoalError('usage', `${out}: unknown format: the file name has no known extension`, {
      hint: 'Use .jsonl, .csv, .parquet, .sql, .mysql or .warc (optionally with .gz), or pass --format.',
    })
  }
  if (packed && format === 'parquet') {
    throw new ShoalError('usage', `${out}: Parquet files are already compressed`, { hint: 'Drop .gz from the name.' })
  }
  return format
}

/** Whether an export to this path creates or replaces a file. A device or a pipe, like standard output, may get nothing. */
export function isFileTarget(out: string): boolean {
  try {
    return statSync(out, { throwIfNoEntry: false })?.isFile() ?? true
  } catch {
    // Writing to it will fail for the same reason, and say so.
    return true
  }
}

/** What would be written has nothing in it; the file is left alone. */
export function nothingToExport(what: string, out: string, hint: string): ShoalError {
  const left = existsSync(out) ? `${out} stays as it is` : `${out} was not created`
  return new ShoalError('not_found', `${what}: ${left}`, { hint })
}
