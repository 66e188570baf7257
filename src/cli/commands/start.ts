import type { Command } from 'commander'
import { EXIT } from '../../errors.js'
import { SPIDER_CHANGED } from '../../run/run-summary.js'
import { cliUser } from '../controlled.js'
import { startLines } from '../crawl-run.js'
import { rememberSource } from '../export/source-memory.js'
import { guide } from '../help.js'
import { acts, type CrawlFlags, programName, SEEDS_HELP, shellWord } from '../session.js'
import { withSignals } from '../signals.js'
import { type ArgFlags, argOption, fileSource } from '../spider-choice.js'
import { stderr } from '../terminal/streams.js'

/** Only worth a message if it takes this long. */
const WAITING_MS = 3_000

export function startCommand(program: Command): void {
  const command = program
    .command('start')
    .description('open a crawl and add its start URLs, for workers to fetch; prints the crawl id')
    .argument('<spider>', 'spider file (.ts, .js)')
    .option('--fresh', 'start a new crawl instead of resuming an unfinished one', false)
    .option('--seeds <source>', SEEDS_HELP)
    .action(
      acts(async (session, file: string, flags: CrawlFlags & ArgFlags) => {
        const { settings, output, json, clock } = session
        const source = fileSource(file, flags)
        session.noteAddresses()
        const onDrain = () => output.note('stopping; run the same command to add the remaining start URLs')
        let cancelNote = () => {}
        return withSignals(onDrain, async (signals) => {
          const { startCrawl } = await import('../../run/start-crawl.js')
          const started = await startCrawl({
            settings,
            source,
            fresh: flags.fresh,
            by: cliUser(),
            seeds: flags.seeds,
            drain: signals.drain,
            writeLog: (line) => stderr.write(line),
            onOpened(crawl) {
              cancelNote = clock.after(WAITING_MS, () =>
                output.note(`crawl ${crawl} is open; adding its start URLs as fast as workers make room for them`),
              )
            },
          })
          rememberSource(settings, started.spider, source)
          const { crawl, spider, args, resumed, seeds, seeded, spiderChanged } = started
          if (json) output.json({ crawl, spider, args, resumed, ...seeds, seeded, spiderChanged })
          else {
            for (const line of startLines(started)) output.note(line)
            if (spiderChanged) output.note(SPIDER_CHANGED)
            output.note(
              `start workers with: ${programName(process.env)} worker ${shellWord(file)}${session.sameDatabase}`,
            )
            output.print(crawl)
          }
          return seeded ? EXIT.ok.code : signals.exitCode()
        }).finally(() => cancelNote())
      }),
    )
  argOption(command)
  guide(command, {
    examples: [
      ['start books.ts --queue redis://queue.example', 'open the crawl; any `shoal worker books.ts` works on it'],
      ['start books.ts --seeds urls.txt', 'even a million URLs: if killed halfway, run it again to resume'],
      ['start books.ts --json', '{"crawl":…,"spider":…,"resumed":…,"added":…,"known":…,"seeded":…}'],
    ],
    exitCodes: ['interrupted', 'terminated'],
  })
}
