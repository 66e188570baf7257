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
    .description('move a paused crawl to another queue, with every link in its state; records stay where they are')
    .argument('<crawl>', 'crawl id, a prefix of it, or a spider name')
    .requiredOption('--to <address>', 'target queue: redis://… or sqlite:<file>')
    .action(
      acts(async (session, word: string, flags: { to: string }) => {
        const { openBackends } = await import('../../wire/backends.js')
        await session.withBackends(async ({ frontier: from, store }) => {
          const crawl = chooseCrawl(await crawlsNewestFirst(from), word)
          const { total } = await from.stats(crawl.id)
          const target = await openBackends({ queue: flags.to, store: session.settings.store })
          const progress = shownProgress(session, 'links', total)
          const onProgress = (links: number) => progress.report(links, 'moving')
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
              `crawl ${crawl.id} of ${crawl.spider} moved to ${to}: ${plural(moved.pending, 'link')} to visit, ` +
                `${count(moved.done)} done, ${plural(moved.dead, 'dead letter')}, ${count(moved.skipped)} skipped`,
            )
            session.output.note(
              `the old copy is cancelled. Continue with: shoal worker <spider> --queue ${to} --store ${maskUrl(session.settings.store)}`,
            )
          } finally {
            progress.stop()
            await target.close()
          }
        })
      }),
    )
  guide(command, {
    examples: [
      ['pause books', 'first: nothing may be in flight'],
      ['move books --to redis://queue.example:6379', 'if interrupted, run it again'],
    ],
    exitCodes: ['notFound'],
  })
}
