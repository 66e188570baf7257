import type { KindColumns, RefreshedTable } from '../kind-views.js'
import { quotedName, tableName } from '../sql-names.js'
import { columnsOf, functionsText, LASTING_COLUMNS, text } from './kind-columns.js'
import { columnsId, fullName, idOf, madeText, refuseOthers, relation, replacementError } from './kind-relations.js'
import type { Pg } from './pg.js'

/** Changes that one transaction processes: a second or so, and other refreshes wait for it. */
const STEP = 10_000
/** Before every change. */
const FROM_START = -1

export async function refreshTable(
  pg: Pg,
  kind: KindColumns,
  progress: (rows: number) => void,
): Promise<RefreshedTable> {
  const own = tableName(kind.spider, kind.kind)
  const name = fullName(pg.schema, kind)
  const found = await relation(pg, own)
  refuseOthers(found, kind, name, 'table')
  const rebuilt = found !== null && found.made?.columns !== columnsId(kind)
  const target = rebuilt ? `${own.slice(0, 58)}__new` : own
  await alone(pg, own, (tx) => makeTable(tx, kind, target))
  let rows = 0
  for (let more = true; more; ) {
    const step = await alone(pg, own, (tx) => bringChanges(tx, kind, target))
    rows += step.rows
    more = step.more
    progress(rows)
  }
  try {
    if (rebuilt) await alone(pg, own, (tx) => putInPlace(tx, own, target))
  } catch (error) {
    throw replacementError(error, name)
  }
  return { name, rows, rebuilt }
}

/** One refresh of a table at a time, step by step: they take turns, and the second finds little to do. */
function alone<Result>(pg: Pg, own: string, work: (tx: Pg) => Promise<Result>): Promise<Result> {
  return pg.transaction(async (tx) => {
    const statement = { name: 'kind_alone', text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text' }
    await tx.query(statement, [`shoal views ${tx.schema}.${own}`])
    return work(tx)
  })
}

export function tableText(schema: string, kind: KindColumns): string {
  const table = `${schema}.${quotedName(tableName(kind.spider, kind.kind))}`
  return `${createText(schema, kind, table)}\n${insertText(schema, kind, table, String(FROM_START), `${schema}.changes_end()`)};\n`
}

/** A table left half full by a refresh that died is continued, unless the columns have changed again. */
async function makeTable(tx: Pg, kind: KindColumns, target: string): Promise<void> {
  const table = `${tx.schema}.${quotedName(target)}`
  const found = await relation(tx, target)
  refuseOthers(found, kind, table, 'table')
  if (found?.made?.columns === columnsId(kind)) return
  await tx.script((found === null ? '' : `DROP TABLE ${table};\n`) + createText(tx.schema, kind, table))
}

function createText(schema: string, kind: KindColumns, table: string): string {
  const columns = columnsOf(schema, kind, LASTING_COLUMNS).map(({ name, type }) => `  ${name} ${type},\n`)
  return `${functionsText(schema)}
CREATE TABLE ${table} (
${columns.join('')}  PRIMARY KEY ("_site", "_key")
);
COMMENT ON TABLE ${table} IS ${upTo(kind, FROM_START)};`
}

function upTo(kind: KindColumns, change: number): string {
  return madeText({ for: idOf(kind), columns: columnsId(kind), upTo: change })
}

/** The position is stored with the rows, so that a step is done or not done at all. */
async function bringChanges(tx: Pg, kind: KindColumns, target: string): Promise<{ rows: number; more: boolean }> {
  const found = await relation(tx, target)
  // Another refresh has put it in its place already.
  if (found === null) return { rows: 0, more: false }
  const table = `${tx.schema}.${quotedName(target)}`
  const from = found.made?.upTo ?? FROM_START
  const [[end, last] = [from, from]] = await tx.query<[number, number]>(STEP_END, [from, STEP])
  if (last <= from) return { rows: 0, more: false }
  const insert = insertText(tx.schema, kind, table, String(from), String(last))
  const counted = { name: '', text: `WITH brought AS (${insert} RETURNING 1) SELECT count(*)::integer FROM brought` }
  const [[rows] = [0]] = await tx.query<[number]>(counted, [])
  await tx.script(`COMMENT ON TABLE ${table} IS ${upTo(kind, last)}`)
  return { rows, more: last < end }
}

/** The end of what is sure to be complete, and how far a step goes towards it. */
const STEP_END = {
  name: 'kind_step',
  text: `SELECT upto::float8, least(upto, (SELECT change FROM shoal.records WHERE change > $1 ORDER BY change OFFSET $2 LIMIT 1))::float8
    FROM (SELECT shoal.changes_end() AS upto) AS stream`,
}

function insertText(schema: string, kind: KindColumns, table: string, from: string, to: string): string {
  const columns = columnsOf(schema, kind, LASTING_COLUMNS)
  const updates = columns.slice(2).map(({ name }) => `${name} = excluded.${name}`)
  return `INSERT INTO ${table} (${columns.map(({ name }) => name).join(', ')})
SELECT ${columns.map(({ value }) => value).join(', ')}
FROM ${schema}.records
WHERE spider = ${text(kind.spider)} AND kind = ${text(kind.kind)} AND change > ${from} AND change <= ${to}
ON CONFLICT ("_site", "_key") DO UPDATE SET ${updates.join(', ')}`
}

async function putInPlace(tx: Pg, own: string, made: string): Promise<void> {
  if ((await relation(tx, made)) === null) return
  await tx.script(`DROP TABLE ${tx.schema}.${quotedName(own)};
    ALTER TABLE ${tx.schema}.${quotedName(made)} RENAME TO ${quotedName(own)};`)
}
