import type { ErrorCode } from '../../errors.js'
import type { CrawlInfo, CrawlStats, Frontier } from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import { productToken } from '../../politeness/product-token.js'
import { knownRobots, robotsIn } from '../../politeness/robots-note.js'
import type { Spider } from '../../spider/spider.js'
import type { HostKey } from '../../url/link.js'

/** Why a crawl may not have a URL that its filters accept. */
export interface AbsenceReason {
  readonly code: ErrorCode | 'budget_pages' | 'budget_pages_per_host' | 'budget_time' | 'budget_bytes' | 'queue_full'
  readonly message: string
}

/** Hosts are listed by name; this many may sort between the prefix and the name itself. */
const HOSTS_READ = 200

/** The limits of the crawl that reject the link, and what robots.txt says about it, as far as the fleet has read it. */
export async function whyAbsent(
  backends: { readonly frontier: Frontier; readonly notes: Notes },
  crawl: CrawlInfo,
  spider: Spider,
  target: { readonly url: string; readonly host: HostKey },
): Promise<AbsenceReason[]> {
  const stats = await backends.frontier.stats(crawl.id)
  return [
    ...(await byRobots(backends.notes, spider, target.url)),
    ...crawlLimits(stats, spider),
    ...(await hostLimit(backends.frontier, crawl, spider, target.host)),
  ]
}

async function byRobots(notes: Notes, spider: Spider, url: string): Promise<AbsenceReason[]> {
  const known = spider.robots ? await knownRobots(notes, url, productToken(spider.userAgent)) : null
  if (known === null) return []
  const robots = robotsIn(known.note, spider.robots === 'strict', 0)
  if (robots.retryAt !== null)
    return [
      { code: 'robots_unreachable', message: 'robots.txt of its host cannot be read, so nothing there is fetched' },
    ]
  if (robots.allows(url.slice(url.indexOf('/', 8)))) return []
  return [{ code: 'robots_disallowed', message: 'robots.txt of its host disallows it, so it would be skipped' }]
}

function crawlLimits(stats: CrawlStats, { budget, maxPending, overflow }: Spider): AbsenceReason[] {
  const { pages } = budget
  const pending = stats.queued + stats.delayed
  const refused = `${stats.refused} ${stats.refused === 1 ? 'link was' : 'links were'} rejected so far`
  return [
    ...(pages !== undefined && stats.total >= pages
      ? [
          {
            code: 'budget_pages',
            message: `the crawl has as many links as budget.pages allows (${pages}): ${refused}`,
          } as const,
        ]
      : []),
    ...(overflow === 'refuse' && pending >= maxPending
      ? [{ code: 'queue_full', message: `the queue is full, maxPending is ${maxPending}: ${refused}` } as const]
      : []),
    ...(stats.endedBy === null
      ? []
      : [
          {
            code: stats.endedBy,
            message: `the crawl was stopped by its ${stats.endedBy === 'budget_time' ? 'time' : 'byte'} budget before every page was fetched`,
          },
        ]),
  ]
}

async function hostLimit(
  frontier: Frontier,
  crawl: CrawlInfo,
  { budget: { pagesPerHost } }: Spider,
  host: HostKey,
): Promise<AbsenceReason[]> {
  if (pagesPerHost === undefined) return []
  const near = await frontier.hosts(crawl.id, { limit: HOSTS_READ, after: host.slice(0, -1) })
  const info = near.find((one) => one.host === host)
  if (info === undefined || info.pending + info.inFlight + info.done + info.dead < pagesPerHost) return []
  return [
    {
      code: 'budget_pages_per_host',
      message: `${host} has as many links as budget.pagesPerHost allows (${pagesPerHost})`,
    },
  ]
}
