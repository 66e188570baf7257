import type { Alert } from './alert.js'
import type { AlertEventName } from './alert-notes.js'

/** The message for a webhook or a command. */
export interface AlertMessage {
  /** The same when it is delivered again. */
  readonly id: string
  readonly event: AlertEventName
  /** Sent by `shoal alerts test`: not a real problem. */
  readonly test: boolean
  readonly at: number
  readonly alert: Alert
}

/** A webhook, a command or the log. It never throws; `down`: retrying may work; `rejected`: someone must fix the configuration. */
export interface AlertChannel {
  /** Without secrets: for people, for the log, and to remember which channels have received an alert. */
  readonly name: string
  deliver(message: AlertMessage, signal: AbortSignal): Promise<AlertDelivered>
}

export type AlertDelivered =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'down' | 'rejected'; readonly message: string; readonly retryAfterMs?: number }
