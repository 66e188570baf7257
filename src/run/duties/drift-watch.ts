import { isAway } from '../../errors.js'
import type { Log } from '../../log.js'
import { driftAlert, driftsIn } from '../../quality/drift.js'
import type { Alert } from '../../quality/drift-alert.js'
import { HOUR_MS } from '../../quality/field-row.js'
import type { FieldStats } from '../../store/field-stats.js'

/** Hours are compared: there is no hurry. */
const LOOK_MS = 60_000

/** Tells of fields that are no longer filled: each once, and again only when it was well in between. A look ends early when `signal` says so. */
export function driftWatch(
  store: FieldStats,
  spiders: readonly string[],
  log: Log,
): (signal?: AbortSignal) => Promise<Alert[]> {
  let told = new Set<string>()
  return async (signal) => {
    const alerts: Alert[] = []
    for (const spider of spiders) {
      const rows = until(store.fieldStats({ spider }), signal)
      alerts.push(...(await driftsIn(rows)).map(driftAlert))
    }
    for (const { name, episode, spider, message, fields } of alerts) {
      if (!told.has(episode)) log.warn(name, { spider, ...fields, message })
    }
    told = new Set(alerts.map(({ episode }) => episode))
    return alerts
  }
}

/** The same for spiders that come and go, each as if it had a watch of its own. */
export type DriftChecks = (spider: string, signal?: AbortSignal) => Promise<Alert[]>

export function driftChecks(store: FieldStats, log: Log): DriftChecks {
  const watches = new Map<string, ReturnType<typeof driftWatch>>()
  return (spider, signal) => {
    const watch = watches.get(spider) ?? driftWatch(store, [spider], log)
    watches.set(spider, watch)
    return watch(signal)
  }
}

async function* until<Row>(rows: AsyncIterable<Row>, signal?: AbortSignal): AsyncGenerator<Row> {
  for await (const row of rows) {
    signal?.throwIfAborted()
    yield row
  }
}

/** Until the next look, after one that took `tookMs`: a hundredth of the time goes into it, and no hour goes by without one. */
export function pauseAfterCheck(tookMs: number): number {
  return Math.min(HOUR_MS, Math.max(LOOK_MS, tookMs * 100))
}

/** For whoever asks at a time when the store may be away: then nothing is known. */
export async function unlessAway(look: () => Promise<Alert[]>): Promise<Alert[]> {
  try {
    return await look()
  } catch (error) {
    if (isAway(error)) return []
    throw error
  }
}
