import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseRetryAfter } from '../../src/politeness/retry-after.js'

const NOW = Date.parse('2026-03-01T12:00:00Z')

it.each<[string | undefined, number | null]>([
  ['120', 120_000],
  [' 120 ', 120_000],
  ['0', 0],
  ['99999999', 99_999_999_000],
  ['Sun, 01 Mar 2026 12:02:00 GMT', 120_000],
  ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
  ['120, 60', 120_000],
  ['60, 120', 120_000],
  ['Sun, 01 Mar 2026 12:02:00 GMT, Sun, 01 Mar 2026 12:05:00 GMT', 120_000],
  ['-1', null],
  ['NaN', null],
  ['Infinity', null],
  ['1.5', null],
  ['120s', null],
  ['1e3', null],
  ['', null],
  [undefined, null],
  ['soon', null],
  ['Sun, 99 Mar 2026 12:02:00 GMT', null],
  ['2026-03-01T12:02:00Z', null],
  ['9'.repeat(400), null],
])('%s → %s', (header, ms) => {
  expect(parseRetryAfter(header, NOW)).toBe(ms)
})

it('whatever the header holds, the answer is null or a finite wait', () => {
  fc.assert(
    fc.property(fc.string(), (header) => {
      const ms = parseRetryAfter(header, NOW)
      expect(ms === null || (Number.isFinite(ms) && ms >= 0)).toBe(true)
    }),
  )
})
