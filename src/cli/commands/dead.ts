import { type Command, InvalidArgumentError, Option } from 'commander'
import { ERRORS, type ErrorCode, explainedDead, ShoalError } from '../../errors.js'
import type { CrawlInfo, DeadFilter, Frontier, LinkInfo } from '../../frontier/frontier.js'
import { nearest } from '../../nearest.js'
import { findLink } from '../../observe/explain/find-link.js'
import { SCREENSHOT_HEADER } from '../../store/rows.js'
import { showUrl } from '../../url/show-url.js'
import { confirm } from '../confirm.js'
import { controlled } from '../controlled.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { spiderOfCrawl } from '../export/source-memory.js'
import { guide } from '../help.js'
import { acts, type Session, wholeNumber } from '../session.js'
import { clean } from '../terminal/clean.js'
import { count, plural } from '../terminal/format.js'
import { figure, shrinking } from '../terminal/table.js'
import { attemptsOf, deadTable } from '../views/dead-view.js'
import { fetchTable, historyTable } from '../views/link-view.js'

interface Filters {
  readonly crawl?: string
  readonly code?: ErrorCode
  readonly host?: string
}

interface ChangeFlags extends Filters {
  readonly all: boolean
  readonly yes: boolean
}

export function deadCommand(program: Command): void {
  const dead = program.command('dead').description('dead letters: pages that failed for good')
  guide(dead, { examples: [['dead list', 'failed pages, grouped by error']] })
  listCommand(dead)
  showCommand(dead)
  changeCommand(dead, 'replay', 'put dead letters back into the queue, with a fresh set of attempts')
  changeCommand(dead, 'purge', 'delete dead letters for good')
}

function filters(command: Command): Command {
  return command
    .addOption(new Option('--code <code>', 'only dead letters with this error code').argParser(errorCode))
    .option('--host <host>', 'only dead letters of this host (host or host:port)')
    .option(
      '--crawl <crawl>',
      'crawl id, a prefix of it, or a spider name (default: the newest unfinished crawl, or else the newest)',
    )
}

function errorCode(text: string): ErrorCode {
  if (Object.hasOwn(ERRORS, text)) return text as ErrorCode
  const guess = nearest(text, Object.keys(ERRORS))
  throw new InvalidArgumentError(`Unknown error code${guess === null ? '.' : `, did you mean ${guess}?`}`)
}

function listCommand(dead: Command): void {
  const list = filters(dead.command('list'))
    .description('dead letters, grouped by error')
    .option('--limit <n>', 'show at most this many links', wholeNumber, 50)
    .action(
      acts(async (session, flags: Filters & { limit: number }) => {
        await session.withBackends(async ({ frontier, queueClock }) => {
          const { output } = session
          const crawl = chooseCrawl(await crawlsNewestFirst(frontier), flags.crawl)
          const links = await frontier.links({ crawl: crawl.id, state: 'dead', limit: flags.limit, ...asFilter(flags) })
          if (session.json) return output.jsonLines(links)
          if (links.length === 0) return output.note(await noneText(frontier, crawl, flags, 'list'))
          const groups = (await frontier.deadByError(crawl.id)).filter(
            (group) => flags.code === undefined || group.code === flags.code,
          )
          if (flags.host === undefined) {
            output.table(
              [figure('count'), 'error', shrinking('meaning')],
              groups.map((group) => [count(group.count), group.code, ERRORS[group.code].meaning]),
            )
            output.print()
          }
          for (const line of deadTable(links, queueClock.now(), output)) output.print(line)
          if (links.length === flags.limit) output.note(`the first ${count(flags.limit)}; more with --limit`)
        })
      }),
    )
  guide(list, {
    examples: [
      ['dead list', 'dead letters of the newest crawl, grouped by error'],
      ['dead list --code timeout --json', 'JSON, one per line'],
    ],
    exitCodes: ['notFound'],
  })
}

/** Why nothing is listed or changed. Without --crawl the user may mean another crawl than the one that was taken. */
async function noneText(frontier: Frontier, crawl: CrawlInfo, flags: Filters, verb: string): Promise<string> {
  const filtered = flags.code !== undefined || flags.host !== undefined
  if (filtered && (await frontier.stats(crawl.id)).dead > 0)
    return `crawl ${crawl.id} has dead letters, but none that match; see them: shoal dead list --crawl ${crawl.id}`
  const none = `crawl ${crawl.id} of ${clean(crawl.spider)} has no dead letters`
  if (flags.crawl !== undefined) return none
  for (const other of await crawlsNewestFirst(frontier)) {
    const { dead } = await frontier.stats(other.id)
    if (dead > 0) return `${none}; crawl ${other.id} has ${count(dead)}: shoal dead ${verb} --crawl ${other.id}`
  }
  return none
}

function showCommand(dead: Command): void {
  const show = dead
    .command('show')
    .description('one dead letter with all its attempts')
    .argument('<url>')
    .option('--crawl <crawl>', 'crawl id, a prefix of it, or a spider name')
    .action(
      acts(async (session, url: string, flags: Filters) => {
        await session.withBackends(async ({ frontier, store }) => {
          const { output } = session
          const { crawl, link } = await findDead(session, frontier, await candidates(frontier, flags.crawl), url)
          const fetches = await store.fetches.of({ fp: link.fp, crawl: crawl.id, limit: 20 })
          if (session.json) return output.json({ crawl: crawl.id, spider: crawl.spider, ...link, fetches })
          const last = link.failures.at(-1)
          output.print(`${output.style.red('dead')}  ${clean(link.url)}`)
          output.print(
            `  ${plural(attemptsOf(link), 'attempt')}, route ${clean(link.route)}, crawl ${crawl.id} of ${clean(crawl.spider)}`,
          )
          if (last !== undefined) {
            output.print(`  ${output.style.bold(last.code)}: ${clean(last.message)}`)
            output.print(`  ${explainedDead(last.code)}`)
          }
          if (fetches.length > 0) fetchTable(output, fetches)
          if (fetches.some(({ headers }) => headers?.[SCREENSHOT_HEADER] !== undefined))
            output.print(`  a screenshot was kept: shoal pages screenshot '${clean(link.url)}' > page.jpg`)
          if (link.failures.length > 0) historyTable(output, link.failures)
        })
      }),
    )
  guide(show, {
    examples: [['dead show https://books.example/catalogue/broken', 'every attempt, with time and error']],
    exitCodes: ['notFound'],
  })
}

function changeCommand(dead: Command, verb: 'replay' | 'purge', does: string): void {
  const command = filters(dead.command(verb))
    .description(does)
    .argument('[url]', 'only this URL; with --all, the crawl')
    .option('--all', 'every dead letter of the crawl', false)
    .option('--yes', 'skip the confirmation', false)
    .action(
      acts(async (session, argument: string | undefined, given: ChangeFlags) => {
        const { url, flags } = meant(argument, given)
        const chosen = [url, flags.code, flags.host].some((filter) => filter !== undefined)
        if (chosen === flags.all) {
          throw new ShoalError(
            'usage',
            flags.all ? '--all cannot be combined with a filter' : `no dead letters chosen to ${verb}`,
            {
              hint: 'Pass a URL, --code, --host or --all.',
            },
          )
        }
        await session.withBackends(async ({ frontier, store }) => {
          const crawls = await candidates(frontier, flags.crawl)
          const found = url === undefined ? null : await findDead(session, frontier, crawls, url)
          const crawl = found?.crawl ?? chooseCrawl(crawls, flags.crawl)
          const filter: DeadFilter = { ...asFilter(flags), ...(found === null ? {} : { fp: found.link.fp }) }
          const mustAsk = verb === 'purge' ? found === null : flags.all
          const which = flags.all ? 'all dead letters' : 'these dead letters'
          if (
            mustAsk &&
            !(await confirm(`${verb === 'purge' ? 'Delete' : 'Replay'} ${which} of crawl ${crawl.id}?`, flags.yes))
          )
            return
          const details = { ...filter, ...(url === undefined ? {} : { url: showUrl(url) }) }
          const changed = await controlled(
            session,
            store,
            { action: `dead.${verb}`, target: crawl.id, details },
            () => frontier[verb](crawl.id, filter),
            (count) => ({ count }),
          )
          if (session.json)
            return session.output.json({ crawl: crawl.id, [verb === 'purge' ? 'purged' : 'replayed']: changed })
          if (changed === 0) return session.output.note(await noneText(frontier, crawl, flags, `${verb} --all`))
          session.output.print(
            `${plural(changed, 'dead letter')} of crawl ${crawl.id} ${verb === 'purge' ? 'deleted' : 'back in the queue'}`,
          )
          if (verb === 'replay') session.output.note('run the spider again to fetch them, unless workers are running')
        })
      }),
    )
  guide(command, {
    examples: [
      [`dead ${verb} https://books.example/catalogue/broken`, 'one page'],
      [`dead ${verb} --code timeout --host books.example`, 'dead letters with one error on one host'],
      [`dead ${verb} --all books-20260102-030405-abc --yes`, 'all of one crawl, without confirmation'],
    ],
    exitCodes: ['notFound'],
  })
}

/** `dead replay --all <crawl>`: "every dead letter of the crawl" invites to name it there. A URL is never the name of a crawl. */
function meant(
  argument: string | undefined,
  flags: ChangeFlags,
): { readonly url: string | undefined; readonly flags: ChangeFlags } {
  const isCrawl = flags.all && flags.crawl === undefined && argument !== undefined && !argument.includes('/')
  return isCrawl ? { url: undefined, flags: { ...flags, crawl: argument } } : { url: argument, flags }
}

function asFilter({ code, host }: Filters): DeadFilter {
  return { ...(code === undefined ? {} : { code }), ...(host === undefined ? {} : { host }) }
}

/** The named crawl, or all crawls, newest first. */
async function candidates(frontier: Frontier, word: string | undefined): Promise<CrawlInfo[]> {
  const all = await crawlsNewestFirst(frontier)
  return word === undefined ? all : [chooseCrawl(all, word)]
}

async function findDead(
  session: Session,
  frontier: Frontier,
  crawls: readonly CrawlInfo[],
  url: string,
): Promise<{ crawl: CrawlInfo; link: LinkInfo }> {
  for (const crawl of crawls) {
    const found = await findLink(frontier, [crawl], url, (one) => spiderOfCrawl(session.settings, one))
    if (found.kind !== 'known' || found.where.state !== 'dead' || found.where.link === null) continue
    return { crawl, link: found.where.link }
  }
  throw new ShoalError('not_found', `${url} is not a dead letter`, {
    hint: 'See where it is: `shoal explain <url>`.',
  })
}
