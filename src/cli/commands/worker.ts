import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { maskUrl } from '../../config.js'
import { asShoalError, EXIT } from '../../errors.js'
import { guide } from '../help.js'
import { acts, wholeNumber, workerOptions } from '../session.js'
import { sidecarFor, sidecarOptions } from '../sidecars.js'
import { listenForSignals } from '../signals.js'
import { clean } from '../terminal/clean.js'
import { duration, plural } from '../terminal/format.js'
import { turnLine } from './schedule.js'

interface WorkerFlags {
  readonly procs: number
  readonly exitWhenIdle: boolean
  readonly schedule: boolean
  readonly dashboard: boolean
}

const WHY_ENDED = {
  idle: 'nothing left to do',
  signal: 'asked to',
  drained: 'its workers were drained from outside',
} as const

export function workerCommand(program: Command): void {
  const command = program
    .command('worker')
    .description('serve every crawl of the spiders given, whoever started it, until told to stop')
    .argument('<spider...>', 'spider files (.ts, .js)')
    .option('--procs <n>', 'worker processes; one worker runs inside the command itself', wholeNumber, 1)
    .option('--exit-when-idle', 'end when no crawl of these spiders has anything left', false)
    .addOption(
      new Option('--schedule', 'also begin crawls of these spiders at the times of their schedules')
        .default(false)
        .conflicts('exitWhenIdle'),
    )
    .action(
      acts(async (session, files: string[], flags: WorkerFlags) => {
        const { settings, output, json } = session
        const note = (line: string) => {
          if (!json) output.note(line)
        }
        const signals = listenForSignals(() => note('finishing what is in hand; a second signal ends at once'))
        try {
          const { serveCrawls } = await import('../../run/serve-crawls.js')
          const served = await serveCrawls({
            settings,
            sources: files.map((file) => ({ kind: 'file', path: resolve(file) })),
            workers: flags.procs,
            exitWhenIdle: flags.exitWhenIdle,
            schedule: flags.schedule,
            sidecar: sidecarFor(session, flags, false),
            drain: signals.drain,
            writeLog: (line) => process.stderr.write(line),
            onTurn: (spider, taken) => note(turnLine(spider, taken)),
            onStart: (spiders) =>
              note(
                `serving ${clean(spiders.join(', '))} from ${maskUrl(settings.queue)}, ${plural(flags.procs, 'process', 'processes')} × ${plural(settings.concurrency, 'page')} at once`,
              ),
          })
          if (json) output.json(served)
          else note(`stopped after ${duration(served.seconds * 1000)}: ${WHY_ENDED[served.endedBy]}`)
          return EXIT.ok.code
        } catch (thrown) {
          if (asShoalError(thrown).code === 'interrupted' && signals.received() === 'SIGTERM')
            process.exitCode = EXIT.terminated.code
          throw thrown
        } finally {
          signals.restore()
        }
      }),
    )
  sidecarOptions(workerOptions(command))
  guide(command, {
    examples: [
      ['worker books.ts --queue redis://queue.example', 'on as many machines as you like'],
      ['worker books.ts shops.ts --procs 4', 'four processes, each for the crawls of both spiders'],
      ['worker books.ts --proxies pools.json --pool residential --country de', 'only what goes through these proxies'],
      ['worker books.ts --schedule', 'a crawl whenever its schedule says so, and its pages'],
      ['worker books.ts --dashboard', 'with a page on which crawls of books can be started, watched and steered'],
      ['worker books.ts --exit-when-idle', 'for a job that ends: leaves when nothing is left'],
    ],
    exitCodes: ['interrupted', 'terminated'],
  })
}
