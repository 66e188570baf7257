import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import type { KindColumns, KindTables, KindViews, RefreshedTable } from '../../store/kind-views.js'
import { columnsOfKinds } from '../export/kind-columns.js'
import { guide } from '../help.js'
import { acts, type Session } from '../session.js'
import { type ArgFlags, argOption, spiderByWord } from '../spider-choice.js'
import { plural } from '../terminal/format.js'
import { shownProgress } from '../views/work-progress.js'

interface ViewsFlags extends ArgFlags {
  readonly kind?: string
  readonly tables: boolean
  readonly print: boolean
}

export function viewsCommand(program: Command): void {
  const command = program
    .command('views')
    .description('create SQL views of the records of a spider, with typed columns, one for each kind')
    .argument('<spider>', 'spider file or name; columns come from the schemas in the file, otherwise from the records')
    .option('--kind <kind>', 'only records of this kind')
    .option(
      '--tables',
      'Postgres: create tables instead of views, or update them with what changed since the last time',
      false,
    )
    .option('--print', 'print the SQL and change nothing', false)
    .action(
      acts(async (session, word: string, flags: ViewsFlags) => {
        await session.withResults(async ({ store }) => {
          const { views } = store
          if (views === null)
            throw new ShoalError('usage', 'this store has no SQL', {
              hint: 'Pass --store sqlite:<file> or --store postgres://….',
            })
          const spider = await spiderByWord(session, word, flags.arg)
          const kinds = await columnsOfKinds(store, spider?.name ?? word, spider, flags.kind)
          for (const kind of kinds) {
            if (flags.print) print(session, views, kind, flags.tables)
            else if (flags.tables) await refresh(session, views, kind)
            else await make(session, views, kind)
          }
        })
      }),
    )
  argOption(command)
  guide(command, {
    examples: [
      ['views books.ts', 'then: SELECT title, price FROM shoal.books_book WHERE price < 10'],
      ['views books.ts --tables', 'tables instead; run it hourly from cron to keep them up to date'],
      ['views books.ts --kind book --print', 'only print the SQL'],
    ],
    exitCodes: ['notFound'],
  })
}

function print({ json, output }: Session, views: KindViews, kind: KindColumns, tables: boolean): void {
  const sql = tables ? tablesOf(views).sql(kind) : views.sql(kind)
  if (json) output.json({ spider: kind.spider, kind: kind.kind, sql })
  else output.print(sql.trimEnd())
}

async function make({ json, output }: Session, views: KindViews, kind: KindColumns): Promise<void> {
  const { name } = await views.create(kind)
  const columns = kind.columns.length
  if (json) output.json({ spider: kind.spider, kind: kind.kind, view: name, columns })
  else output.print(`view ${name}: ${plural(columns, 'column')} and the metadata of the store`)
}

async function refresh(session: Session, views: KindViews, kind: KindColumns): Promise<void> {
  const { json, output } = session
  const { name, rows, rebuilt } = await withProgress(session, kind, tablesOf(views))
  if (json) output.json({ spider: kind.spider, kind: kind.kind, table: name, rows, rebuilt })
  else output.print(`table ${name}: ${plural(rows, 'row')} new or changed${rebuilt ? ', rebuilt' : ''}`)
}

async function withProgress(session: Session, kind: KindColumns, tables: KindTables): Promise<RefreshedTable> {
  const progress = shownProgress(session, 'records', null)
  try {
    return await tables.refresh(kind, (rows) => progress.report(rows, kind.kind))
  } finally {
    progress.stop()
  }
}

function tablesOf({ tables }: KindViews): KindTables {
  if (tables !== null) return tables
  throw new ShoalError('usage', '--tables needs a store in Postgres', {
    hint: 'Drop --tables, or export tables with `shoal export --out records.sql`.',
  })
}
