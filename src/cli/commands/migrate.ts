import type { Command } from 'commander'
import type { PendingMigration, StoreMaintenance } from '../../store/maintenance.js'
import { guide } from '../help.js'
import { withMaintenance } from '../maintenance.js'
import { acts, type Session } from '../session.js'
import { plural } from '../terminal/format.js'
import { shownProgress } from '../views/work-progress.js'

export function migrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description('create the tables in Postgres, or migrate them to this version of Shoal')
    .option('--dry-run', 'show the SQL and change nothing', false)
    .action(
      acts(async (session, { dryRun }: { dryRun: boolean }) => {
        const { output, json } = session
        await withMaintenance(session, async (maintenance) => {
          const migrations = dryRun ? await maintenance.pending() : await applied(session, maintenance)
          // A role that may write but not create tables then has partitions for today's rows.
          if (!dryRun) await maintenance.makeAhead(session.clock.now())
          if (json) {
            const rows = migrations.map(({ number, name, breaking, sql }) =>
              dryRun ? { number, name, breaking, sql } : { number, name, breaking },
            )
            return output.json({ dryRun, migrations: rows })
          }
          if (migrations.length === 0) return output.print('tables are up to date')
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
      }),
    )
  guide(command, {
    examples: [
      ['migrate --store postgres://shoal@db.example/shoal --dry-run', 'show the SQL'],
      ['migrate --store postgres://shoal@db.example/shoal', 'apply it; a second run does nothing'],
    ],
  })
}

/** A migration may take long on large tables, so its name is shown while it runs. */
async function applied(session: Session, maintenance: StoreMaintenance): Promise<readonly PendingMigration[]> {
  const progress = shownProgress(session, 'migrations', null)
  try {
    return await maintenance.migrate(({ name }, done, of) => progress.report(done, `applying ${name}`, of))
  } finally {
    progress.stop()
  }
}
