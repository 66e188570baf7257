import type { Command } from 'commander'
import { systemRandom } from '../../clock.js'
import { lostCrawl, recoverCrawl } from '../../coordinator/recover.js'
import { createLog } from '../../log.js'
import { controlled } from '../controlled.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { listenForSignals } from '../signals.js'
import { spiderByWord, spiderUnknown } from '../spider-choice.js'
import { clean } from '../terminal/clean.js'
import { plural } from '../terminal/format.js'
import { shownProgress } from '../views/work-progress.js'

interface RecoverFlags {
  readonly spider?: string
  readonly seeds?: string
  readonly refetch: boolean
}

export function recoverCommand(program: Command): void {
  const command = program
    .command('recover')
    .description('open a crawl again whose queue came back empty or older than it was, from what the store knows')
    .argument('<crawl>', 'its id, or the name of its spider')
    .option('--spider <file>', 'the file of its spider, where this machine does not remember it')
    .option(
      '--refetch',
      'visit every known page again, which finds the links that were queued and never fetched',
      false,
    )
    .option('--seeds <source>', 'the --seeds that the crawl was started with')
    .action(
      acts(async (session, word: string, flags: RecoverFlags) => {
        const { output, clock, json } = session
        const signals = listenForSignals(() => output.note('stopping; the same command goes on'))
        try {
          await session.withBackends(async (backends) => {
            const note = await lostCrawl(backends, word)
            const spider = await spiderByWord(session, flags.spider ?? note.spider)
            if (spider === null) throw spiderUnknown(note.spider, '--spider <file>')
            const { seedOptions } = await import('../../run/seeds/seed-options.js')
            const details = { spider: note.spider, refetch: flags.refetch }
            const control = { action: 'crawl.recover', target: note.crawl, details }
            const progress = shownProgress(session, 'known pages', null)
            const recovered = await controlled(session, backends.store, control, () =>
              recoverCrawl(backends, spider, note, {
                onProgress: (pages) => progress.tell(pages, 'recovering'),
                refetch: flags.refetch,
                clock,
                signal: signals.drain,
                ...seedOptions(flags.seeds, {
                  ...{ backends, spider, crawl: note.crawl, pools: new Map(), clock, random: systemRandom },
                  ...{ log: createLog(session.settings.logLevel, clock, output.note), signal: signals.drain },
                }),
              }),
            ).finally(() => progress.stop())
            if (json) return output.json(recovered)
            const { crawl, known, queued, unwanted, seeds, seeded } = recovered
            output.print(
              `crawl ${crawl} of ${clean(note.spider)} is open again: ${plural(seeds.added, 'seed')} and ` +
                `${plural(queued, 'known page')} queued, ${plural(known, 'page')} not to be fetched again`,
            )
            if (unwanted > 0)
              output.note(`${plural(unwanted, 'known page')} left out: the spider does not want them any more`)
            if (!seeded)
              output.note(
                'seeds of sitemaps, feeds and databases, and those that found no room, are added when the spider is run or started',
              )
            if (!flags.refetch)
              output.note(
                'links that had been found and not fetched when the queue was lost are not known: pages that are fetched again find them, all of them with --refetch',
              )
          })
          return undefined
        } finally {
          signals.restore()
        }
      }),
    )
  guide(command, {
    examples: [
      ['recover books', 'the lost crawl of the spider books: its seeds, and pages that were not fetched'],
      ['recover books --refetch', 'all of its pages once more'],
    ],
    exitCodes: ['notFound'],
  })
}
