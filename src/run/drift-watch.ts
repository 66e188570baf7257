import { isAway } from '../errors.js'
import type { Log } from '../log.js'
import type { Alert } from '../quality/alert.js'
import { driftAlert, driftsIn } from '../quality/drift.js'
import type { FieldRow } from '../quality/field-row.js'
import type { FieldStats } from '../store/field-stats.js'

/** Tells of fields that are no longer filled: each once, and again only when it was well in between. */
export function driftWatch(store: FieldStats, spiders: readonly string[], log: Log): () => Promise<Alert[]> {
  let told = new Set<string>()
  return async () => {
    const alerts = await driftAlerts(store, spiders)
    for (const { name, episode, spider, message, fields } of alerts) {
      if (!told.has(episode)) log.warn(name, { spider, ...fields, message })
    }
    told = new Set(alerts.map(({ episode }) => episode))
    return alerts
  }
}

async function driftAlerts(store: FieldStats, spiders: readonly string[]): Promise<Alert[]> {
  const alerts: Alert[] = []
  for (const spider of spiders) {
    const rows: FieldRow[] = []
    for await (const row of store.fieldStats({ spider })) rows.push(row)
    alerts.push(...driftsIn(rows).map(driftAlert))
  }
  return alerts
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
