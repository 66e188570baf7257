import { type Command, Option } from 'commander'
import type { LinkInfo, LinkState } from '../../frontier/frontier.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { guide } from '../help.js'
import { acts, wholeNumber } from '../session.js'
import { clean } from '../terminal/clean.js'
import { ago, count, duration } from '../terminal/format.js'
import { figure, shrinking } from '../terminal/table.js'
import { steerCommands } from './links-steer.js'

const STATES: readonly LinkState[] = ['queued', 'delayed', 'leased', 'done', 'dead', 'skipped']

interface ListFlags {
  readonly crawl?: string
  readonly state?: LinkState
  readonly host?: string
  readonly limit: number
}

export function linksCommand(program: Command): void {
  const links = program.command('links').description('list the links of a crawl; promote, retry or remove a link')
  guide(links, { examples: [['links list --state leased', 'the links in flight']] })

  const list = links
    .command('list')
    .description('list links by state; links in flight with worker, age and attempt')
    .addOption(new Option('--state <state>', 'only links in this state').choices([...STATES, 'active']))
    .option('--host <host>', 'only links of this host (host or host:port)')
    .option('--crawl <crawl>', 'crawl id, a prefix of it, or a spider name (default: the newest unfinished crawl)')
    .option('--limit <n>', 'show at most this many', wholeNumber, 50)
    .action(
      acts(async (session, flags: Omit<ListFlags, 'state'> & { state?: LinkState | 'active' }) => {
        await session.withBackends(async ({ frontier, queueClock }) => {
          const crawl = chooseCrawl(await crawlsNewestFirst(frontier), flags.crawl)
          const state = flags.state === 'active' ? 'leased' : flags.state
          const found = await frontier.links({
            crawl: crawl.id,
            limit: flags.limit,
            ...(state === undefined ? {} : { state }),
            ...(flags.host === undefined ? {} : { host: flags.host }),
          })
          if (session.json) return session.output.jsonLines(found)
          if (found.length === 0) return session.output.note(`no matching links in crawl ${crawl.id}`)
          const now = queueClock.now()
          session.output.table(
            ['state', shrinking('url'), 'route', figure('priority'), figure('attempt'), 'details'],
            found.map((link) => [
              link.state,
              clean(link.url),
              clean(link.route),
              String(link.priority),
              attemptText(link),
              whatText(link, now),
            ]),
          )
          if (found.length === flags.limit) session.output.note(`the first ${count(flags.limit)}; more with --limit`)
        })
      }),
    )
  guide(list, {
    examples: [
      ['links list --state active', 'links in flight: worker, age, attempt'],
      ['links list --state delayed --limit 10', 'the first links that wait for a retry'],
    ],
    exitCodes: ['notFound'],
  })
  steerCommands(links)
}

/** The attempt in progress, or the number of attempts so far. */
function attemptText(link: LinkInfo): string {
  return String(link.state === 'leased' ? link.attempts + 1 : link.attempts)
}

function whatText(link: LinkInfo, now: number): string {
  const last = link.failures.at(-1)
  if (link.state === 'leased') return `${link.worker ?? ''}, for ${duration(now - (link.leasedAt ?? now))}`
  if (link.state === 'delayed')
    return `due in ${duration((link.dueAt ?? now) - now)}${last === undefined ? '' : ` after ${last.code}`}`
  if (link.state === 'queued') return `added ${ago(link.addedAt, now)}`
  const when = link.endedAt === null ? '' : ago(link.endedAt, now)
  return link.state === 'done' || last === undefined ? when : `${last.code}, ${when}`
}
