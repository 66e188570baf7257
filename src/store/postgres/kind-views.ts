import type { KindColumns, KindTables, KindViews, MadeView } from '../kind-views.js'
import { tableName } from '../sql-names.js'
import { columnsOf, functionsText, STORE_COLUMNS, text } from './kind-columns.js'
import { columnsId, fullName, idOf, madeText, refuseOthers, relation, replacementError } from './kind-relations.js'
import { refreshTable, tableText } from './kind-tables.js'
import type { Pg } from './pg.js'
import { sqlState } from './pg-errors.js'

/** Changed the columns of a view in another way than by adding some at its end. */
const OTHER_COLUMNS = '42P16'

export class PostgresKindViews implements KindViews {
  readonly tables: KindTables
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
    this.tables = {
      sql: (kind) => tableText(pg.schema, kind),
      refresh: (kind, progress) => refreshTable(pg, kind, progress),
    }
  }

  sql(kind: KindColumns): string {
    return viewText(this.#pg.schema, kind)
  }

  async create(kind: KindColumns): Promise<MadeView> {
    const pg = this.#pg
    const text = viewText(pg.schema, kind)
    const name = fullName(pg.schema, kind)
    const found = await relation(pg, tableName(kind.spider, kind.kind))
    refuseOthers(found, kind, name, 'view')
    try {
      await pg.transaction((tx) => tx.script(text))
    } catch (error) {
      if (sqlState(error) !== OTHER_COLUMNS) throw error
      // Rights that were granted on it go with the old one.
      await pg
        .transaction((tx) => tx.script(`DROP VIEW ${name};\n${text}`))
        .catch((refused: unknown) => Promise.reject(replacementError(refused, name)))
    }
    return { name }
  }
}

function viewText(schema: string, kind: KindColumns): string {
  const name = fullName(schema, kind)
  const columns = columnsOf(schema, kind, STORE_COLUMNS)
  const made = madeText({ for: idOf(kind), columns: columnsId(kind) })
  return `${functionsText(schema)}
CREATE OR REPLACE VIEW ${name} AS
SELECT
${columns.map(({ name: column, value }) => `  ${value} AS ${column}`).join(',\n')}
FROM ${schema}.records
WHERE spider = ${text(kind.spider)} AND kind = ${text(kind.kind)};
COMMENT ON VIEW ${name} IS ${made};
`
}
