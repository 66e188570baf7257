import type { PartitionedTable, PartitionInfo } from '../maintenance.js'
import { type Cell, parquetTable, type TableColumn } from './parquet-table.js'

const COLUMNS: Readonly<Record<PartitionedTable, readonly TableColumn[]>> = {
  fetches: [
    { name: 'at', type: 'timestamp' },
    ...texts('spider', 'crawl'),
    { name: 'fp', type: 'text' },
    ...texts('url', 'host', 'route'),
    { name: 'depth', type: 'integer' },
    { name: 'link', type: 'json' },
    { name: 'status', type: 'integer' },
    { name: 'bytes', type: 'integer' },
    { name: 'ms', type: 'number' },
    { name: 'attempt', type: 'integer' },
    ...texts('worker', 'pool', 'error', 'page'),
    { name: 'headers', type: 'json' },
    ...texts('gen', 'epoch'),
  ],
  record_versions: [
    ...texts('spider', 'site', 'kind', 'key', 'url'),
    { name: 'data', type: 'json' },
    ...texts('crawl', 'gen', 'epoch'),
    { name: 'updated_at', type: 'timestamp' },
    { name: 'replaced_at', type: 'timestamp' },
  ],
}

function texts(...names: string[]): TableColumn[] {
  return names.map((name) => ({ name, type: 'text' as const }))
}

/** `fetches_20261101-<id>.parquet`, with the columns of its table; 64-bit numbers that JavaScript cannot hold are text. */
export function partitionFile(
  { table, name, id }: PartitionInfo,
  rows: AsyncIterable<Readonly<Record<string, unknown>>>,
): { name: string; bytes: AsyncIterable<Uint8Array> } {
  const columns = COLUMNS[table]
  async function* cells(): AsyncGenerator<Cell[]> {
    for await (const row of rows) yield columns.map(({ name, type }) => cellOf(row[name] ?? null, type))
  }
  return { name: `${name}-${id}.parquet`, bytes: parquetTable(columns, cells()) }
}

function cellOf(value: unknown, type: TableColumn['type']): Cell {
  if (value === null) return null
  switch (type) {
    case 'timestamp':
      return BigInt(Date.parse(String(value)))
    case 'integer':
      return BigInt(Number(value))
    case 'number':
      return Number(value)
    case 'json':
      return JSON.stringify(value)
    default:
      return String(value)
  }
}
