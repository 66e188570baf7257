import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import type { LinkSteer, LinkSteered } from '../../frontier/frontier.js'
import { findLink } from '../../observe/explain/find-link.js'
import { showUrl } from '../../url/show-url.js'
import { controlled } from '../controlled.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { spiderOfCrawl } from '../export/source-memory.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { clean } from '../terminal/clean.js'

const ORDERS = {
  promote: {
    does: 'move a link to the front of its host, due now',
    done: 'is next for its host',
    example: 'fetched before all other links of books.example',
  },
  retry: {
    does: 'retry a delayed link or a dead letter now',
    done: 'is due now',
    example: 'without waiting for the backoff',
  },
  remove: {
    does: 'remove a link from the queue for good',
    done: 'is removed and will not be visited in this crawl',
    example: 'counted as skipped, with the reason `removed`',
  },
} as const satisfies Record<LinkSteer, { does: string; done: string; example: string }>

/** `shoal links promote|retry|remove <url>`. */
export function steerCommands(links: Command): void {
  for (const order of ['promote', 'retry', 'remove'] as const) steerCommand(links, order)
}

function steerCommand(links: Command, order: LinkSteer): void {
  const command = links
    .command(order)
    .description(ORDERS[order].does)
    .argument('<url>')
    .option(
      '--crawl <crawl>',
      'crawl id, a prefix of it, or a spider name (default: the newest crawl that has the URL)',
    )
    .action(
      acts(async (session, url: string, flags: { crawl?: string }) => {
        await session.withBackends(async ({ frontier, store }) => {
          const all = await crawlsNewestFirst(frontier)
          const crawls = flags.crawl === undefined ? all : [chooseCrawl(all, flags.crawl)]
          const found = await findLink(frontier, crawls, url, (crawl) => spiderOfCrawl(session.settings, crawl))
          if (found.kind !== 'known') throw refusal('unknown', order, showUrl(url))
          const { crawl, where } = found
          const shown = showUrl(found.target.url)
          // A link that the queue only counts has ended.
          const link = where.link ?? null
          if (link === null) throw refusal('ended', order, shown)
          const control = {
            action: `link.${order}`,
            target: crawl.id,
            details: { url: showUrl(link.url), fp: link.fp, host: link.host },
          }
          await controlled(session, store, control, async () => {
            const steered = await frontier.steer(crawl.id, link.fp, link.host, order)
            if (steered !== 'ok') throw refusal(steered, order, shown)
          })
          if (session.json) return session.output.json({ crawl: crawl.id, url: link.url, order, steered: 'ok' })
          session.output.print(`${clean(shown)} ${ORDERS[order].done} (crawl ${crawl.id})`)
        })
      }),
    )
  guide(command, {
    examples: [[`links ${order} https://books.example/catalogue/1`, ORDERS[order].example]],
    exitCodes: ['notFound'],
  })
}

/** Why nothing was changed, with the next step. */
function refusal(steered: Exclude<LinkSteered, 'ok'>, order: LinkSteer, url: string): ShoalError {
  switch (steered) {
    case 'in_flight':
      return new ShoalError('link_busy', `${url} is in flight`, {
        hint: 'Wait until the visit ends, then see where the link is: `shoal explain <url>`.',
      })
    case 'ended':
      return new ShoalError('link_busy', `cannot ${order} ${url}: it has already ended`, {
        hint:
          order === 'promote'
            ? 'See how it ended with `shoal explain <url>`; put a dead letter back with `shoal links retry <url>`.'
            : 'See how it ended with `shoal explain <url>`; a new crawl will visit it again.',
      })
    case 'too_far':
      return new ShoalError('link_busy', `${url} is too far back in the queue of its host to be found`, {
        hint: 'Try again when the queue of its host is shorter.',
      })
    case 'unknown':
      return new ShoalError('not_found', `no crawl has ${url}`, { hint: 'See why: `shoal explain <url>`.' })
  }
}
