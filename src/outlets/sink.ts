import type { OutletHold } from '../store/outlets.js'
import type { StoredRecord } from '../store/record-store.js'

/**
 * The receiving end of an outlet. Duties of every sink:
 *  - `send` says `taken` only when the sink has the whole batch. The same batch may come again: its answer was lost, or its sender died.
 *  - It never throws for an error of the sink; it has a deadline of its own, and ends soon after the signal.
 *  - Where the sink can store epochs, it refuses a holder whose epoch is smaller than one it has seen (`fenced`).
 */
export interface Sink {
  send(batch: Batch, signal: AbortSignal): Promise<Sent>
  close(): Promise<void>
}

export interface Batch {
  readonly records: readonly StoredRecord[]
  readonly hold: Pick<OutletHold, 'id' | 'epoch'>
}

export type Sent =
  | { readonly kind: 'taken' /** Items it dropped for them. */; readonly trimmed: number }
  /** It may accept the same batch later. */
  | { readonly kind: 'down'; readonly message: string; readonly retryAfterMs?: number }
  /** It will never accept this batch: somebody must change something. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'fenced' }
