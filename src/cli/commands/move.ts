import type { Command } from 'commander'
import { maskUrl } from '../../config.js'
import { moveCrawl } from '../../coordinator/move.js'
import { controlled } from '../controlled.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { count, plural } from '../terminal/format.js'
import { shownProgress } from '../views/work-progress.js'

export function moveCommand(program: Command): void {
  const command = program
    .command('move')
    .description('take a paused crawl to another queue, with every link as it is; records stay where they are')
    .argument('<crawl>', 'its id, the beginning of it, or the name of a spider')
    .requiredOption('--to <address>', 'the queue it goes to: redis://…, or sqlite:<file>')
    .action(
      acts(async (session, word: string, flags: { to: string }) => {
        const { openBackends } = await import('../../wire/backends.js')
        await session.withBackends(async ({ frontier: from, store }) => {
          const crawl = chooseCrawl(await crawlsNewestFirst(from), word)
          const { total } = await from.stats(crawl.id)
          const target = await openBackends({ queue: flags.to, store: session.settings.store })
          const progress = shownProgress(session, 'links', total)
          const onProgress = (links: number) => progress.tell(links, 'moving')
          try {
            const now = session.clock.now()
            const to = maskUrl(flags.to)
            const moved = await controlled(
              session,
              store,
              { action: 'crawl.move', target: crawl.id, details: { to } },
              () =>
                moveCrawl(
                  { from, to: target.frontier, store, toAddress: target.queueAddress, now, onProgress },
                  crawl.id,
                ),
            )
            progress.stop()
            if (session.json) return session.output.json({ ...moved, to })
            session.output.print(
              `crawl ${crawl.id} of ${crawl.spider} is in ${to} now: ${plural(moved.pending, 'link')} to visit, ` +
                `${count(moved.done)} done, ${plural(moved.dead, 'dead letter')}, ${count(moved.skipped)} skipped`,
            )
            session.output.note(
              `here it is cancelled. Go on with: shoal worker <spider> --queue ${to} --store ${maskUrl(session.settings.store)}`,
            )
          } finally {
            progress.stop()
            await target.close()
          }
        })
        return undefined
      }),
    )
  guide(command, {
    examples: [
      ['pause books', 'first: nothing may be under way'],
      ['move books --to redis://queue.example:6379', 'an interrupted move can be repeated'],
    ],
    exitCodes: ['notFound'],
  })
}
