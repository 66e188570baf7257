import { resolve } from 'node:path'
import type { Command } from 'commander'
import { runWithProgress } from '../crawl-run.js'
import { guide } from '../help.js'
import { acts, type CrawlFlags, crawlOptions, SEEDS_HELP } from '../session.js'
import { sidecarFor, sidecarOptions } from '../sidecars.js'
import { reportRun } from '../views/run-report.js'

export function runCommand(program: Command): void {
  const command = program
    .command('run')
    .description('run a spider until its crawl is finished; an unfinished crawl is resumed')
    .argument('<spider>', 'the spider file (.ts, .js)')
    .option('--seeds <source>', SEEDS_HELP)
    .action(
      acts(async (session, file: string, flags: CrawlFlags & { dashboard: boolean }) => {
        const sidecar = sidecarFor(session, flags, true)
        const finished = await runWithProgress(session, flags, { kind: 'file', path: resolve(file) }, sidecar)
        await reportRun(session, finished)
        return finished.exitCode
      }),
    )
  sidecarOptions(crawlOptions(command))
  guide(command, {
    examples: [
      ['run books.ts', 'crawl, or go on where the last run stopped'],
      ['run books.ts --fresh --workers 4', 'start anew with four processes'],
      ['run books.ts --queue redis://queue.example --workers 4', 'on a fleet: workers elsewhere may join in'],
      ['run books.ts --seeds https://books.example/sitemap.xml', 'every page that the sitemap lists'],
      ['run books.ts --dashboard', 'with a page to watch it; it ends with the crawl'],
      ['run books.ts --json', 'ends with one line: {"crawl":…,"state":"finished","pages":…,…}'],
    ],
    exitCodes: ['nothingFetched', 'lost', 'interrupted', 'terminated'],
  })
}
