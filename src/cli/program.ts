import { Command } from 'commander'
import { version } from '../version.js'
import { alertsCommand } from './commands/alerts.js'
import { auditCommand } from './commands/audit.js'
import { checkCommand } from './commands/check.js'
import { controlCommand } from './commands/control.js'
import { crawlCommand } from './commands/crawl.js'
import { crawlsCommand } from './commands/crawls.js'
import { dashboardCommand } from './commands/dashboard.js'
import { deadCommand } from './commands/dead.js'
import { demoCommand } from './commands/demo.js'
import { doctorCommand } from './commands/doctor.js'
import { explainCommand } from './commands/explain.js'
import { exportCommand } from './commands/export.js'
import { feedCommand } from './commands/feed.js'
import { hostsCommand } from './commands/hosts.js'
import { initCommand } from './commands/init.js'
import { linksCommand } from './commands/links.js'
import { migrateCommand } from './commands/migrate.js'
import { moveCommand } from './commands/move.js'
import { outletsCommand } from './commands/outlets.js'
import { pagesCommand } from './commands/pages.js'
import { proxiesCommand } from './commands/proxies.js'
import { recordsCommand } from './commands/records.js'
import { recoverCommand } from './commands/recover.js'
import { reparseCommand } from './commands/reparse.js'
import { retentionCommand } from './commands/retention.js'
import { runCommand } from './commands/run.js'
import { scheduleCommand } from './commands/schedule.js'
import { shellCommand } from './commands/shell.js'
import { startCommand } from './commands/start.js'
import { statusCommand } from './commands/status.js'
import { topCommand } from './commands/top.js'
import { tryCommand } from './commands/try.js'
import { viewsCommand } from './commands/views.js'
import { workerCommand } from './commands/worker.js'
import { workersCommand } from './commands/workers.js'
import { guide, helpCommand, helpWidth, optionDescription, refuseIncomplete } from './help.js'
import { commonOptions } from './session.js'
import { stdout } from './terminal/streams.js'

/** All commands. Errors are thrown: nothing here prints one or ends the process. */
export function buildProgram(): Command {
  const program = new Command('shoal')
    .description(
      'Distributed web scraping from one spider file: nothing lost, no site hammered, and you always know where every URL is.',
    )
    .version(version, '-v, --version', 'show the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: () => {},
      getOutHelpWidth: helpWidth,
    })
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false, optionDescription })
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
  commonOptions(program)

  program.commandsGroup('Get started:')
  initCommand(program)
  demoCommand(program)
  tryCommand(program)
  shellCommand(program)
  checkCommand(program)
  program.commandsGroup('Crawl:')
  runCommand(program)
  crawlCommand(program)
  startCommand(program)
  workerCommand(program)
  scheduleCommand(program)
  feedCommand(program)
  statusCommand(program)
  topCommand(program)
  controlCommand(program, 'pause')
  controlCommand(program, 'resume')
  controlCommand(program, 'cancel')
  moveCommand(program)
  recoverCommand(program)
  reparseCommand(program)
  crawlsCommand(program)
  program.commandsGroup('Inspect and operate:')
  dashboardCommand(program)
  alertsCommand(program)
  workersCommand(program)
  hostsCommand(program)
  proxiesCommand(program)
  explainCommand(program)
  linksCommand(program)
  deadCommand(program)
  recordsCommand(program)
  pagesCommand(program)
  exportCommand(program)
  viewsCommand(program)
  outletsCommand(program)
  migrateCommand(program)
  retentionCommand(program)
  auditCommand(program)
  doctorCommand(program)

  helpCommand(program)
  refuseIncomplete(program)

  guide(program, {
    examples: [
      ['demo', 'see it work, on this machine only'],
      ['init my-spiders', 'create a first spider'],
      ['run my-spiders/books.ts', 'run it'],
      ['help run', 'every command has help and examples'],
    ],
    exitCodes: ['notFound', 'nothingFetched', 'interrupted', 'terminated'],
  })
  return program
}
