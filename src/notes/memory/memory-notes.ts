import type { Clock } from '../../clock.js'
import type { Board } from '../notes.js'
import { afterClaim, afterDrop, afterPost, BLANK, goneAt, noteOf, type Sheet } from '../note.js'

/** The reference model: tests, `shoal try`, `memory:`. */
export function memoryBoard({ clock }: { readonly clock: Clock }): Board {
  const sheets = new Map<string, Sheet>()
  let sweepAt = FEWEST_SWEPT

  const write = (key: string, sheet: Sheet, now: number): void => {
    if (goneAt(sheet) <= now) sheets.delete(key)
    else sheets.set(key, sheet)
    if (sheets.size < sweepAt) return
    for (const [old, kept] of sheets) if (goneAt(kept) <= now) sheets.delete(old)
    sweepAt = Math.max(FEWEST_SWEPT, sheets.size * 2)
  }

  return {
    async claim(key, holder, freshMs, forMs) {
      const now = clock.now()
      const { claim, sheet } = afterClaim(sheets.get(key) ?? BLANK, { holder, freshMs, forMs }, now)
      write(key, sheet, now)
      return claim
    },
    async post(key, holder, text, keepMs) {
      const now = clock.now()
      const sheet = afterPost(sheets.get(key) ?? BLANK, { holder, text, keepMs }, now)
      if (sheet !== null) write(key, sheet, now)
      return sheet !== null
    },
    async drop(key, holder) {
      const sheet = sheets.get(key)
      if (sheet !== undefined) write(key, afterDrop(sheet, holder), clock.now())
    },
    async read(key) {
      return noteOf(sheets.get(key) ?? BLANK, clock.now())
    },
  }
}

/** Sheets are looked through when they have doubled: the cost of it does not grow with their number. */
const FEWEST_SWEPT = 1_000
