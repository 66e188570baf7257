import { ShoalError } from '../../errors.js'
import type { Spider } from '../../spider/spider.js'
import type { FieldColumn, KindColumns } from '../../store/kind-views.js'
import type { RecordStore } from '../../store/record-store.js'

/** Records read to find the columns of a kind without a schema. */
const RECORDS_READ = 100_000
/** Postgres has room for 1,600 columns, our own included. */
const MOST_COLUMNS = 1_500

/** The kinds of a spider with their columns, from the schemas of its file or else from its records. Spider null: its file is not known. */
export async function columnsOfKinds(
  store: RecordStore,
  name: string,
  spider: Spider | null,
  wanted: string | undefined,
): Promise<KindColumns[]> {
  const stored = (await store.records.counts({ spider: name }))
    .filter(({ records }) => records > 0)
    .map(({ kind }) => kind)
  const kinds = [...new Set([...(spider?.records.keys() ?? []), ...stored])].sort()
  const chosen = wanted === undefined ? kinds : kinds.filter((kind) => kind === wanted)
  if (chosen.length === 0) {
    throw new ShoalError(
      'not_found',
      `there are no records of ${name}${wanted === undefined ? '' : ` of the kind ${wanted}`}`,
      {
        hint:
          kinds.length === 0
            ? 'Pass the spider file, or run the spider first.'
            : `Available kinds: ${kinds.join(', ')}.`,
      },
    )
  }
  const found: KindColumns[] = []
  for (const kind of chosen) {
    const columns = await columnsOf(store, name, kind, spider)
    // Without a schema and without records there is nothing to show yet.
    if (columns.length > 0) found.push({ spider: name, kind, columns: columns.slice(0, MOST_COLUMNS) })
  }
  return found
}

async function columnsOf(
  store: RecordStore,
  name: string,
  kind: string,
  spider: Spider | null,
): Promise<FieldColumn[]> {
  const { schemaColumns, withObserved } = await import('../../store/export/schema-columns.js')
  const schema = spider?.records.get(kind)?.schema ?? null
  const declared = schema === null ? null : schemaColumns(schema)
  if (declared === null) return observedColumns(store, name, kind)
  const unsure = declared.some(({ type }) => type === null)
  return withObserved(declared, unsure ? await observedColumns(store, name, kind) : [])
}

async function observedColumns(store: RecordStore, spider: string, kind: string): Promise<FieldColumn[]> {
  const { FieldColumns } = await import('../../store/export/columns.js')
  const fields = new FieldColumns(MOST_COLUMNS)
  for await (const { data } of store.records.scan({ spider, kind, limit: RECORDS_READ })) fields.learn(data)
  return fields.columns()
}
