import type { Alert } from './alert.js'
import type { AlertEventName } from './alert-notes.js'

/** What a webhook or a command is told. */
export interface AlertMessage {
  /** The same when it is told again. */
  readonly id: string
  readonly event: AlertEventName
  /** Sent by `shoal alerts test`: nothing is wrong. */
  readonly test: boolean
  readonly at: number
  readonly alert: Alert
}

/** A way to tell somebody. It never throws; `away`: the same may work later; `refused`: somebody must change something. */
export interface AlertChannel {
  /** Without secrets: for people, for the log, and for remembering who was told. */
  readonly name: string
  tell(message: AlertMessage, signal: AbortSignal): Promise<AlertDelivered>
}

export type AlertDelivered =
  | { readonly kind: 'told' }
  | { readonly kind: 'away' | 'refused'; readonly message: string; readonly retryAfterMs?: number }
