import { extname } from 'node:path'
import { ShoalError } from '../errors.js'
import type { ExportFormat } from '../store/export/export.js'

/** What was asked for, or what the name of the file says; JSON Lines otherwise. */
export function formatFor(out: string | undefined, asked: ExportFormat | undefined): ExportFormat {
  if (asked !== undefined) return asked
  const ending = out === undefined ? '.jsonl' : extname(out).toLowerCase()
  if (ending === '.csv') return 'csv'
  if (ending === '.jsonl' || ending === '.ndjson') return 'jsonl'
  throw new ShoalError('usage', `${out}: the name does not say in which format`, {
    hint: 'End it in .jsonl or .csv, or say --format.',
  })
}
