import { z } from 'zod'
import type { Notes } from '../../notes/notes.js'
import { ALERTS_KEY } from '../note-keys.js'
import { ALERT_RULES, type Alert, type AlertNotes } from './alert.js'

/** The watcher's note: active and recently ended alerts for everyone, and undelivered ones for the next watcher. */
export interface AlertNote extends AlertNotes {
  /** Oldest first. */
  readonly undelivered: readonly Undelivered[]
}

/** The start or end of an alert that some channels have not received yet. */
export interface Undelivered {
  /** The same for every delivery, so that a receiver can drop duplicates. */
  readonly id: string
  readonly event: AlertEventName
  readonly alert: Alert
  readonly at: number
  /** Channels that have received it. */
  readonly delivered: readonly string[]
}

export type AlertEventName = 'alert.began' | 'alert.ended'

export const NO_ALERTS: AlertNote = { active: [], ended: [], undelivered: [] }

const ENDED_KEPT_MS = 24 * 3_600_000
const ENDED_KEPT = 100
/** What could not be delivered for this long is dropped. */
export const UNDELIVERED_KEPT_MS = 3_600_000
const UNDELIVERED_KEPT = 500
const NOTE_KEPT_MS = 7 * 86_400_000

export async function readAlerts(
  notes: Pick<Notes, 'read'>,
): Promise<AlertNotes & { readonly evaluatedMs: number | null }> {
  const note = await notes.read(ALERTS_KEY)
  const { active, ended } = parseAlertNote(note?.text)
  return { active, ended, evaluatedMs: note === null ? null : note.ageMs }
}

/** False: another process is the watcher now. `at` makes each note a new one, so that its age says when alerts were last evaluated. */
export function postAlerts(notes: Notes, author: string, note: AlertNote, at: number): Promise<boolean> {
  return notes.post(ALERTS_KEY, author, JSON.stringify({ at, ...note }), NOTE_KEPT_MS)
}

/** Keeps the note from growing without bound. */
export function trimmed({ active, ended, undelivered }: AlertNote, now: number): AlertNote {
  return {
    active,
    ended: ended.filter(({ endedAt }) => endedAt > now - ENDED_KEPT_MS).slice(0, ENDED_KEPT),
    undelivered: undelivered.filter(({ at }) => at > now - UNDELIVERED_KEPT_MS).slice(-UNDELIVERED_KEPT),
  }
}

const json: z.ZodType<Alert['fields'][string]> = z.json()
const alert = z.object({
  rule: z.enum(ALERT_RULES),
  severity: z.enum(['warn', 'critical']),
  episode: z.string(),
  about: z.string(),
  crawl: z.string().nullable(),
  spider: z.string().nullable(),
  message: z.string(),
  next: z.string(),
  fields: z.record(z.string(), json),
  since: z.number(),
})
const undelivered = z.object({
  id: z.string(),
  event: z.enum(['alert.began', 'alert.ended']),
  alert,
  at: z.number(),
  delivered: z.array(z.string()),
})
const alertNote = z.object({
  active: z.array(alert),
  ended: z.array(alert.extend({ endedAt: z.number() })),
  undelivered: z.array(undelivered),
}) satisfies z.ZodType<AlertNote>

/** A note of another version, or garbage, counts as empty. */
export function parseAlertNote(text: string | undefined): AlertNote {
  if (text === undefined) return NO_ALERTS
  try {
    return alertNote.safeParse(JSON.parse(text)).data ?? NO_ALERTS
  } catch {
    return NO_ALERTS
  }
}
