import type { Cursor } from './changes.js'

/**
 * Who delivers the changes to which sink, and how far. Duties of every driver:
 *  - An outlet is held by one process at a time; a process that lost it can no longer store its progress.
 *  - Its cursor lives with the records and goes where they go: into a copy, and back in time with a restore.
 *  - A foreign cursor is refused with `cursor_foreign`, as by `Changes`.
 */
export interface Outlets {
  /**
   * Takes or renews the outlet for `forMs`; an unknown one is created, at the start. Null: another process holds it, or it has stopped.
   * With an epoch it only renews: null when that hold is over, even if the outlet is free now.
   */
  claim(claim: OutletClaim): Promise<OutletHold | null>
  /** Another process may claim it at once. */
  release(name: string, holder: string): Promise<void>
  /** The result of a batch. False: this holder does not hold it any more, and nothing was stored. */
  note(name: string, holder: string, note: OutletNote): Promise<boolean>
  /** By name. */
  list(): Promise<OutletInfo[]>
  /** Sets the cursor (null: keeps it), clears the error and lets it run again. Its holder loses it. An unknown one is created. */
  reset(name: string, spider: string, cursor: Cursor | null): Promise<void>
}

export interface OutletClaim {
  readonly name: string
  /** Empty: all. */
  readonly spider: string
  readonly kinds: readonly string[] | null
  /** Unlike that of any other process, now or before. */
  readonly holder: string
  readonly forMs: number
  /** Of the hold to renew. */
  readonly epoch?: number
}

export interface OutletHold {
  readonly cursor: Cursor
  /** Of the outlet, for good: a sink distinguishes outlets of two databases by it. */
  readonly id: string
  /** Larger for each holder: a sink that has seen a larger one refuses this one. */
  readonly epoch: number
}

export interface OutletNote {
  readonly cursor: Cursor
  /** Records that the sink accepted, and items it dropped to make room for them. */
  readonly sent: number
  readonly trimmed: number
  /** Why the sink accepts nothing; null when it does. */
  readonly error: string | null
  /** It will not accept it later either: nobody can claim the outlet until it is reset. */
  readonly stop: boolean
}

export interface OutletInfo {
  readonly name: string
  /** Empty: all. */
  readonly spider: string
  readonly kinds: readonly string[] | null
  readonly cursor: Cursor
  /** Null: nobody holds it. */
  readonly holder: string | null
  readonly sent: number
  readonly sentAt: number | null
  readonly trimmed: number
  readonly error: string | null
  readonly stopped: boolean
}
