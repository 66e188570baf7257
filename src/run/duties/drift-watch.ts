import { isAway } from '../../errors.js'
import type { Log } from '../../log.js'
import type { DriftAlert } from '../../quality/drift.js'
import { driftAlert, driftsIn } from '../../quality/drift.js'
import { HOUR_MS } from '../../quality/field-row.js'
import { type NeverMatched, neverMatched, neverMatchedAlerts } from '../../quality/never-matched.js'
import type { RecordStore } from '../../store/record-store.js'

/** Drift compares whole hours, so there is no hurry. */
const CHECK_MS = 60_000

/** `atEnd`: the last check of a run, whose summary names what never matched: the log need not. */
type DriftCheck = (how?: {
  readonly signal?: AbortSignal | undefined
  readonly atEnd?: boolean
}) => Promise<DriftAlert[]>

/** Where the statistics of a crawl are. */
export type Statistics = Pick<RecordStore, 'fields' | 'matches' | 'crawls'>

/**
 * Logs fields that are no longer filled, and rules and fields of the newest crawl that never found anything: once per episode, so again only if
 * it was fine in between. The signal ends a check early.
 */
export function driftWatch(stats: Statistics, spiders: readonly string[], log: Log): DriftCheck {
  let reported = new Set<string>()
  return async ({ signal, atEnd = false } = {}) => {
    const alerts: DriftAlert[] = []
    for (const spider of spiders) {
      const drifts = await driftsIn(until(stats.fields.scan({ spider }), signal))
      const never = await neverOfNewest(stats, spider)
      alerts.push(...drifts.map(driftAlert), ...neverMatchedAlerts(spider, never, drifts))
    }
    for (const { name, episode, spider, change, message, fields } of alerts) {
      if (!reported.has(episode) && !(atEnd && change === 'never')) log.warn(name, { spider, ...fields, message })
    }
    reported = new Set(alerts.map(({ episode }) => episode))
    return alerts
  }
}

/** The same for a changing set of spiders: each has its own watch. */
export type DriftChecks = (spider: string, ...how: Parameters<DriftCheck>) => Promise<DriftAlert[]>

export function driftChecks(stats: Statistics, log: Log): DriftChecks {
  const watches = new Map<string, DriftCheck>()
  return (spider, how) => {
    const watch = watches.get(spider) ?? driftWatch(stats, [spider], log)
    watches.set(spider, watch)
    return watch(how)
  }
}

async function neverOfNewest({ crawls, matches }: Statistics, spider: string): Promise<NeverMatched[]> {
  const newest = (await crawls.notes()).filter((note) => note.spider === spider).at(-1)
  return newest === undefined ? [] : neverMatched(await matches.of(newest.crawl))
}

async function* until<Row>(rows: AsyncIterable<Row>, signal?: AbortSignal): AsyncGenerator<Row> {
  for await (const row of rows) {
    signal?.throwIfAborted()
    yield row
  }
}

/** The pause after a check that took `tookMs`: checks take about 1 % of the time, and happen at least once an hour. */
export function pauseAfterCheck(tookMs: number): number {
  return Math.min(HOUR_MS, Math.max(CHECK_MS, tookMs * 100))
}

/** Nothing is known while the store is down. */
export async function unlessAway(check: () => Promise<DriftAlert[]>): Promise<DriftAlert[]> {
  try {
    return await check()
  } catch (error) {
    if (isAway(error)) return []
    throw error
  }
}
