import type { Command } from 'commander'
import { setCrawlState } from '../../coordinator/file-crawl.js'
import { ShoalError } from '../../errors.js'
import { controlled } from '../controlled.js'
import { chooseCrawl, crawlsNewestFirst, hasEnded } from '../crawl-choice.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { clean } from '../terminal/clean.js'

const VERBS = {
  pause: {
    state: 'paused',
    does: 'pause a crawl: no new pages are started, pages in flight are finished',
    said: 'paused',
  },
  resume: { state: 'running', does: 'resume a paused crawl', said: 'running again' },
  cancel: { state: 'cancelled', does: 'stop a crawl for good; its records are kept', said: 'cancelled' },
} as const

export function controlCommand(program: Command, verb: keyof typeof VERBS): void {
  const { state, does, said } = VERBS[verb]
  const command = program
    .command(verb)
    .description(does)
    .argument('[crawl]', 'crawl id, a prefix of it, or a spider name (default: the newest unfinished crawl)')
    .action(
      acts(async (session, word: string | undefined) => {
        await session.withBackends(async ({ frontier, store }) => {
          const newestFirst = await crawlsNewestFirst(frontier)
          const unfinished = newestFirst.filter((crawl) => !hasEnded(crawl))
          const crawl = chooseCrawl(word === undefined && unfinished.length > 0 ? unfinished : newestFirst, word)
          if (hasEnded(crawl))
            throw new ShoalError('crawl_ended', `crawl ${crawl.id} of ${crawl.spider} is ${crawl.state}`)
          const details = { spider: crawl.spider }
          await controlled(session, store, { action: `crawl.${verb}`, target: crawl.id, details }, () =>
            setCrawlState(frontier, crawl.id, state),
          )
          if (session.json) session.output.json({ crawl: crawl.id, spider: crawl.spider, state })
          else session.output.print(`crawl ${crawl.id} of ${clean(crawl.spider)} is ${said}`)
        })
      }),
    )
  guide(command, {
    examples: [
      [verb, 'the newest unfinished crawl'],
      [`${verb} books`, 'the newest crawl of the spider books'],
    ],
    exitCodes: ['notFound'],
  })
}
