import { type Command, InvalidArgumentError, Option } from 'commander'
import { ShoalError } from '../../errors.js'
import type { HostInfo, HostSettings } from '../../frontier/frontier.js'
import { parseDuration } from '../../units.js'
import { hostKey } from '../../url/host.js'
import { parseUrl } from '../../url/parse-url.js'
import { controlled } from '../controlled.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { guide } from '../help.js'
import { acts, wholeNumber } from '../session.js'
import { clean } from '../terminal/clean.js'
import { count, duration } from '../terminal/format.js'
import { paceText, slotText } from './status.js'

export function hostsCommand(program: Command): void {
  const hosts = program
    .command('hosts')
    .description('hosts of a crawl, those with most work first: pace, requests under way, next slot, answers, budget')
    .argument(
      '[crawl]',
      'its id, the beginning of it, or the name of a spider (default: the newest one that has not ended)',
    )
    .option('--limit <n>', 'at most so many', wholeNumber, 50)
    .action(
      acts(async (session, word: string | undefined, flags: { limit: number }) => {
        await session.withBackends(async ({ frontier, store, queueClock }) => {
          const crawl = chooseCrawl(await crawlsNewestFirst(frontier), word)
          const found = await frontier.hosts(crawl.id, { limit: flags.limit, busiest: true })
          const note = (await store.crawlNotes()).find((one) => one.crawl === crawl.id)
          const budget = note?.spec.budget.pagesPerHost ?? null
          if (session.json) {
            return session.output.jsonLines(
              found.map((host) => ({ crawl: crawl.id, ...host, pages: pagesOf(host), budget })),
            )
          }
          if (found.length === 0) return session.output.note(`crawl ${crawl.id} has no hosts yet`)
          const now = queueClock.now()
          session.output.table(
            [
              { title: 'host', shrinks: true },
              ...['pending', 'under way', 'done', 'errors', 'dead', 'answers in', 'budget'].map((title) => ({
                title,
                right: true,
              })),
              { title: 'pace' },
              { title: 'next slot' },
            ],
            found.map((host) => [
              clean(host.host),
              count(host.pending),
              count(host.inFlight),
              count(host.done),
              count(host.failed),
              count(host.dead),
              host.latencyMs === null ? '' : duration(host.latencyMs),
              budget === null ? '' : `${count(pagesOf(host))} of ${count(budget)}`,
              paceText(host),
              slotText(host, now),
            ]),
          )
          if (found.length === flags.limit) session.output.note(`the first ${count(flags.limit)}; more with --limit`)
        })
        return undefined
      }),
    )
  guide(hosts, {
    examples: [
      ['hosts', 'of the newest crawl that has not ended'],
      ['hosts books --limit 5 --json', 'the five busiest hosts of the spider books, one a line'],
      ['hosts set shop.example --delay 5s', 'slow a host down, at once and for all workers'],
    ],
    exitCodes: ['notFound'],
  })
  setCommand(hosts)
}

/** Links of the crawl there, as its budget counts them. */
function pagesOf({ pending, inFlight, done, dead }: HostInfo): number {
  return pending + inFlight + done + dead
}

interface SetFlags {
  readonly delay?: number
  readonly concurrency?: number
  readonly reset: boolean
  readonly block?: boolean
  readonly unblock?: boolean
}

function setCommand(hosts: Command): void {
  const set = hosts
    .command('set')
    .description('set the pace of a host by hand, or close it, for all workers and crawls, from the next request on')
    .argument('<host>', 'shop.example, shop.example:8080, or @group')
    .option('--delay <duration>', 'between two requests, for example 5s; robots.txt is never undercut', delay)
    .option('--concurrency <n>', 'requests at once', wholeNumber)
    .option('--reset', "take it back: the spider's own pace holds again", false)
    .addOption(
      new Option('--block', 'ask it for nothing until it is opened again; what is under way ends').conflicts('unblock'),
    )
    .option('--unblock', 'open it again')
    .action(
      acts(async (session, given: string, flags: SetFlags) => {
        const host = hostNamed(given)
        const settings = settingsOf(flags)
        await session.withBackends(({ frontier, store }) =>
          controlled(session, store, { action: 'host.set', target: host, details: { ...settings } }, () =>
            frontier.setHost(host, settings),
          ),
        )
        if (session.json) session.output.json({ host, ...settings })
        else session.output.print(`${clean(host)}: ${settingsText(settings)}`)
        return undefined
      }),
    )
  guide(set, {
    examples: [
      ['hosts set shop.example --delay 5s --concurrency 1', 'one request at a time, five seconds apart'],
      ['hosts set shop.example --reset', "back to the spider's pace"],
      ['hosts set shop.example --block', 'leave it alone until `--unblock`; its links wait'],
    ],
  })
}

function settingsOf({ delay, concurrency, reset, block, unblock }: SetFlags): HostSettings {
  const blocked = block ? { blocked: true } : unblock ? { blocked: false } : {}
  if (reset) {
    if (delay !== undefined || concurrency !== undefined)
      throw new ShoalError('usage', '--reset takes back what --delay and --concurrency set: give one or the other')
    return { delayMs: null, concurrency: null, ...blocked }
  }
  if (delay === undefined && concurrency === undefined && blocked.blocked === undefined)
    throw new ShoalError('usage', 'nothing to set: give --delay, --concurrency, --reset, --block or --unblock')
  return {
    ...blocked,
    ...(delay === undefined ? {} : { delayMs: delay }),
    ...(concurrency === undefined ? {} : { concurrency }),
  }
}

function settingsText({ delayMs, concurrency, blocked }: HostSettings): string {
  const parts = [
    ...(blocked === true ? ['closed by hand'] : blocked === false ? ['open'] : []),
    ...(delayMs === null ? ["the spider's pace holds again"] : []),
    ...(typeof delayMs !== 'number' ? [] : [`${duration(delayMs)} between two requests`]),
    ...(typeof concurrency === 'number' ? [`${count(concurrency)} at once`] : []),
  ]
  return `${parts.join(', ')}, from the next request on, for all workers`
}

function delay(text: string): number {
  try {
    return parseDuration(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof ShoalError ? error.hint : String(error))
  }
}

/** As links name it: a URL is as good as a name. A group of hosts that share a pace begins with @. */
function hostNamed(text: string): string {
  if (text.startsWith('@')) return text
  const url = parseUrl(text.includes('://') ? text : `http://${text}`)
  if (url === null || (url.pathname !== '/' && !text.includes('://')))
    throw new ShoalError('usage', `'${text}' is not a host`, { hint: 'Write shop.example, or shop.example:8080.' })
  return hostKey(new URL(url.href))
}
