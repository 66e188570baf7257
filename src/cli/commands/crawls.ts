import type { Command } from 'commander'
import { fileCrawlsOf, removeFileCrawl } from '../../coordinator/file-crawl.js'
import { ShoalError } from '../../errors.js'
import { argumentsText } from '../../spider/arguments.js'
import { confirm } from '../confirm.js'
import { controlled } from '../controlled.js'
import { chooseCrawl, crawlsNewestFirst, hasEnded } from '../crawl-choice.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { clean } from '../terminal/clean.js'
import { count, duration, moment, plural } from '../terminal/format.js'
import { figure, figures, naming, remark } from '../terminal/table.js'

export function crawlsCommand(program: Command): void {
  const crawls = program.command('crawls').description('list crawls and delete old ones')
  guide(crawls, { examples: [['crawls list', 'newest first']] })

  const list = crawls
    .command('list')
    .description('all crawls, newest first')
    .action(
      acts(async (session) => {
        await session.withBackends(async ({ frontier, queueClock }) => {
          const all = await crawlsNewestFirst(frontier)
          const stats = await Promise.all(all.map((crawl) => frontier.stats(crawl.id)))
          if (session.json) return session.output.jsonLines(stats)
          if (stats.length === 0) return session.output.note('no crawls yet; start one with `shoal run <spider>`')
          const now = queueClock.now()
          // A column only where there is something to say: 80 columns are few.
          const hasArgs = stats.some(({ args }) => args !== undefined)
          session.output.table(
            [
              naming('crawl'),
              // The id begins with it.
              { title: 'spider', yields: 1 },
              ...(hasArgs ? [remark('arguments')] : []),
              'state',
              ...figures('done', 'left', 'dead'),
              'started',
              figure('took'),
            ],
            stats.map((one) => [
              one.id,
              clean(one.spider),
              ...(hasArgs ? [clean(argumentsText(one.args))] : []),
              one.state,
              count(one.done),
              count(one.queued + one.delayed + one.leased),
              count(one.dead),
              moment(one.startedAt ?? one.createdAt),
              duration((one.finishedAt ?? now) - (one.startedAt ?? one.createdAt)),
            ]),
          )
        })
      }),
    )
  guide(list, { examples: [['crawls list --json', 'one crawl per line']], exitCodes: ['notFound'] })

  const remove = crawls
    .command('delete')
    .description('delete a finished or cancelled crawl: its links, dead letters and fetch log; records are kept')
    .argument('<crawl>', 'crawl id, a prefix of it, or a spider name')
    .option('--yes', 'skip the confirmation', false)
    .action(
      acts(async (session, word: string, flags: { yes: boolean }) => {
        await session.withBackends(async ({ frontier, store }) => {
          const crawl = chooseCrawl(await crawlsNewestFirst(frontier), word)
          if (!hasEnded(crawl)) {
            throw new ShoalError('usage', `crawl ${crawl.id} is ${crawl.state}`, {
              hint: `Cancel it first: \`shoal cancel ${crawl.id}\`.`,
            })
          }
          const { total } = await frontier.stats(crawl.id)
          if (
            !(await confirm(
              `Delete crawl ${crawl.id} of ${clean(crawl.spider)} with its ${plural(total, 'link')}?`,
              flags.yes,
            ))
          )
            return
          // The queue comes last: a crawl that it no longer knows cannot be named again, so a log left behind could never be deleted.
          const details = { spider: crawl.spider, links: total }
          await controlled(session, store, { action: 'crawl.delete', target: crawl.id, details }, async () => {
            for (const { id } of await fileCrawlsOf(frontier, crawl.id)) {
              await store.crawls.remove(id)
              await removeFileCrawl(frontier, id)
            }
            await store.crawls.remove(crawl.id)
            await frontier.remove(crawl.id)
          })
          if (session.json) session.output.json({ crawl: crawl.id, deleted: true })
          else session.output.print(`crawl ${crawl.id} deleted; its records are kept`)
        })
      }),
    )
  guide(remove, {
    examples: [['crawls delete 3f2a --yes', 'the crawl whose id starts with 3f2a, without confirmation']],
    exitCodes: ['notFound'],
  })
}
