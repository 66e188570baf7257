import type { Command } from 'commander'
import { runWithProgress } from '../crawl-run.js'
import { guide } from '../help.js'
import { acts, type CrawlFlags, crawlOptions, SEEDS_HELP } from '../session.js'
import { sidecarFor, sidecarOptions } from '../sidecars.js'
import { type ArgFlags, argOption, fileSource } from '../spider-choice.js'
import { reportRun } from '../views/run-report.js'

export function runCommand(program: Command): void {
  const command = program
    .command('run')
    .description('run a spider until its crawl is finished; an unfinished crawl of the same spider is resumed')
    .argument('<spider>', 'spider file (.ts, .js)')
    .option('--seeds <source>', SEEDS_HELP)
    .action(
      acts(async (session, file: string, flags: CrawlFlags & ArgFlags & { dashboard: boolean }) => {
        const sidecar = sidecarFor(session, flags, true)
        const finished = await runWithProgress(session, flags, fileSource(file, flags), sidecar)
        await reportRun(session, finished)
        return finished.exitCode
      }),
    )
  sidecarOptions(crawlOptions(argOption(command)))
  guide(command, {
    examples: [
      ['run books.ts', 'start a crawl, or resume the unfinished one'],
      ['run books.ts --fresh --workers 4', 'start a new crawl with four processes'],
      [
        'run books.ts --queue redis://queue.example --workers 4',
        'with a shared queue: workers on other machines can join',
      ],
      ['run books.ts --seeds https://books.example/sitemap.xml', 'crawl every page in the sitemap'],
      ['run shop.ts -a category=shoes -a max=10', 'with arguments: typed and checked by the spider'],
      ['run books.ts --dashboard', 'with a dashboard that runs as long as the crawl'],
      ['run books.ts --json', 'prints one line at the end: {"crawl":…,"state":"finished","pages":…,…}'],
    ],
    exitCodes: ['nothingFetched', 'lost', 'interrupted', 'terminated'],
  })
}
