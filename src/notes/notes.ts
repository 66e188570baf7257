/**
 * Notes that the whole fleet shares, kept by the queue's engine: what one process found out for all of them (robots.txt of a host), and turns
 * that only one may take (a schedule's next run). Times are those of the queue. Duties of every driver:
 *  - A claim has one holder at a time, and runs out when its holder dies.
 *  - Every call can be repeated: a holder that claims again what it holds has it still.
 *  - Nothing grows without bound: a note is gone when its time has passed, read or not.
 */
export interface Notes {
  /**
   * The note, when it is younger than `freshMs`; otherwise the claim to write it, for `forMs`, given to one caller at a time. The note that is too
   * old comes along: an old copy may be better than none.
   */
  claim(key: string, holder: string, freshMs: number, forMs: number): Promise<Claim>
  /** Writes the note and ends the claim. False: the claim ran out and somebody else has it, or has written a note; nothing changed. */
  post(key: string, holder: string, text: string, keepMs: number): Promise<boolean>
  /** Gives a claim back without a note. */
  drop(key: string, holder: string): Promise<void>
  read(key: string): Promise<Note | null>
}

export interface Note {
  readonly text: string
  /** Since it was written. */
  readonly ageMs: number
}

export type Claim =
  | { readonly kind: 'note'; readonly note: Note }
  | { readonly kind: 'yours'; readonly old: Note | null }
  /** Somebody else has the claim; it runs out in `waitMs`. */
  | { readonly kind: 'taken'; readonly waitMs: number; readonly old: Note | null }
