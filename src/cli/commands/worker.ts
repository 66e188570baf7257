import { type Command, Option } from 'commander'
import { maskUrl } from '../../config.js'
import { asShoalError, EXIT, ShoalError } from '../../errors.js'
import type { Served } from '../../run/serve-crawls.js'
import { guide } from '../help.js'
import { acts, wholeNumber, wholeNumberOrAuto, workerOptions } from '../session.js'
import { sidecarFor, sidecarOptions } from '../sidecars.js'
import { withSignals } from '../signals.js'
import { type ArgFlags, argOption, fileSources } from '../spider-choice.js'
import { clean } from '../terminal/clean.js'
import { duration, plural } from '../terminal/format.js'
import { stderr } from '../terminal/streams.js'
import { turnLine } from './schedule.js'

interface WorkerFlags extends ArgFlags {
  readonly procs: number | 'auto'
  readonly max?: number
  readonly exitWhenIdle: boolean
  readonly schedule: boolean
  readonly dashboard: boolean
}

const WHY_ENDED = {
  idle: 'nothing left to do',
  signal: 'received a signal',
  drained: 'workers were drained remotely',
} as const

export function workerCommand(program: Command): void {
  const command = program
    .command('worker')
    .description('work on all crawls of the given spiders, whoever started them, until stopped')
    .argument('<spider...>', 'spider files (.ts, .js)')
    .option(
      '--procs <n>',
      "number of worker processes (1 runs in the command's own process). auto: more while CPU is the bottleneck and a core is idle",
      wholeNumberOrAuto,
      1,
    )
    .option(
      '--max <n>',
      'with --procs auto: as many processes as are useful in the whole fleet, at most this many, also more than cores while they wait for hosts',
      wholeNumber,
    )
    .option('--exit-when-idle', 'stop when no crawl of these spiders has work left', false)
    .addOption(
      new Option('--schedule', 'also start crawls of these spiders on their schedules')
        .default(false)
        .conflicts('exitWhenIdle'),
    )
    .action(
      acts(async (session, files: string[], flags: WorkerFlags) => {
        const { settings, output, json } = session
        refuseMaxAlone(flags)
        const note = (line: string) => {
          if (!json) output.note(line)
        }
        session.noteAddresses()
        const onDrain = () => note('finishing what is in flight; a second signal stops immediately')
        return withSignals(onDrain, async ({ drain }) => {
          const { serveCrawls } = await import('../../run/serve-crawls.js')
          const served = await serveCrawls({
            settings,
            sources: fileSources(files, flags),
            workers: flags.procs,
            max: flags.max,
            exitWhenIdle: flags.exitWhenIdle,
            schedule: flags.schedule,
            sidecar: sidecarFor(session, flags, false),
            drain,
            writeLog: (line) => stderr.write(line),
            onTurn: (spider, taken) => note(turnLine(spider, taken)),
            onStart: (spiders) =>
              note(
                `working on ${clean(spiders.join(', '))} from ${maskUrl(settings.queue)}, ${processesText(flags)} × at most ${plural(settings.concurrency, 'page')} at once`,
              ),
          }).catch(unlessStarting)
          if (json) output.json(served)
          else note(`stopped after ${duration(served.seconds * 1000)}: ${WHY_ENDED[served.endedBy]}`)
          return EXIT.ok.code
        })
      }),
    )
  sidecarOptions(workerOptions(argOption(command)))
  guide(command, {
    examples: [
      ['worker books.ts --queue redis://queue.example', 'on as many machines as you like'],
      ['worker books.ts --procs auto', 'one process, and more while CPU is the bottleneck and a core is idle'],
      ['worker books.ts --procs auto --max 8', 'as many processes as help the fleet, 1 to 8 of them here'],
      ['worker books.ts shops.ts --procs 4', 'four processes, each for the crawls of both spiders'],
      ['worker books.ts --proxies pools.json --pool residential --country de', 'all requests through these proxies'],
      ['worker books.ts --schedule', 'start crawls on schedule and fetch their pages'],
      ['worker books.ts --dashboard', 'with a dashboard to start, watch and control crawls of books'],
      ['worker books.ts --exit-when-idle', 'for batch jobs: ends when no work is left'],
    ],
    exitCodes: ['interrupted', 'terminated'],
  })
}

/** A worker that is stopped while it starts has leased nothing. For the orchestrator that stopped it, it ended as well as any other. */
function unlessStarting(thrown: unknown): Served {
  if (asShoalError(thrown).code !== 'interrupted') throw thrown
  return { spiders: [], seconds: 0, endedBy: 'signal' }
}

const MOST_PROCESSES = 1_024

function refuseMaxAlone({ procs, max }: WorkerFlags): void {
  if (max === undefined) return
  if (procs !== 'auto')
    throw new ShoalError('usage', '--max is the limit of --procs auto', {
      hint: `Pass --procs auto --max ${max}, or --procs ${max} for a fixed number.`,
    })
  if (max > MOST_PROCESSES)
    throw new ShoalError('usage', `--max: expected a whole number from 1 to ${MOST_PROCESSES}`, {
      hint: 'A process takes about 150 MB of memory.',
    })
}

function processesText({ procs, max }: WorkerFlags): string {
  if (procs !== 'auto') return plural(procs, 'process', 'processes')
  if (max === undefined) return '1 or more processes'
  return max === 1 ? '1 process' : `1 to ${max} processes`
}
