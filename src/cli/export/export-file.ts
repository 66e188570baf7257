import { extname } from 'node:path'
import { ShoalError } from '../../errors.js'
import type { ExportFormat } from '../../store/export/formats.js'

const ENDINGS: Readonly<Record<string, ExportFormat | 'warc'>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.csv': 'csv',
  '.parquet': 'parquet',
  '.sql': 'sql',
  '.warc': 'warc',
}

/** What was asked for, or what the name of the file says; JSON Lines otherwise. */
export function formatFor(out: string | undefined, asked: ExportFormat | 'warc' | undefined): ExportFormat | 'warc' {
  const packed = out !== undefined && /\.gz$/i.test(out)
  const format =
    asked ?? (out === undefined ? 'jsonl' : ENDINGS[extname(packed ? out.slice(0, -3) : out).toLowerCase()])
  if (format === undefined) {
    throw new ShoalError('usage', `${out}: the name does not say in which format`, {
      hint: 'End it in .jsonl, .csv, .parquet, .sql or .warc (and .gz), or say --format.',
    })
  }
  if (packed && format === 'parquet') {
    throw new ShoalError('usage', `${out}: a Parquet file is packed already`, { hint: 'Leave .gz out.' })
  }
  return format
}
