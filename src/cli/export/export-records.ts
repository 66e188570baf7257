import { randomUUID } from 'node:crypto'
import type { RecordSource } from '../../store/export/export.js'
import type { ExportFormat, ExportResult } from '../../store/export/formats.js'
import type { RecordQuery } from '../../store/record-store.js'
import type { StorePart } from '../../wire/backends.js'
import { exportStream } from '../output.js'
import type { Session } from '../session.js'
import { stderr } from '../terminal/streams.js'
import { shownProgress } from '../views/work-progress.js'
import { mergedSource } from './merged-kinds.js'

export interface RecordsExport {
  readonly format: ExportFormat
  /** Null: standard output. */
  readonly out: string | null
  readonly query: RecordQuery
  /** Only what changed since the last export with this name. */
  readonly incremental: string | null
  /** Records merged by the rules of this spider file; null: each as it is stored. */
  readonly merged: string | null
}

export async function exportStoredRecords(
  session: Session,
  { store }: Pick<StorePart, 'store'>,
  { format, out, query, incremental, merged }: RecordsExport,
  signal: AbortSignal,
): Promise<ExportResult> {
  const { exportRecords, exportToFile } = await import('../../store/export/export.js')
  const source = merged === null ? store.records : await mergedSource(store.entities, merged, query.kind)
  const total = incremental === null && merged === null ? await expected(store, query) : null
  const progress = shownProgress(session, 'records', total)
  const options = {
    signal,
    progress: (rows: number, pass: 'columns' | 'rows') =>
      progress.report(rows, pass === 'columns' ? 'reading columns' : 'writing'),
  }
  const write = (source: RecordSource) =>
    out === null
      ? exportRecords(source, query, format, exportStream(), options)
      : exportToFile(source, query, format, out, options)
  try {
    if (incremental === null) return await write(source)
    const { exportChanges } = await import('../../store/export/incremental.js')
    return await exportChanges(store, { ...query, name: incremental, holder: randomUUID() }, write)
  } finally {
    progress.stop()
  }
}

/** The number of records to expect; null when only a scan could count them. */
async function expected(store: StorePart['store'], query: RecordQuery): Promise<number | null> {
  const { spider, kind, site, since } = query
  if (site !== undefined || since !== undefined || !stderr.isTTY) return null
  const counts = await store.records.counts(spider === undefined ? {} : { spider })
  return counts.filter((one) => kind === undefined || one.kind === kind).reduce((sum, { records }) => sum + records, 0)
}
