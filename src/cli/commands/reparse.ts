import type { Command } from 'commander'
import { EXIT, ShoalError } from '../../errors.js'
import type { ReparseSummary } from '../../run/reparse/reparse.js'
import type { CrawlNote } from '../../store/record-store.js'
import { guide } from '../help.js'
import { type Since, since } from '../record-filters.js'
import { acts, wholeNumber } from '../session.js'
import { withSignals } from '../signals.js'
import { type ArgFlags, argOption, fileSource } from '../spider-choice.js'
import { reparseProgress } from '../views/reparse-progress.js'
import { reparseJson, showReparse } from '../views/reparse-view.js'

interface ReparseFlags extends ArgFlags {
  readonly dryRun: boolean
  readonly crawl?: string
  readonly route?: string
  readonly since?: Since
  readonly workers?: number
}

export function reparseCommand(program: Command): void {
  const command = program
    .command('reparse')
    .description('run a spider over its kept raw pages (savePages), without fetching anything')
    .argument('<spider>', 'spider file (.ts, .js)')
    .option('--dry-run', 'show what would change, field by field, and write nothing', false)
    .option('--crawl <crawl>', 'only pages of this crawl (id or a prefix of it)')
    .option('--route <route>', 'only pages fetched for this route')
    .option('--since <time>', 'only pages fetched since: 2h, 7d or 2026-11-01', since)
    .option('--workers <n>', 'number of threads (default: one per core for large jobs)', wholeNumber)
    .action(
      acts(async (session, file: string, flags: ReparseFlags) => {
        const { json, settings, clock } = session
        const { dryRun, route, since: from, workers = null } = flags
        const progress = reparseProgress(json, clock.now)
        const onDrain = () => progress.say('finishing the pages in flight; press Ctrl-C again to stop immediately')
        return withSignals(onDrain, async (signals) => {
          const { reparse } = await import('../../run/reparse/reparse.js')
          const summary = await session.withResults(async (results) => {
            const crawl =
              flags.crawl === undefined ? undefined : crawlNamed(await results.store.crawls.notes(), flags.crawl)
            return reparse({
              source: fileSource(file, flags),
              results,
              dryRun,
              workers,
              ...(crawl === undefined ? {} : { crawl }),
              ...(route === undefined ? {} : { route }),
              ...(from === undefined ? {} : { since: 'at' in from ? from.at : clock.now() - from.agoMs }),
              logLevel: settings.logLevel,
              writeLog: progress.log,
              drain: signals.drain,
              ...(json ? {} : { onProgress: progress.show }),
            })
          })
          progress.stop()
          if (json) session.output.json(reparseJson(summary))
          else showReparse(session.output, summary)
          return summary.interrupted ? signals.exitCode() : exitCodeOf(summary)
        }).finally(progress.stop)
      }),
    )
  argOption(command)
  guide(command, {
    examples: [
      ['reparse books.ts --dry-run', 'after fixing a selector: what would change, field by field'],
      ['reparse books.ts', 'apply the change'],
      ['reparse books.ts --route book --since 7d --json', 'some of the pages, with a JSON report'],
    ],
    exitCodes: ['notFound', 'nothingFetched', 'interrupted', 'terminated'],
  })
}

/** The store still knows crawls that were deleted from the queue. */
function crawlNamed(notes: readonly CrawlNote[], word: string): string {
  const found = notes.map(({ crawl }) => crawl).filter((crawl) => crawl.startsWith(word))
  const [first] = found.includes(word) ? [word] : found
  if (first === undefined) throw new ShoalError('not_found', `there is no crawl '${word}' in the store`)
  if (found.length > 1 && first !== word)
    throw new ShoalError('usage', `'${word}' matches ${found.length} crawls`, {
      hint: `Use a longer prefix: ${found.slice(0, 3).join(', ')}.`,
    })
  return first
}

function exitCodeOf({ report }: ReparseSummary): number {
  const read = report.pages - report.missing.count - report.unrouted.count - report.failed
  return read > 0 ? EXIT.ok.code : EXIT.nothingFetched.code
}
