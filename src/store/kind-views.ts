/**
 * The records of one kind as a table of typed columns, for people with SQL. Duties of every driver:
 *  - A value that does not fit its column is NULL there; it never fails a query.
 *  - What is called like it and was not made for this kind stays as it is, and the call is refused.
 */
export interface KindViews {
  /** What `makeView` runs. */
  viewSql(kind: KindColumns): string
  /** Makes the view, or replaces the one that was made for this kind before. */
  makeView(kind: KindColumns): Promise<MadeView>
  /** Null: it has views alone. */
  readonly tables: KindTables | null
}

/** The same as tables of their own, which are read without looking into JSON and take any index. */
export interface KindTables {
  /** What makes the table, and what brings it up to date for the first time. */
  tableSql(kind: KindColumns): string
  /**
   * Makes the table where there is none, and brings it what came or changed since it was last refreshed, in short steps. One whose columns
   * are others now is made anew beside it and put in its place when it is full.
   */
  refreshTable(kind: KindColumns, progress: (rows: number) => void): Promise<RefreshedTable>
}

export interface KindColumns {
  readonly spider: string
  readonly kind: string
  readonly columns: readonly FieldColumn[]
}

export interface FieldColumn {
  /** The field of the record's data. */
  readonly field: string
  readonly type: ColumnType
}

export type ColumnType = 'text' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'json'

export interface MadeView {
  /** As SQL takes it. */
  readonly name: string
}

export interface RefreshedTable extends MadeView {
  /** Rows that came or changed. */
  readonly rows: number
  /** It was made anew, because its columns changed. */
  readonly rebuilt: boolean
}
