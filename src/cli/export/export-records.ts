import { randomUUID } from 'node:crypto'
import type { RecordSource } from '../../store/export/export.js'
import type { ExportFormat, ExportResult } from '../../store/export/formats.js'
import type { RecordQuery } from '../../store/record-store.js'
import type { StorePart } from '../../wire/backends.js'
import { exportStream } from '../output.js'
import type { Session } from '../session.js'
import { stderr } from '../terminal/streams.js'
import { shownProgress } from '../views/work-progress.js'
import { crawlSource } from './crawl-source.js'
import { isFileTarget, nothingToExport } from './export-file.js'
import { type MergedBy, mergedSource } from './merged-kinds.js'

export interface RecordsExport {
  readonly format: ExportFormat
  /** Null: standard output. */
  readonly out: string | null
  readonly query: RecordQuery
  /** Only what changed since the last export with this name. */
  readonly incremental: string | null
  /** Records merged by the rules of this spider file; null: each as it is stored. */
  readonly merged: MergedBy | null
  /** Only what this crawl stored or confirmed; null: whichever crawl it was. */
  readonly crawl: string | null
  /** Only the records' own fields. */
  readonly dataOnly: boolean
}

export async function exportStoredRecords(
  session: Session,
  { store }: Pick<StorePart, 'store'>,
  { format, out, query, incremental, merged, crawl, dataOnly }: RecordsExport,
  signal: AbortSignal,
): Promise<ExportResult> {
  const { exportRecords, exportToFile } = await import('../../store/export/export.js')
  const stored = crawl === null ? store.records : crawlSource(store.records, crawl)
  const source = merged === null ? stored : await mergedSource(store.entities, merged, query.kind)
  // An incremental export may find that nothing has changed.
  if (incremental === null && out !== null && isFileTarget(out)) await refuseEmpty(source, query, out)
  const total = incremental === null && merged === null && crawl === null ? await expected(store, query) : null
  const progress = shownProgress(session, 'records', total)
  const options = {
    ...{ signal, dataOnly },
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

/** A file without records would replace one that has some, and whatever reads it next would take it for the truth. */
async function refuseEmpty(source: RecordSource, query: RecordQuery, out: string): Promise<void> {
  for await (const _ of source.scan(query)) return
  throw nothingToExport('no records match', out, 'See what is stored: `shoal records list`.')
}

/** The number of records to expect; null when only a scan could count them. */
async function expected(store: StorePart['store'], query: RecordQuery): Promise<number | null> {
  const { spider, kind, site, since } = query
  if (site !== undefined || since !== undefined || !stderr.isTTY) return null
  const counts = await store.records.counts(spider === undefined ? {} : { spider })
  return counts.filter((one) => kind === undefined || one.kind === kind).reduce((sum, { records }) => sum + records, 0)
}
