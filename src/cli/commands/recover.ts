import type { Command } from 'commander'
import { systemRandom } from '../../clock.js'
import { lostCrawl, recoverCrawl } from '../../coordinator/recover.js'
import { ShoalError } from '../../errors.js'
import { createLog } from '../../log.js'
import { controlled } from '../controlled.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { withSignals } from '../signals.js'
import { spiderByWord, spiderUnknown } from '../spider-choice.js'
import { clean } from '../terminal/clean.js'
import { plural } from '../terminal/format.js'
import { shownProgress } from '../views/work-progress.js'
import { recoverFile } from './recover-file.js'

interface RecoverFlags {
  readonly spider?: string
  readonly seeds?: string
  readonly refetch: boolean
  readonly into?: string
}

export function recoverCommand(program: Command): void {
  const command = program
    .command('recover')
    .description('rebuild a crawl whose queue was lost or restored from an older state, from what is in the store')
    .argument('[crawl]', 'crawl id or spider name')
    .option('--spider <file>', 'spider file, if this machine does not know it')
    .option('--refetch', 'visit every known page again, to find links that were queued but never fetched', false)
    .option('--seeds <source>', 'the --seeds the crawl was started with')
    .option('--into <file>', 'copy what can be read of a damaged SQLite file to this new file')
    .action(
      acts(async (session, word: string | undefined, flags: RecoverFlags) => {
        if (flags.into !== undefined) return recoverFile(session, flags.into)
        if (word === undefined) throw nothingNamed()
        const { output, clock, json } = session
        const onDrain = () => output.note('stopping; run the same command to resume')
        return withSignals(onDrain, async ({ drain }) => {
          await session.withBackends(async (backends) => {
            const note = await lostCrawl(backends, word)
            const spider = await spiderByWord(session, flags.spider ?? note.spider, note.spec.args ?? {})
            if (spider === null) throw spiderUnknown(note.spider, '--spider <file>')
            const { seedOptions } = await import('../../run/seeds/seed-options.js')
            const details = { spider: note.spider, refetch: flags.refetch }
            const control = { action: 'crawl.recover', target: note.crawl, details }
            const progress = shownProgress(session, 'known pages', null)
            const recovered = await controlled(session, backends.store, control, () =>
              recoverCrawl(backends, spider, note, {
                onProgress: (pages) => progress.report(pages, 'recovering'),
                refetch: flags.refetch,
                clock,
                signal: drain,
                ...seedOptions(flags.seeds, {
                  ...{ backends, spider, crawl: note.crawl, pools: new Map(), clock, random: systemRandom },
                  ...{ log: createLog(session.settings.logLevel, clock, output.note), signal: drain },
                }),
              }),
            ).finally(() => progress.stop())
            if (json) return output.json(recovered)
            const { crawl, known, queued, unwanted, seeds, seeded } = recovered
            output.print(
              `crawl ${crawl} of ${clean(note.spider)} is open again: ${plural(seeds.added, 'seed')} and ` +
                `${plural(queued, 'known page')} queued, ${plural(known, 'page')} already fetched`,
            )
            if (unwanted > 0)
              output.note(`${plural(unwanted, 'known page')} left out: the spider no longer accepts them`)
            if (!seeded)
              output.note(
                'seeds from sitemaps, feeds and databases, and those that did not fit, are added by the next `shoal run` or `shoal start`',
              )
            if (!flags.refetch)
              output.note(
                'links that were found but not fetched when the queue was lost are unknown; --refetch visits every page again and finds them all',
              )
          })
        })
      }),
    )
  guide(command, {
    examples: [
      ['recover books', 'the lost crawl of the spider books: its seeds and pages not yet fetched'],
      ['recover books --refetch', 'visit all of its pages again'],
      ['recover --into saved.db --queue sqlite:shoal.db', 'what can be read of the damaged shoal.db, as a new file'],
    ],
    exitCodes: ['notFound'],
  })
}

function nothingNamed(): ShoalError {
  return new ShoalError('usage', 'recover needs a crawl, or --into for a damaged file', {
    hint: 'Run `shoal recover <crawl>`, or `shoal recover --into <new file>`.',
  })
}
