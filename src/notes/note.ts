import type { Claim, Note } from './notes.js'

/** The state of one note, and what each call makes of it: pure; Redis says the same in lua/. Times are those of the queue. */
export interface NoteState {
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

export const BLANK: NoteState = { text: null, postedAt: 0, postedBy: '', until: 0, holder: '', heldUntil: 0 }

/** When nothing of it matters any more. */
export function goneAt({ text, until, holder, heldUntil }: NoteState): number {
  return Math.max(text === null ? 0 : until, holder === '' ? 0 : heldUntil)
}

export function noteOf({ text, postedAt, until }: NoteState, now: number): Note | null {
  return text === null || until <= now ? null : { text, ageMs: Math.max(0, now - postedAt) }
}

export function afterClaim(
  state: NoteState,
  { holder, freshMs, forMs }: { readonly holder: string; readonly freshMs: number; readonly forMs: number },
  now: number,
): { claim: Claim; state: NoteState } {
  const note = noteOf(state, now)
  if (note !== null && note.ageMs < freshMs) return { claim: { kind: 'note', note }, state }
  if (state.holder !== '' && state.holder !== holder && state.heldUntil > now) {
    return { claim: { kind: 'taken', waitMs: Math.ceil(state.heldUntil - now), old: note }, state }
  }
  return { claim: { kind: 'yours', old: note }, state: { ...state, holder, heldUntil: now + forMs } }
}

/**
 * Null: refused. A claim that ran out is as good as one that did not, as long as nobody has claimed since; the same note again is the repeat of a
 * call whose reply was lost.
 */
export function afterPost(
  state: NoteState,
  { holder, text, keepMs }: { readonly holder: string; readonly text: string; readonly keepMs: number },
  now: number,
): NoteState | null {
  const claimed = state.holder === holder
  const taken = state.holder !== '' && state.heldUntil > now
  const note = noteOf(state, now)
  if (!claimed && (taken || (note !== null && state.postedBy !== holder))) return null
  if (!claimed && note?.text === text) return state
  return { text, postedAt: now, postedBy: holder, until: now + keepMs, holder: '', heldUntil: 0 }
}

export function afterDrop(state: NoteState, holder: string): NoteState {
  return state.holder === holder ? { ...state, holder: '', heldUntil: 0 } : state
}
