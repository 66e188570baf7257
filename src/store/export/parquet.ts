import type { Json } from '../../url/link.js'
import type { ColumnType } from '../kind-views.js'
import type { StoredRecord } from '../record-store.js'
import { columnName, columnValue, FieldColumns, fieldsOf, type StoreColumn } from './columns.js'
import type { Source } from './formats.js'
import { type Cell, parquetTable } from './parquet-table.js'

/** A column for each field, typed by all its values. */
export async function* parquetBytes({ records, preview, store, tally }: Source): AsyncGenerator<Uint8Array> {
  const fields = new FieldColumns()
  for await (const record of preview()) fields.learn(record.data)
  const columns = fields.columns().map(({ field, type }) => ({ field, name: columnName(field, store), type }))
  const places = new Map(columns.map(({ field, type }, place) => [field, { place, type }]))

  async function* rows(): AsyncGenerator<Cell[]> {
    for await (const record of records()) {
      const { cells, leftOut } = cellsOf(record, places, store)
      tally.rows += 1
      tally.leftOut += leftOut
      yield cells
    }
  }
  yield* parquetTable([...columns, ...store], rows())
}

function cellsOf(
  record: StoredRecord,
  places: ReadonlyMap<string, { readonly place: number; readonly type: ColumnType }>,
  store: readonly StoreColumn[],
): { cells: Cell[]; leftOut: number } {
  const cells = new Array<Cell>(places.size).fill(null)
  let leftOut = 0
  for (const [field, value] of Object.entries(fieldsOf(record.data))) {
    const column = places.get(field)
    const cell = column === undefined ? undefined : cellOf(value, column.type)
    if (column === undefined || cell === undefined) leftOut += 1
    else cells[column.place] = cell
  }
  for (const { value } of store) {
    const own = value(record)
    cells.push(typeof own === 'number' ? BigInt(Math.floor(own)) : own)
  }
  return { cells, leftOut }
}

function cellOf(value: Json, type: ColumnType): Cell | undefined {
  const held = columnValue(value, type)
  return typeof held === 'number' && type !== 'number' ? BigInt(held) : held
}
