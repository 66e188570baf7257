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
    does: 'pause a crawl: nothing new is started, what is in hand is finished',
    said: 'paused',
  },
  resume: { state: 'running', does: 'let a paused crawl go on', said: 'running again' },
  cancel: { state: 'cancelled', does: 'end a crawl for good; its records stay', said: 'cancelled' },
} as const

export function controlCommand(program: Command, verb: keyof typeof VERBS): void {
  const { state, does, said } = VERBS[verb]
  const command = program
    .command(verb)
    .description(does)
    .argument(
      '[crawl]',
      'its id, the beginning of it, or the name of a spider (default: the newest one that has not ended)',
    )
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
        return undefined
      }),
    )
  guide(command, {
    examples: [
      [verb, 'the newest crawl that has not ended'],
      [`${verb} books`, 'the newest crawl of the spider books'],
    ],
    exitCodes: ['notFound'],
  })
}
