import type { Json } from '../../url/link.js'

/** Something that a person should look at. It holds until it is gone: each episode is told once when it begins and once when it ends. */
export interface Alert {
  readonly rule: AlertRule
  readonly severity: 'warn' | 'critical'
  /** The same for as long as it lasts. */
  readonly episode: string
  /** Of what: a crawl, a host, a worker, a pool; '' for the queue as a whole. */
  readonly about: string
  readonly crawl: string | null
  readonly spider: string | null
  /** For a person, on one line. */
  readonly message: string
  /** What to do about it. */
  readonly next: string
  /** For a program. */
  readonly fields: Readonly<Record<string, Json>>
  readonly since: number
}

export const ALERT_RULES = [
  'queue_growing',
  'error_spike',
  'host_stalled',
  'proxies_resting',
  'no_progress',
  'dead_rising',
  'field_drift',
  'eta_slipping',
  'queue_memory',
  'worker_lost',
] as const
export type AlertRule = (typeof ALERT_RULES)[number]

/** As it stands on the notes under ALERTS_KEY. */
export interface AlertNotes {
  readonly active: readonly Alert[]
  /** Ended lately, newest first. */
  readonly ended: readonly (Alert & { readonly endedAt: number })[]
}
