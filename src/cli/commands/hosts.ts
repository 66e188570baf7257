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
import { figure, figures, naming, remark } from '../terminal/table.js'
import { paceText, slotText } from './status.js'

export function hostsCommand(program: Command): void {
  const hosts = program
    .command('hosts')
    .description('hosts of a crawl, busiest first: pace, requests in flight, next slot, latency, budget')
    .argument('[crawl]', 'crawl id, a prefix of it, or a spider name (default: the newest unfinished crawl)')
    .option('--limit <n>', 'show at most this many', wholeNumber, 50)
    .action(
      acts(async (session, word: string | undefined, flags: { limit: number }) => {
        await session.withBackends(async ({ frontier, store, queueClock }) => {
          const crawl = chooseCrawl(await crawlsNewestFirst(frontier), word)
          const found = await frontier.hosts(crawl.id, { limit: flags.limit, busiest: true })
          const note = (await store.crawls.notes()).find((one) => one.crawl === crawl.id)
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
              naming('host'),
              ...figures('pending', 'in flight', 'done', 'failed', 'dead', 'latency'),
              figure('budget', 1),
              remark('pace'),
              remark('next slot'),
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
      }),
    )
  guide(hosts, {
    examples: [
      ['hosts', 'hosts of the newest unfinished crawl'],
      ['hosts books --limit 5 --json', 'the five busiest hosts of the spider books, one per line'],
      ['hosts set shop.example --delay 5s', 'slow a host down, immediately and for all workers'],
    ],
    exitCodes: ['notFound'],
  })
  setCommand(hosts)
}

/** Links of the crawl on this host, as the budget counts them. */
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
    .description('override the pace of a host, or block it, for all workers and crawls from the next request on')
    .argument('<host>', 'shop.example, shop.example:8080, or @group')
    .option('--delay <duration>', 'delay between requests, for example 5s; never less than robots.txt asks for', delay)
    .option('--concurrency <n>', 'requests at once', wholeNumber)
    .option('--reset', "remove the override: the spider's own pace applies again", false)
    .addOption(
      new Option('--block', 'send no requests until it is unblocked; requests in flight finish').conflicts('unblock'),
    )
    .option('--unblock', 'allow requests again')
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
      }),
    )
  guide(set, {
    examples: [
      ['hosts set shop.example --delay 5s --concurrency 1', 'one request at a time, five seconds apart'],
      ['hosts set shop.example --reset', "back to the spider's pace"],
      ['hosts set shop.example --block', 'no requests until `--unblock`; its links wait'],
    ],
  })
}

function settingsOf({ delay, concurrency, reset, block, unblock }: SetFlags): HostSettings {
  const blocked = block ? { blocked: true } : unblock ? { blocked: false } : {}
  if (reset) {
    if (delay !== undefined || concurrency !== undefined)
      throw new ShoalError('usage', '--reset cannot be combined with --delay or --concurrency')
    return { delayMs: null, concurrency: null, ...blocked }
  }
  if (delay === undefined && concurrency === undefined && blocked.blocked === undefined)
    throw new ShoalError('usage', 'nothing to set: pass --delay, --concurrency, --reset, --block or --unblock')
  return {
    ...blocked,
    ...(delay === undefined ? {} : { delayMs: delay }),
    ...(concurrency === undefined ? {} : { concurrency }),
  }
}

function settingsText({ delayMs, concurrency, blocked }: HostSettings): string {
  const parts = [
    ...(blocked === true ? ['blocked manually'] : blocked === false ? ['not blocked'] : []),
    ...(delayMs === null ? ["back to the spider's pace"] : []),
    ...(typeof delayMs !== 'number' ? [] : [`${duration(delayMs)} between requests`]),
    ...(typeof concurrency === 'number' ? [`${count(concurrency)} at once`] : []),
  ]
  return `${parts.join(', ')} (all workers, from the next request on)`
}

function delay(text: string): number {
  try {
    return parseDuration(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof ShoalError ? error.hint : String(error))
  }
}

/** The host as links name it; a URL works too. A group of hosts that share a pace starts with @. */
function hostNamed(text: string): string {
  if (text.startsWith('@')) return text
  const url = parseUrl(text.includes('://') ? text : `http://${text}`)
  if (url === null || (url.pathname !== '/' && !text.includes('://')))
    throw new ShoalError('usage', `'${text}' is not a host`, {
      hint: 'Write it like shop.example or shop.example:8080.',
    })
  return hostKey(new URL(url.href))
}
