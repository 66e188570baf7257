import type { NamedCount } from '../frontier/counts.js'
import type { CrawlArgs, CrawlId, CrawlInfo, CrawlState, CrawlStats, HostInfo } from '../frontier/frontier.js'
import { type DeadLetters, deadLetters } from '../observe/dead-letters.js'
import { readWaits } from '../observe/snapshots/snapshot.js'
import type { Waits } from '../observe/snapshots/waits.js'
import type { DriftAlert } from '../quality/drift.js'
import { type NeverMatched, neverMatched } from '../quality/never-matched.js'
import type { Spider } from '../spider/spider.js'
import type { KindCount } from '../store/record-store.js'
import type { VisitCounts } from '../store/visits.js'
import { type DescribedLinks, describeFiltered } from '../url/filter-reasons.js'
import type { Backends } from '../wire/backends.js'
import { gatherFacts } from './run-facts.js'
import { type RunFacts, whyNothing } from './why-nothing.js'
import type { ResponseSources, WorkerPages } from './workers/local-workers.js'

export interface RunStart {
  readonly crawl: CrawlId
  readonly spider: string
  readonly resumed: boolean
  readonly args: CrawlArgs
  /** The unfinished crawl that --fresh cancelled. */
  readonly setAside: CrawlInfo | null
  /** Unfinished crawls of the spider with other arguments. */
  readonly others: readonly CrawlInfo[]
  readonly spiderChanged: boolean
  readonly seeds: { readonly added: number; readonly known: number }
}

export const SPIDER_CHANGED =
  'the spider file has changed since the crawl started: pages from now on use the new version'

export interface RunProgress {
  readonly stats: CrawlStats
  /** The hosts with the most work left, at most 100: enough for an ETA. */
  readonly hosts: readonly HostInfo[]
  readonly records: number
  readonly rejected: number
  readonly workersAlive: number
  /** Those that have loaded everything and ask for pages. */
  readonly workersReady: number
  /** As far as the workers have reported; null: without a development cache. */
  readonly responses: ResponseSources | null
  /** Read only while nothing ends. */
  readonly waits: Waits
}

export interface RunSummary {
  readonly crawl: CrawlId
  readonly args: CrawlArgs
  readonly state: CrawlState
  readonly endedBy: CrawlInfo['endedBy']
  /** Pages of the crawl so far, and those of this run alone. */
  readonly pages: number
  readonly pagesNow: number
  readonly records: number
  readonly rejected: number
  /** Records that were not overwritten because of their freshness window, by kind. */
  readonly fresh: readonly FreshRecords[]
  readonly failed: number
  readonly dead: number
  readonly retried: number
  /** The dead letters by error code, most frequent first. */
  readonly deadLetters: readonly DeadLetters[]
  readonly skipped: number
  /** Links that the queue had no room or no budget for. */
  readonly refused: number
  /** Links that the filter changed or rejected, by reason. */
  readonly filtered: readonly DescribedLinks[]
  /** What the spider counted with `page.count`, largest first. */
  readonly counts: readonly NamedCount[]
  readonly seconds: number
  /** True when the drain signal ended it before the crawl had finished, or its last worker was drained from outside. */
  readonly interrupted: boolean
  readonly drained: boolean
  /** What each worker of this run has fetched. Workers of other commands may have fetched the rest. */
  readonly workers: readonly WorkerPages[]
  /** Where the responses of this run came from, robots.txt not included; null: without a development cache. */
  readonly responses: ResponseSources | null
  /** For a spider that recrawls: how its pages compare with the previous crawl. */
  readonly visits: VisitCounts | null
  /** Fields that used to be filled and no longer are. */
  readonly drift: readonly DriftAlert[]
  /** Rules and fields of the spider that found nothing on any page of the crawl. */
  readonly neverMatched: readonly Omit<NeverMatched, 'crawl'>[]
  /** Why no page was fetched, or no record was stored: one sentence for each reason. */
  readonly why: readonly string[]
}

interface FreshRecords {
  readonly kind: string
  readonly records: number
  readonly windowMs: number
}

const HOSTS_SHOWN = 100

export async function runProgress(
  backends: Backends,
  crawl: CrawlId,
  stats: CrawlStats,
  workers: Pick<RunProgress, 'workersAlive' | 'workersReady' | 'responses'>,
): Promise<RunProgress> {
  const hosts = await backends.frontier.hosts(crawl, { limit: HOSTS_SHOWN, busiest: true })
  const { records, rejected } = recordTotals(await backends.store.records.counts({ crawl }))
  const waits = await readWaits(backends.frontier, stats, hosts, backends.queueClock.now())
  return { stats, hosts, records, rejected, ...workers, waits }
}

/** What a run knows about itself when it ends. */
export interface EndedRun
  extends Pick<RunSummary, 'seconds' | 'interrupted' | 'drained' | 'workers' | 'responses' | 'drift'> {
  readonly before: CrawlStats
  readonly resumed: boolean
  readonly seeds: RunFacts['seeds']
  readonly emptySources: readonly string[]
}

export async function runSummary(
  backends: Backends,
  stats: CrawlStats,
  spider: Pick<Spider, 'name' | 'records' | 'routes'>,
  run: EndedRun,
): Promise<RunSummary> {
  const { id: crawl, state, endedBy, done, failed, dead, retried, skipped } = stats
  const counts = await backends.store.records.counts({ crawl })
  const matches = await backends.store.matches.of(crawl)
  const declared = [...spider.routes.values()].map((route) => route.declared)
  const summary = {
    ...{ crawl, args: stats.args ?? {}, state, endedBy, pages: done, pagesNow: done - run.before.done },
    ...recordTotals(counts),
    fresh: counts.flatMap(({ kind, fresh }) =>
      fresh === 0 ? [] : [{ kind, records: fresh, windowMs: spider.records.get(kind)?.freshMs ?? 0 }],
    ),
    ...{ failed, dead, retried, skipped, refused: stats.refused, filtered: describeFiltered(stats.filtered) },
    counts: stats.counts,
    deadLetters: dead === 0 ? [] : await deadLetters(backends.frontier, crawl),
    seconds: Math.round(run.seconds * 1000) / 1000,
    interrupted: run.interrupted && state !== 'finished',
    drained: run.drained && state !== 'finished',
    workers: run.workers,
    responses: run.responses,
    visits: await backends.store.visits.counts(crawl),
    drift: run.drift.filter(({ change }) => change === 'fell'),
    neverMatched: neverMatched(matches, declared).map(({ crawl: _, ...row }) => row),
  }
  if (summary.pagesNow > 0 && summary.records > 0) return { ...summary, why: [] }
  const { resumed, seeds, emptySources } = run
  const fresh = summary.fresh.reduce((sum, { records }) => sum + records, 0)
  const gathered = await gatherFacts(backends, crawl, spider, matches)
  return { ...summary, why: whyNothing({ ...summary, ...gathered, fresh, resumed, seeds, emptySources }) }
}

function recordTotals(kinds: readonly KindCount[]): Pick<RunSummary, 'records' | 'rejected'> {
  return {
    records: kinds.reduce((sum, kind) => sum + kind.records, 0),
    rejected: kinds.reduce((sum, kind) => sum + kind.rejected, 0),
  }
}
