import { expect, it } from 'vitest'
import { readDate } from '../../../src/spider/convert/dates.js'
import { DATES } from './real-dates.js'

/** `2026-03-12` → `2026-03-12T00:00:00.000Z`. */
function inFull(date: string | null): string | null {
  return date === null ? null : `${date}${'T00:00:00.000'.slice(date.length - 10)}Z`
}

it('reads the dates of real pages, and invents none', () => {
  const read = DATES.map((written) => ({
    ...written,
    date: readDate(written.text, { order: written.order ?? null, language: () => written.language ?? null }),
  }))
  expect(read).toEqual(DATES.map((written) => ({ ...written, date: inFull(written.date) })))
  expect(DATES.length).toBeGreaterThanOrEqual(100)
})

it('asks for the language only where it decides', () => {
  const how = {
    order: null,
    language: (): never => {
      throw new Error('asked')
    },
  }
  for (const text of ['2026-03-12', '12 March 2026', '25/03/2026', '01.02.2026', 'Room 5'])
    expect(() => readDate(text, how)).not.toThrow()
  expect(() => readDate('03/04/2026', how)).toThrow('asked')
})

it('does not search a whole article', () => {
  const how = { order: null, language: () => null }
  expect(readDate(`12 March 2026${' x'.repeat(900)}`, how)).not.toBe(null)
  expect(readDate(`12 March 2026${' x'.repeat(2_000)}`, how)).toBe(null)
})
