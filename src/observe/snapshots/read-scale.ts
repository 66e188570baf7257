import { isFileCrawl } from '../../coordinator/file-crawl.js'
import type { CrawlId, CrawlInfo, CrawlStats, Frontier, HostInfo, LinkInfo } from '../../frontier/frontier.js'
import type { HostKey } from '../../url/link.js'
import { type ScaledCrawl, SOON_MS } from './fleet-room.js'
import {
  type CrawlSnapshot,
  DELAYED_READ,
  HOSTS_READ,
  ifThere,
  type SnapshotBackends,
  type WorkerSnapshot,
  workerSnapshots,
} from './snapshot.js'
import type { FleetReading } from './useful-workers.js'

/** Crawls that run at the same time, newest first. With more, these stand for the others. */
const CRAWLS_READ = 50

/**
 * What the number of useful workers is computed from: at most four calls for each running crawl, whatever its number of hosts and links. `known`: the workers,
 * for a caller who has read them.
 */
export async function readFleet(
  backends: Pick<SnapshotBackends, 'frontier' | 'notes'>,
  now: number,
  known: readonly WorkerSnapshot[] | null = null,
): Promise<FleetReading> {
  const { frontier } = backends
  const [all, workers] = await Promise.all([frontier.crawls(), known ?? workerSnapshots(backends, now)])
  const running = all
    .filter((crawl) => crawl.state === 'running' && !isFileCrawl(crawl))
    .sort((a, b) => b.createdAt - a.createdAt)
    .slice(0, CRAWLS_READ)
  const read = await Promise.all(running.map(({ id }) => ifThere(readCrawl(frontier, id, now))))
  return fleetReading(
    all,
    workers,
    read.filter((crawl) => crawl !== null),
    now,
  )
}

/** `all`: also those that do not run, for what can be said of their spiders. */
export function fleetReading(
  all: readonly CrawlInfo[],
  workers: readonly WorkerSnapshot[],
  crawls: readonly ScaledCrawl[],
  now: number,
): FleetReading {
  const known = all.filter((crawl) => !isFileCrawl(crawl))
  const names = [
    ...known.map(({ spider }) => spider),
    ...workers.flatMap(({ about }) => Object.keys(about?.spiders ?? {})),
  ]
  return {
    ...{ crawls, workers, now },
    spiders: [...new Set(names)].sort(),
    paused: new Set(known.flatMap(({ spider, state }) => (state === 'paused' ? [spider] : []))),
  }
}

async function readCrawl(frontier: Frontier, crawl: CrawlId, now: number): Promise<ScaledCrawl> {
  const stats = await frontier.stats(crawl)
  const [hosts, delayed] = await Promise.all([
    frontier.hosts(crawl, { limit: HOSTS_READ, busiest: true }),
    stats.delayed === 0 ? [] : frontier.links({ crawl, state: 'delayed', limit: DELAYED_READ }),
  ])
  return scaledCrawl(frontier, { stats, hosts, delayed }, now)
}

/** Adds to what is known of a crawl some of the hosts that are not among the busiest, if there are more. */
export async function scaledCrawl(
  frontier: Pick<Frontier, 'hosts'>,
  { stats, hosts, delayed }: Pick<CrawlSnapshot, 'stats' | 'hosts' | 'delayed'>,
  now: number,
): Promise<ScaledCrawl> {
  const isAll = hosts.length < HOSTS_READ || sumOf(hosts) >= stats.queued + stats.delayed
  const others = isAll ? [] : await frontier.hosts(stats.id, { limit: HOSTS_READ })
  return { stats, hosts, others, ...laterOf(stats, delayed, now) }
}

function sumOf(hosts: readonly HostInfo[]): number {
  return hosts.reduce((sum, { pending }) => sum + pending, 0)
}

/** If there are more delayed links than were read, those are like these. */
function laterOf(
  { delayed }: CrawlStats,
  read: readonly LinkInfo[],
  now: number,
): Pick<ScaledCrawl, 'later' | 'laterOn'> {
  const late = read.filter(({ dueAt }) => dueAt !== null && dueAt > now + SOON_MS)
  const laterOn = new Map<HostKey, number>()
  for (const { host } of late) laterOn.set(host, (laterOn.get(host) ?? 0) + 1)
  return { later: late.length === 0 ? 0 : Math.round((delayed * late.length) / read.length), laterOn }
}
