import type { Clock } from '../../clock.js'
import { afterClaim, afterDrop, afterPost, BLANK, goneAt, type NoteState, noteOf } from '../note.js'
import type { Notes } from '../notes.js'

/** The reference model: tests, `shoal try`, `memory:`. */
export function memoryNotes({ clock }: { readonly clock: Clock }): Notes {
  const states = new Map<string, NoteState>()
  let sweepAt = FEWEST_SWEPT

  const write = (key: string, state: NoteState, now: number): void => {
    if (goneAt(state) <= now) states.delete(key)
    else states.set(key, state)
    if (states.size < sweepAt) return
    for (const [old, kept] of states) if (goneAt(kept) <= now) states.delete(old)
    sweepAt = Math.max(FEWEST_SWEPT, states.size * 2)
  }

  return {
    async claim(key, holder, freshMs, forMs) {
      const now = clock.now()
      const { claim, state } = afterClaim(states.get(key) ?? BLANK, { holder, freshMs, forMs }, now)
      write(key, state, now)
      return claim
    },
    async post(key, holder, text, keepMs) {
      const now = clock.now()
      const state = afterPost(states.get(key) ?? BLANK, { holder, text, keepMs }, now)
      if (state !== null) write(key, state, now)
      return state !== null
    },
    async drop(key, holder) {
      const state = states.get(key)
      if (state !== undefined) write(key, afterDrop(state, holder), clock.now())
    },
    async read(key) {
      return noteOf(states.get(key) ?? BLANK, clock.now())
    },
  }
}

/** States are swept when their number has doubled, so that the cost per call does not grow with it. */
const FEWEST_SWEPT = 1_000
