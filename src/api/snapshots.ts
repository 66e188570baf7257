import { isFileCrawl } from '../coordinator/file-crawl.js'
import { ShoalError } from '../errors.js'
import type { CrawlInfo, CrawlStats } from '../frontier/frontier.js'
import { readAlerts } from '../observe/alerts/alert-notes.js'
import { deadLetters } from '../observe/dead-letters.js'
import type { Sample } from '../observe/series/series.js'
import { readSeries } from '../observe/series/series-notes.js'
import { isListed, spiderHolders } from '../observe/snapshots/health.js'
import {
  type CrawlSnapshot,
  crawlSnapshotOf,
  isAlive,
  type WorkerSnapshot,
  workerSnapshots,
} from '../observe/snapshots/snapshot.js'
import { readTrouble } from '../observe/trouble.js'
import { ALL_SITES } from '../quality/field-row.js'
import { neverMatched } from '../quality/never-matched.js'
import { summarise } from '../quality/summary.js'
import type { CrawlNote } from '../store/record-store.js'
import { describeFiltered } from '../url/filter-reasons.js'
import { version } from '../version.js'
import type { AlertNotes, CrawlCard, CrawlView, KindView, Overview } from './api-types.js'
import { memo } from './memo.js'
import type { ApiParts } from './parts.js'

/** Snapshots shared by all callers, each at most SNAPSHOT_MS old: a hundred open pages cost the crawl no more than one. */
export interface Snapshots {
  overview(): Promise<Overview>
  crawl(id: string): Promise<CrawlView>
  /** Newest first, without the internal crawls that fetch sitemaps. */
  crawls(): Promise<readonly CrawlInfo[]>
  /** Throws `not_found`. */
  known(id: string): Promise<CrawlInfo>
  card(crawl: CrawlInfo): Promise<CrawlCard>
  dead(id: string): ReturnType<typeof deadLetters>
  /** After an action that changed them, so that the result shows at once. */
  forgetDead(id: string): void
  workers(): Promise<readonly WorkerSnapshot[]>
  alerts(): Promise<AlertNotes>
  /** As of the last time the crawl was opened; null: the store does not have it. */
  note(id: string): Promise<CrawlNote | null>
}

const SNAPSHOT_MS = 900
/** Grouping reads every dead letter, and each open page asks every three seconds. */
const DEAD_MS = 2_900
/** Samples are taken every five seconds. */
const SERIES_MS = 5_000
const NOTES_MS = 5_000
const FIELDS_MS = 15_000
const FIELD_HOURS_MS = 24 * 3_600_000
const FIELDS_SHOWN = 20
const CRAWLS_SHOWN = 50
const SPARK_SAMPLES = 60
/** An ended crawl changes only when someone replays or deletes it. */
const ENDED_MS = 10_000

export function createSnapshots(parts: ApiParts): Snapshots {
  const { backends, clock, fleet } = parts
  const { frontier, store, notes } = backends

  const workersNow = memo(clock, SNAPSHOT_MS, () => workerSnapshots(backends, clock.now()))
  const crawlsNow = memo(clock, SNAPSHOT_MS, async () =>
    (await frontier.crawls()).filter((crawl) => !isFileCrawl(crawl)).sort((a, b) => b.createdAt - a.createdAt),
  )
  const alertsNow = memo(clock, SNAPSHOT_MS, async () => {
    const { active, ended } = await readAlerts(notes)
    return { active, ended }
  })
  const samples = memo(clock, SERIES_MS, (crawl) => readSeries(notes, crawl, '30m'))
  const crawlNotes = memo(
    clock,
    NOTES_MS,
    async () => new Map((await store.crawls.notes()).map((note) => [note.crawl, note])),
  )
  const known = async (id: string) => {
    const info = (await crawlsNow('')).find((crawl) => crawl.id === id)
    if (info === undefined) throw new ShoalError('not_found', `there is no crawl '${id}'`)
    return info
  }
  const snapshots = memo(clock, SNAPSHOT_MS, async (id) =>
    crawlSnapshotOf(backends, await known(id), await workersNow(''), clock.now(), fleet),
  )
  const troubles = memo(clock, SNAPSHOT_MS, (id) => readTrouble(notes, id))
  const dead = memo(clock, DEAD_MS, (id) => deadLetters(frontier, id))
  const endedStats = memo(clock, ENDED_MS, (id) => frontier.stats(id))
  const fields = memo(clock, FIELDS_MS, async (id) => fillRates(parts, await known(id)))

  const card = async (crawl: CrawlInfo): Promise<CrawlCard & { readonly stalledMs: number }> => {
    if (crawl.state === 'finished' || crawl.state === 'cancelled') return endedCard(await endedStats(crawl.id))
    const [snapshot, series, trouble] = await Promise.all([snapshots(crawl.id), samples(crawl.id), troubles(crawl.id)])
    return { ...cardOf(snapshot, series, trouble), stalledMs: snapshot.stalledMs }
  }

  return {
    crawls: () => crawlsNow(''),
    known,
    dead,
    forgetDead: dead.forget,
    workers: () => workersNow(''),
    alerts: () => alertsNow(''),
    async card(crawl) {
      const { stalledMs: _, ...shown } = await card(crawl)
      return shown
    },
    note: async (id) => (await crawlNotes('')).get(id) ?? null,
    async overview() {
      const [crawls, workers, alerts] = await Promise.all([crawlsNow(''), workersNow(''), alertsNow('')])
      const cards = await Promise.all(crawls.slice(0, CRAWLS_SHOWN).map((crawl) => cardIfThere(card, crawl)))
      const there = cards.filter((one) => one !== null)
      const stalled = there.flatMap(({ stats, stalledMs }) =>
        stalledMs > 0 ? [{ crawl: stats.id, forMs: stalledMs }] : [],
      )
      return {
        now: clock.now(),
        version,
        queue: parts.queue,
        store: parts.store,
        health: { ok: stalled.length === 0, stalled },
        crawls: there.map(({ stalledMs: _, ...shown }) => shown),
        workers: summed(workers, clock.now()),
        alerts: alerts.active,
        spiders: [...parts.spiders].sort(),
      }
    },
    async crawl(id) {
      const info = await known(id)
      const [snapshot, series, trouble, counts, filled, all, alerts, workers] = await Promise.all([
        snapshots(id),
        samples(id),
        troubles(id),
        store.records.counts({ crawl: id }),
        fields(id),
        crawlNotes(''),
        alertsNow(''),
        workersNow(''),
      ])
      const spec = all.get(id)?.spec
      const alive = workers.filter(isAlive)
      return {
        ...cardOf(snapshot, series, trouble),
        now: snapshot.now,
        latest: series.at(-1) ?? null,
        kinds: counts.map(({ kind, records, unchanged, rejected }): KindView => {
          return { kind, written: records, unchanged, rejected, fields: filled.get(kind) ?? [] }
        }),
        limits: spec === undefined ? null : { delayMs: spec.limits.delayMs, concurrency: spec.limits.concurrency },
        budget:
          spec === undefined
            ? null
            : {
                pages: spec.budget.pages ?? null,
                pagesPerHost: spec.budget.pagesPerHost ?? null,
                bytes: spec.budget.bytes ?? null,
                ms: spec.budget.ms ?? null,
              },
        filtered: describeFiltered(snapshot.stats.filtered),
        alerts: alerts.active.filter((alert) => alert.crawl === id),
        holders: spiderHolders(info, alive),
        statuses: added(alive.map(({ vitals }) => vitals?.statuses ?? {})),
        errors: added(alive.map(({ vitals }) => vitals?.errors ?? {})),
      }
    },
  }
}

function cardOf(
  { stats, estimate, advice }: CrawlSnapshot,
  series: readonly Sample[],
  trouble: CrawlCard['trouble'],
): CrawlCard {
  const spark = series.slice(-SPARK_SAMPLES).map(({ pagesPerSecond }) => pagesPerSecond)
  return { stats, estimate, advice: stats.state === 'running' ? advice : null, spark, trouble }
}

function endedCard(stats: CrawlStats): CrawlCard & { readonly stalledMs: number } {
  return {
    stats,
    estimate: {
      etaSeconds: stats.state === 'finished' ? 0 : null,
      decidedBy: null,
      plainSeconds: stats.state === 'finished' ? 0 : null,
    },
    advice: null,
    spark: [],
    trouble: null,
    stalledMs: 0,
  }
}

/** A crawl that was deleted between two queries is left out. */
async function cardIfThere<Card>(card: (crawl: CrawlInfo) => Promise<Card>, crawl: CrawlInfo): Promise<Card | null> {
  try {
    return await card(crawl)
  } catch (error) {
    if (error instanceof ShoalError && error.code === 'not_found') return null
    throw error
  }
}

function summed(workers: readonly WorkerSnapshot[], now: number): Overview['workers'] {
  const alive = workers.filter(isAlive)
  const sum = (part: (worker: WorkerSnapshot) => number) => alive.reduce((total, worker) => total + part(worker), 0)
  return {
    alive: alive.length,
    missing: workers.filter((worker) => worker.state === 'missing' && isListed(worker, now)).length,
    busy: sum(({ vitals, inFlight }) => vitals?.busy ?? inFlight),
    slots: sum(({ vitals, about }) => vitals?.slots ?? about?.concurrency ?? 0),
  }
}

/** Fill rates of the crawl's last day, over all sites. */
async function fillRates(
  { backends, clock }: ApiParts,
  { id, spider, finishedAt }: CrawlInfo,
): Promise<Map<string, KindView['fields']>> {
  const rows = []
  const since = (finishedAt ?? clock.now()) - FIELD_HOURS_MS
  for await (const row of backends.store.fields.scan({ spider, site: ALL_SITES, since })) rows.push(row)
  const never = neverMatched(await backends.store.matches.of(id)).flatMap(({ part, of, name }) =>
    part === 'field' ? [{ spider, kind: of, field: name }] : [],
  )
  return new Map(
    summarise(rows, [], never).map(({ kind, fields }) => [
      kind,
      fields
        .map(({ field, share }) => ({ field, filled: share }))
        .sort((a, b) => a.filled - b.filled || (a.field < b.field ? -1 : 1))
        .slice(0, FIELDS_SHOWN),
    ]),
  )
}

function added(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const one of counts) for (const [key, value] of Object.entries(one)) sums[key] = (sums[key] ?? 0) + value
  return sums
}
