import { resolve } from 'node:path'
import type { Command } from 'commander'
import { EXIT } from '../../errors.js'
import type { SpiderSource } from '../../run/spider-source.js'
import { cliUser } from '../controlled.js'
import { startLines } from '../crawl-run.js'
import { rememberSource } from '../export/source-memory.js'
import { guide } from '../help.js'
import { acts, type CrawlFlags, programName, SEEDS_HELP, shellWord } from '../session.js'
import { listenForSignals } from '../signals.js'

/** Only worth a word when it takes that long. */
const WAITING_MS = 3_000

export function startCommand(program: Command): void {
  const command = program
    .command('start')
    .description('open a crawl and add its start URLs, for workers to serve; prints the id of the crawl')
    .argument('<spider>', 'the spider file (.ts, .js)')
    .option('--fresh', 'start anew instead of going on with an unfinished crawl', false)
    .option('--seeds <source>', SEEDS_HELP)
    .action(
      acts(async (session, file: string, flags: CrawlFlags) => {
        const { settings, output, json, clock } = session
        const source: SpiderSource = { kind: 'file', path: resolve(file) }
        const signals = listenForSignals(() => output.note('stopping; the same command goes on with the start URLs'))
        let cancelNote = () => {}
        try {
          const { startCrawl } = await import('../../run/start-crawl.js')
          const started = await startCrawl({
            settings,
            source,
            fresh: flags.fresh,
            by: cliUser(),
            seeds: flags.seeds,
            drain: signals.drain,
            writeLog: (line) => process.stderr.write(line),
            onOpened(crawl) {
              cancelNote = clock.after(WAITING_MS, () =>
                output.note(
                  `crawl ${crawl} stands; its start URLs are being added, as fast as workers make room for them`,
                ),
              )
            },
          })
          rememberSource(settings, started.spider, source)
          const { crawl, spider, resumed, seeds, seeded, spiderChanged } = started
          if (json) output.json({ crawl, spider, resumed, ...seeds, seeded, spiderChanged })
          else {
            for (const line of startLines(started)) output.note(line)
            output.note(`serve it: ${programName(process.env)} worker ${shellWord(file)}${session.sameDatabase}`)
            output.print(crawl)
          }
          if (seeded) return EXIT.ok.code
          return EXIT[signals.received() === 'SIGTERM' ? 'terminated' : 'interrupted'].code
        } finally {
          cancelNote()
          signals.restore()
        }
      }),
    )
  guide(command, {
    examples: [
      ['start books.ts --queue redis://queue.example', 'open the crawl; any `shoal worker books.ts` serves it'],
      ['start books.ts --seeds urls.txt', 'a million of them: killed half-way, the same command goes on where it was'],
      ['start books.ts --json', '{"crawl":…,"spider":…,"resumed":…,"added":…,"known":…,"seeded":…}'],
    ],
    exitCodes: ['interrupted', 'terminated'],
  })
}
