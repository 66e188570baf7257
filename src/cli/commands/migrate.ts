import type { Command } from 'commander'
import type { PendingMigration, StoreUpkeep } from '../../store/maintenance.js'
import { guide } from '../help.js'
import { acts, type Session } from '../session.js'
import { plural } from '../terminal/format.js'
import { withUpkeep } from '../maintenance.js'
import { shownProgress } from '../views/work-progress.js'

export function migrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description('make the tables in Postgres, or bring them up to this version of Shoal')
    .option('--dry-run', 'show the SQL and change nothing', false)
    .action(
      acts(async (session, { dryRun }: { dryRun: boolean }) => {
        const { output, json } = session
        await withUpkeep(session, async (upkeep) => {
          const migrations = dryRun ? await upkeep.pending() : await applied(session, upkeep)
          // Who may write but not make tables finds a place for the rows of today.
          if (!dryRun) await upkeep.makeAhead(session.clock.now())
          if (json) {
            const rows = migrations.map(({ number, name, breaking, sql }) =>
              dryRun ? { number, name, breaking, sql } : { number, name, breaking },
            )
            return output.json({ dryRun, migrations: rows })
          }
          if (migrations.length === 0) return output.print('the tables are up to date')
          for (const { number, name, breaking, sql } of migrations) {
            const title = `${String(number).padStart(4, '0')} ${name}${breaking ? ' (breaking: stop older workers first)' : ''}`
            output.print(dryRun ? `-- ${title}\n${sql.trim()}\n` : title)
          }
          output.note(
            dryRun
              ? `${plural(migrations.length, 'migration')} would be applied, all in one transaction`
              : `${plural(migrations.length, 'migration')} applied`,
          )
        })
        return undefined
      }),
    )
  guide(command, {
    examples: [
      ['migrate --store postgres://shoal@db.example/shoal --dry-run', 'what would be done, as SQL'],
      ['migrate --store postgres://shoal@db.example/shoal', 'do it; a second run finds nothing to do'],
    ],
  })
}

/** One may take long on large tables: it is named while it runs. */
async function applied(session: Session, upkeep: StoreUpkeep): Promise<readonly PendingMigration[]> {
  const progress = shownProgress(session, 'migrations', null)
  try {
    return await upkeep.migrate(({ name }, done, of) => progress.tell(done, `applying ${name}`, of))
  } finally {
    progress.stop()
  }
}
