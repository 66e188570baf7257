import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Board } from '../../src/notes/notes.js'
import { ManualClock } from '../../src/clock.js'

export type MakeBoard = (clock: ManualClock) => Promise<{ readonly board: Board; close(): Promise<void> }>

const HOUR = 3_600_000

export function boardContract(driver: string, make: MakeBoard): void {
  describe(`board contract: ${driver}`, () => {
    let clock: ManualClock
    let made: Awaited<ReturnType<MakeBoard>>
    let board: Board

    beforeEach(async () => {
      clock = new ManualClock()
      made = await make(clock)
      board = made.board
    })
    afterEach(() => made.close())

    it('gives a claim to one caller at a time', async () => {
      expect(await board.claim('k', 'a', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
      clock.advance(400)
      expect(await board.claim('k', 'b', HOUR, 1000)).toEqual({ kind: 'taken', waitMs: 600, old: null })
      expect(await board.claim('other', 'b', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
      const all = await Promise.all(Array.from({ length: 20 }, (_, i) => board.claim('many', `h${i}`, HOUR, 1000)))
      expect(all.filter((claim) => claim.kind === 'yours')).toHaveLength(1)
    })

    it('lets a holder claim again what it holds, and then for longer', async () => {
      await board.claim('k', 'a', HOUR, 1000)
      clock.advance(900)
      expect(await board.claim('k', 'a', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
      clock.advance(900)
      expect(await board.claim('k', 'b', HOUR, 1000)).toMatchObject({ kind: 'taken', waitMs: 100 })
    })

    it('ends a claim by itself', async () => {
      await board.claim('k', 'a', HOUR, 1000)
      clock.advance(1000)
      expect(await board.claim('k', 'b', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
      expect(await board.post('k', 'a', 'late', HOUR)).toBe(false)
      expect(await board.read('k')).toBeNull()
      expect(await board.post('k', 'b', 'mine', HOUR)).toBe(true)
      expect(await board.post('k', 'a', 'later', HOUR)).toBe(false)
      expect(await board.read('k')).toEqual({ text: 'mine', ageMs: 0 })
    })

    it('takes the note of a claim that ran out when nobody has claimed since', async () => {
      await board.claim('k', 'a', HOUR, 1000)
      clock.advance(5000)
      expect(await board.post('k', 'a', 'late', HOUR)).toBe(true)
      expect(await board.read('k')).toEqual({ text: 'late', ageMs: 0 })
    })

    it('shows a note to everybody while it is fresh, and an old one to who may make it anew', async () => {
      await board.claim('k', 'a', HOUR, 1000)
      expect(await board.post('k', 'a', 'text\0with "all" kinds ✓\n', 10 * HOUR)).toBe(true)
      clock.advance(1500)
      const note = { text: 'text\0with "all" kinds ✓\n', ageMs: 1500 }
      expect(await board.claim('k', 'b', 1501, 1000)).toEqual({ kind: 'note', note })
      expect(await board.claim('k', 'b', 1500, 1000)).toEqual({ kind: 'yours', old: note })
      expect(await board.claim('k', 'c', 1500, 1000)).toEqual({ kind: 'taken', waitMs: 1000, old: note })
      expect(await board.claim('k', 'c', HOUR, 1000)).toEqual({ kind: 'note', note })
      expect(await board.post('k', 'b', 'newer', HOUR)).toBe(true)
      expect(await board.claim('k', 'c', 1500, 1000)).toEqual({ kind: 'note', note: { text: 'newer', ageMs: 0 } })
    })

    it('forgets a note when its time has passed', async () => {
      await board.claim('k', 'a', HOUR, 1000)
      await board.post('k', 'a', 'text', 2000)
      clock.advance(1999)
      expect(await board.read('k')).toEqual({ text: 'text', ageMs: 1999 })
      clock.advance(1)
      expect(await board.read('k')).toBeNull()
      expect(await board.claim('k', 'b', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
    })

    it('takes a post twice, and refuses one over the note of another', async () => {
      await board.claim('k', 'a', HOUR, 1000)
      expect(await board.post('k', 'a', 'text', HOUR)).toBe(true)
      clock.advance(300)
      expect(await board.post('k', 'a', 'text', HOUR)).toBe(true)
      expect(await board.read('k')).toEqual({ text: 'text', ageMs: 300 })
      expect(await board.post('k', 'b', 'other', HOUR)).toBe(false)
      expect(await board.read('k')).toEqual({ text: 'text', ageMs: 300 })
    })

    it('takes a claim back, from its holder alone', async () => {
      await board.claim('k', 'a', HOUR, 1000)
      await board.drop('k', 'b')
      expect(await board.claim('k', 'b', HOUR, 1000)).toMatchObject({ kind: 'taken' })
      await board.drop('k', 'a')
      await board.drop('k', 'a')
      await board.drop('never', 'a')
      expect(await board.claim('k', 'b', HOUR, 1000)).toEqual({ kind: 'yours', old: null })
    })

    it('has notes of nothing, and long ones', async () => {
      await board.claim('k', 'a', HOUR, 1000)
      await board.post('k', 'a', '', HOUR)
      expect(await board.read('k')).toEqual({ text: '', ageMs: 0 })
      const long = 'x'.repeat(500_000)
      await board.claim('l', 'a', HOUR, 1000)
      await board.post('l', 'a', long, HOUR)
      expect(await board.read('l')).toEqual({ text: long, ageMs: 0 })
    })
  })
}
