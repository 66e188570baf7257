import { isAway } from '../errors.js'
import type { Log } from '../log.js'
import type { Alert } from '../quality/alert.js'
import { driftAlert, driftsIn } from '../quality/drift.js'
import { type FieldRow, HOUR_MS } from '../quality/field-row.js'
import type { FieldStats } from '../store/field-stats.js'

/** Hours that are over hardly change: between two looks at all of them (17 h at one a minute) only the newest are read again. */
const LOOKS_OF_A_READING = 1_000

/** Tells of fields that are no longer filled: each once, and again only when it was well in between. */
export function driftWatch(store: FieldStats, spiders: readonly string[], log: Log): () => Promise<Alert[]> {
  const readings = spiders.map((spider) => rowsOf(store, spider))
  let told = new Set<string>()
  return async () => {
    const alerts: Alert[] = []
    for (const read of readings) alerts.push(...driftsIn(await read()).map(driftAlert))
    for (const { name, episode, spider, message, fields } of alerts) {
      if (!told.has(episode)) log.warn(name, { spider, ...fields, message })
    }
    told = new Set(alerts.map(({ episode }) => episode))
    return alerts
  }
}

/** All rows of a spider, as they are or nearly so. */
function rowsOf(store: FieldStats, spider: string): () => Promise<Iterable<FieldRow>> {
  const rows = new Map<string, FieldRow>()
  let since = 0
  let looks = 0
  return async () => {
    if (looks++ % LOOKS_OF_A_READING === 0) {
      rows.clear()
      since = 0
    }
    let newest = since
    for await (const row of store.fieldStats({ spider, since })) {
      rows.set(JSON.stringify([row.kind, row.site, row.field, row.hour]), row)
      newest = Math.max(newest, row.hour)
    }
    // Workers may still add to the hour before.
    since = Math.max(since, newest - HOUR_MS)
    return rows.values()
  }
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
