import { Command } from 'commander'
import { version } from '../version.js'
import type { controlCommand } from './commands/control.js'
import { guide, helpCommand, helpWidth, optionDescription, refuseIncomplete } from './help.js'
import { commonOptions } from './session.js'
import { stdout } from './terminal/streams.js'

interface CommandGroup {
  readonly title: string
  readonly commands: Readonly<Record<string, () => Promise<AddCommand>>>
}

type AddCommand = (program: Command) => void

async function control(verb: Parameters<typeof controlCommand>[1]): Promise<AddCommand> {
  const commands = await import('./commands/control.js')
  return (program) => commands.controlCommand(program, verb)
}

/** Loading all of them takes 0.2 s of processor time, as long as everything else that `shoal status` does. */
const GROUPS: readonly CommandGroup[] = [
  {
    title: 'Get started:',
    commands: {
      init: async () => (await import('./commands/init.js')).initCommand,
      demo: async () => (await import('./commands/demo.js')).demoCommand,
      try: async () => (await import('./commands/try.js')).tryCommand,
      shell: async () => (await import('./commands/shell.js')).shellCommand,
      check: async () => (await import('./commands/check.js')).checkCommand,
      simulate: async () => (await import('./commands/simulate.js')).simulateCommand,
    },
  },
  {
    title: 'Crawl:',
    commands: {
      run: async () => (await import('./commands/run.js')).runCommand,
      crawl: async () => (await import('./commands/crawl.js')).crawlCommand,
      start: async () => (await import('./commands/start.js')).startCommand,
      worker: async () => (await import('./commands/worker.js')).workerCommand,
      schedule: async () => (await import('./commands/schedule.js')).scheduleCommand,
      feed: async () => (await import('./commands/feed.js')).feedCommand,
      status: async () => (await import('./commands/status.js')).statusCommand,
      top: async () => (await import('./commands/top.js')).topCommand,
      pause: () => control('pause'),
      resume: () => control('resume'),
      cancel: () => control('cancel'),
      move: async () => (await import('./commands/move.js')).moveCommand,
      recover: async () => (await import('./commands/recover.js')).recoverCommand,
      reparse: async () => (await import('./commands/reparse.js')).reparseCommand,
      crawls: async () => (await import('./commands/crawls.js')).crawlsCommand,
    },
  },
  {
    title: 'Inspect and operate:',
    commands: {
      dashboard: async () => (await import('./commands/dashboard.js')).dashboardCommand,
      alerts: async () => (await import('./commands/alerts.js')).alertsCommand,
      workers: async () => (await import('./commands/workers.js')).workersCommand,
      hosts: async () => (await import('./commands/hosts.js')).hostsCommand,
      proxies: async () => (await import('./commands/proxies.js')).proxiesCommand,
      explain: async () => (await import('./commands/explain.js')).explainCommand,
      links: async () => (await import('./commands/links.js')).linksCommand,
      dead: async () => (await import('./commands/dead.js')).deadCommand,
      records: async () => (await import('./commands/records.js')).recordsCommand,
      pages: async () => (await import('./commands/pages.js')).pagesCommand,
      export: async () => (await import('./commands/export.js')).exportCommand,
      views: async () => (await import('./commands/views.js')).viewsCommand,
      outlets: async () => (await import('./commands/outlets.js')).outletsCommand,
      migrate: async () => (await import('./commands/migrate.js')).migrateCommand,
      retention: async () => (await import('./commands/retention.js')).retentionCommand,
      audit: async () => (await import('./commands/audit.js')).auditCommand,
      doctor: async () => (await import('./commands/doctor.js')).doctorCommand,
    },
  },
]

/**
 * The commands that `args` may mean: the one that is the first word, or else all of them, for the help and to guess at a typo.
 * Errors are thrown: nothing here prints one or ends the process.
 */
export async function buildProgram(args: readonly string[] = []): Promise<Command> {
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

  const isNamed = GROUPS.some(({ commands }) => Object.hasOwn(commands, args[0] ?? ''))
  for (const { title, commands } of GROUPS) {
    program.commandsGroup(title)
    const wanted = Object.entries(commands).filter(([name]) => !isNamed || name === args[0])
    for (const add of await Promise.all(wanted.map(([, load]) => load()))) add(program)
  }

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
