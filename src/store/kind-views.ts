/**
 * The records of one kind as a table of typed columns, for people with SQL. Duties of every driver:
 *  - A value that does not fit its column is NULL there; it never fails a query.
 *  - A relation of that name which was not created for this kind stays as it is, and the call is refused.
 */
export interface KindViews {
  /** What `create` runs. */
  sql(kind: KindColumns): string
  /** Creates the view, or replaces the one created for this kind before. */
  create(kind: KindColumns): Promise<MadeView>
  /** Null: views only. */
  readonly tables: KindTables | null
}

/** The same as real tables: reading them parses no JSON, and they take any index. */
export interface KindTables {
  /** What creates the table and fills it for the first time. */
  sql(kind: KindColumns): string
  /**
   * Creates the table if needed, and adds what came or changed since the last refresh, in short transactions. A table whose columns changed
   * is rebuilt under another name and swapped in when it is complete.
   */
  refresh(kind: KindColumns, progress: (rows: number) => void): Promise<RefreshedTable>
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
  /** Because its columns changed. */
  readonly rebuilt: boolean
}
