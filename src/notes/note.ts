import type { Claim, Note } from './notes.js'

/** What stands under one key of the board, and what each call makes of it: pure; Redis says the same in lua/. Times of the queue. */
export interface Sheet {
  /** Null: no note. */
  readonly text: string | null
  readonly postedAt: number
  readonly postedBy: string
  /** The note is gone from then on. */
  readonly until: number
  /** Who claimed last and has neither posted nor dropped; '': nobody. */
  readonly holder: string
  readonly heldUntil: number
}

export const BLANK: Sheet = { text: null, postedAt: 0, postedBy: '', until: 0, holder: '', heldUntil: 0 }

/** When nothing of it matters any more. */
export function goneAt({ text, until, holder, heldUntil }: Sheet): number {
  return Math.max(text === null ? 0 : until, holder === '' ? 0 : heldUntil)
}

export function noteOf({ text, postedAt, until }: Sheet, now: number): Note | null {
  return text === null || until <= now ? null : { text, ageMs: Math.max(0, now - postedAt) }
}

export function afterClaim(
  sheet: Sheet,
  { holder, freshMs, forMs }: { readonly holder: string; readonly freshMs: number; readonly forMs: number },
  now: number,
): { claim: Claim; sheet: Sheet } {
  const note = noteOf(sheet, now)
  if (note !== null && note.ageMs < freshMs) return { claim: { kind: 'note', note }, sheet }
  if (sheet.holder !== '' && sheet.holder !== holder && sheet.heldUntil > now) {
    return { claim: { kind: 'taken', waitMs: Math.ceil(sheet.heldUntil - now), old: note }, sheet }
  }
  return { claim: { kind: 'yours', old: note }, sheet: { ...sheet, holder, heldUntil: now + forMs } }
}

/**
 * Null: refused. A claim that ran out is as good as one that did not, as long as nobody has claimed since; the same note again is the repeat of a
 * call whose reply was lost.
 */
export function afterPost(
  sheet: Sheet,
  { holder, text, keepMs }: { readonly holder: string; readonly text: string; readonly keepMs: number },
  now: number,
): Sheet | null {
  const claimed = sheet.holder === holder
  const taken = sheet.holder !== '' && sheet.heldUntil > now
  const note = noteOf(sheet, now)
  if (!claimed && (taken || (note !== null && sheet.postedBy !== holder))) return null
  if (!claimed && note?.text === text) return sheet
  return { text, postedAt: now, postedBy: holder, until: now + keepMs, holder: '', heldUntil: 0 }
}

export function afterDrop(sheet: Sheet, holder: string): Sheet {
  return sheet.holder === holder ? { ...sheet, holder: '', heldUntil: 0 } : sheet
}
