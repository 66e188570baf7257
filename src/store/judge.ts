import type { WriteStatus } from './rows.js'

/** What decides over a write: the lease it comes from, its content and its time. */
export interface Version {
  readonly gen: number
  readonly epoch: string
  /** The record's data as JSON text. */
  readonly data: string
  /** It belongs to the content. */
  readonly identity: string | null
  /** When the content was last written. */
  readonly at: number
}

/**
 * The status of a write, given the current row. Writes are judged one after the other, so the answers do not depend on where
 * batches are cut. The order matters: a stale writer is fenced even when it brings the same content, and content that did not change
 * confirms the row inside the freshness window too.
 */
export function judge(
  row: Version | undefined,
  incoming: Version,
  freshMs: number,
): Exclude<WriteStatus, 'quarantined'> {
  if (row === undefined) return 'written'
  const order = compareLease(incoming, row)
  if (order < 0) return 'fenced'
  if (incoming.data === row.data && incoming.identity === row.identity) return 'unchanged'
  // Without a window a clock that is behind decides nothing.
  if (order > 0 && freshMs > 0 && incoming.at - row.at < freshMs) return 'fresh'
  return 'written'
}

/** Negative when `a` is the older lease, 0 for one and the same. Epochs are decimal digits of any length. */
export function compareLease(a: Pick<Version, 'gen' | 'epoch'>, b: Pick<Version, 'gen' | 'epoch'>): number {
  if (a.gen !== b.gen) return a.gen - b.gen
  if (a.epoch === b.epoch) return 0
  if (a.epoch.length !== b.epoch.length) return a.epoch.length - b.epoch.length
  return a.epoch < b.epoch ? -1 : 1
}
