import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { Notes } from '../../src/notes/notes.js'

export type MakeNotes = (clock: ManualClock) => Promise<{ readonly notes: Notes; close(): Promise<void> }>

const HOUR = 3_600_000

export function notesContract(driver: string, make: MakeNotes): void {
  describe(`notes contract: ${driver}`, () => {
    let clock: ManualClock
    let made: Awaited<ReturnType<MakeNotes>>
    let notes: Notes

    beforeEach(async () => {
      clock = new ManualClock()
      made = await make(clock)
      notes = made.notes
    })
    afterEach(() => made.close())

    it('gives a claim to one caller at a time', async () => {
      expect(await notes.claim('k', 'a', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
      clock.advance(400)
      expect(await notes.claim('k', 'b', HOUR, 1000)).toEqual({ kind: 'taken', waitMs: 600, old: null })
      expect(await notes.claim('other', 'b', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
      const all = await Promise.all(Array.from({ length: 20 }, (_, i) => notes.claim('many', `h${i}`, HOUR, 1000)))
      expect(all.filter((claim) => claim.kind === 'yours')).toHaveLength(1)
    })

    it('lets a holder claim again what it holds, and then for longer', async () => {
      await notes.claim('k', 'a', HOUR, 1000)
      clock.advance(900)
      expect(await notes.claim('k', 'a', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
      clock.advance(900)
      expect(await notes.claim('k', 'b', HOUR, 1000)).toMatchObject({ kind: 'taken', waitMs: 100 })
    })

    it('ends a claim when its time is over', async () => {
      await notes.claim('k', 'a', HOUR, 1000)
      clock.advance(1000)
      expect(await notes.claim('k', 'b', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
      expect(await notes.post('k', 'a', 'late', HOUR)).toBe(false)
      expect(await notes.read('k')).toBeNull()
      expect(await notes.post('k', 'b', 'mine', HOUR)).toBe(true)
      expect(await notes.post('k', 'a', 'later', HOUR)).toBe(false)
      expect(await notes.read('k')).toEqual({ text: 'mine', ageMs: 0 })
    })

    it('takes the note of a claim that ran out when nobody has claimed since', async () => {
      await notes.claim('k', 'a', HOUR, 1000)
      clock.advance(5000)
      expect(await notes.post('k', 'a', 'late', HOUR)).toBe(true)
      expect(await notes.read('k')).toEqual({ text: 'late', ageMs: 0 })
    })

    it('shows a note to everybody while it is fresh, and an old one to who may make it anew', async () => {
      await notes.claim('k', 'a', HOUR, 1000)
      expect(await notes.post('k', 'a', 'text\0with "all" kinds ✓\n', 10 * HOUR)).toBe(true)
      clock.advance(1500)
      const note = { text: 'text\0with "all" kinds ✓\n', ageMs: 1500 }
      expect(await notes.claim('k', 'b', 1501, 1000)).toEqual({ kind: 'note', note })
      expect(await notes.claim('k', 'b', 1500, 1000)).toEqual({ kind: 'yours', old: note })
      expect(await notes.claim('k', 'c', 1500, 1000)).toEqual({ kind: 'taken', waitMs: 1000, old: note })
      expect(await notes.claim('k', 'c', HOUR, 1000)).toEqual({ kind: 'note', note })
      expect(await notes.post('k', 'b', 'newer', HOUR)).toBe(true)
      expect(await notes.claim('k', 'c', 1500, 1000)).toEqual({ kind: 'note', note: { text: 'newer', ageMs: 0 } })
    })

    it('forgets a note when its time has passed', async () => {
      await notes.claim('k', 'a', HOUR, 1000)
      await notes.post('k', 'a', 'text', 2000)
      clock.advance(1999)
      expect(await notes.read('k')).toEqual({ text: 'text', ageMs: 1999 })
      clock.advance(1)
      expect(await notes.read('k')).toBeNull()
      expect(await notes.claim('k', 'b', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
    })

    it('takes a post twice, and refuses one over the note of another', async () => {
      await notes.claim('k', 'a', HOUR, 1000)
      expect(await notes.post('k', 'a', 'text', HOUR)).toBe(true)
      clock.advance(300)
      expect(await notes.post('k', 'a', 'text', HOUR)).toBe(true)
      expect(await notes.read('k')).toEqual({ text: 'text', ageMs: 300 })
      expect(await notes.post('k', 'b', 'other', HOUR)).toBe(false)
      expect(await notes.read('k')).toEqual({ text: 'text', ageMs: 300 })
    })

    it('takes a claim back, from its holder alone', async () => {
      await notes.claim('k', 'a', HOUR, 1000)
      await notes.drop('k', 'b')
      expect(await notes.claim('k', 'b', HOUR, 1000)).toMatchObject({ kind: 'taken' })
      await notes.drop('k', 'a')
      await notes.drop('k', 'a')
      await notes.drop('never', 'a')
      expect(await notes.claim('k', 'b', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
    })

    it('has notes of nothing, and long ones', async () => {
      await notes.claim('k', 'a', HOUR, 1000)
      await notes.post('k', 'a', '', HOUR)
      expect(await notes.read('k')).toEqual({ text: '', ageMs: 0 })
      const long = 'x'.repeat(500_000)
      await notes.claim('l', 'a', HOUR, 1000)
      await notes.post('l', 'a', long, HOUR)
      expect(await notes.read('l')).toEqual({ text: long, ageMs: 0 })
    })
  })
}
