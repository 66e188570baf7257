import { z } from 'zod'
import type { Notes } from '../../notes/notes.js'
import { ALERTS_KEY } from '../note-keys.js'
import { ALERT_RULES, type Alert, type AlertNotes } from './alert.js'

/** The note of the watcher: what holds and what ended lately, for everybody; and what is not told yet, for the watcher that comes next. */
export interface AlertNote extends AlertNotes {
  /** Oldest first. */
  readonly undelivered: readonly Undelivered[]
}

/** A beginning or an end on its way to the channels. */
export interface Undelivered {
  /** The same whenever it is told: a receiver that gets it twice knows. */
  readonly id: string
  readonly event: AlertEventName
  readonly alert: Alert
  readonly at: number
  /** Channels that have it. */
  readonly told: readonly string[]
}

export type AlertEventName = 'alert.began' | 'alert.ended'

export const NO_ALERTS: AlertNote = { active: [], ended: [], undelivered: [] }

const ENDED_KEPT_MS = 24 * 3_600_000
const ENDED_KEPT = 100
/** What could not be told for so long is not told any more. */
export const UNTOLD_KEPT_MS = 3_600_000
const UNTOLD_KEPT = 500
const NOTE_KEPT_MS = 7 * 86_400_000

export async function readAlerts(
  notes: Pick<Notes, 'read'>,
): Promise<AlertNotes & { readonly lookedMs: number | null }> {
  const note = await notes.read(ALERTS_KEY)
  const { active, ended } = parseAlertNote(note?.text)
  return { active, ended, lookedMs: note === null ? null : note.ageMs }
}

/** False: another process watches by now. `at` makes each note a new one: its age tells when somebody last looked. */
export function postAlerts(notes: Notes, author: string, note: AlertNote, at: number): Promise<boolean> {
  return notes.post(ALERTS_KEY, author, JSON.stringify({ at, ...note }), NOTE_KEPT_MS)
}

/** Nothing grows without bound. */
export function trimmed({ active, ended, undelivered }: AlertNote, now: number): AlertNote {
  return {
    active,
    ended: ended.filter(({ endedAt }) => endedAt > now - ENDED_KEPT_MS).slice(0, ENDED_KEPT),
    undelivered: undelivered.filter(({ at }) => at > now - UNTOLD_KEPT_MS).slice(-UNTOLD_KEPT),
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
  told: z.array(z.string()),
})
const alertNote = z.object({
  active: z.array(alert),
  ended: z.array(alert.extend({ endedAt: z.number() })),
  undelivered: z.array(undelivered),
}) satisfies z.ZodType<AlertNote>

/** What another version wrote, or garbage, is nothing. */
export function parseAlertNote(text: string | undefined): AlertNote {
  if (text === undefined) return NO_ALERTS
  try {
    return alertNote.safeParse(JSON.parse(text)).data ?? NO_ALERTS
  } catch {
    return NO_ALERTS
  }
}
