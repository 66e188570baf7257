import type { Json } from '../../url/link.js'

/** A problem that a person should look at. Each episode is reported once when it starts and once when it ends. */
export interface Alert {
  readonly rule: AlertRule
  readonly severity: 'warn' | 'critical'
  /** Id of this occurrence, the same for as long as it lasts. */
  readonly episode: string
  /** The subject: a crawl, a host, a worker, a pool; '' for the queue as a whole. */
  readonly about: string
  readonly crawl: string | null
  readonly spider: string | null
  /** For people, one line. */
  readonly message: string
  /** What to do about it. */
  readonly next: string
  /** For programs. */
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

/** As stored in the shared notes under ALERTS_KEY. */
export interface AlertNotes {
  readonly active: readonly Alert[]
  /** Recently ended, newest first. */
  readonly ended: readonly (Alert & { readonly endedAt: number })[]
}
