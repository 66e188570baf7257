import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDuration, parseRate, parseSize } from '../src/units.js'

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['2s', 2_000],
    ['1.5 s', 1_500],
    ['5min', 300_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    [0, 0],
  ])('%s', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it.each(['5 parsecs', '5', '', 'ms', '-1s', '1e3s', '٣s', 5, null, undefined, {}, '1s2s'])('refuses %j', (text) => {
    expect(() => parseDuration(text)).toThrow(expect.objectContaining({ code: 'bad_duration' }))
  })

  it('names what was written, on one short line', () => {
    expect(() => parseDuration('5 parsecs')).toThrow("'5 parsecs' is not a duration")
    expect(() => parseDuration(`5\n${'x'.repeat(1_000_000)}`)).toThrow(/^[^\n]{1,120}$/)
  })

  it('never gives anything but a whole number of milliseconds', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('', 'ms', 's', 'min', 'h', 'd'), (text, unit) => {
        try {
          const ms = parseDuration(text + unit)
          return Number.isInteger(ms) && ms >= 0
        } catch {
          return true
        }
      }),
    )
  })
})

describe('rates', () => {
  it('reads a count per unit', () => {
    expect(parseRate('60/min')).toEqual({ count: 60, perMs: 60_000 })
    expect(parseRate('0.5/s')).toEqual({ count: 0.5, perMs: 1_000 })
  })

  it.each(['0/s', '60', '60/parsec', 60, '/s', '-1/s'])('refuses %j', (text) => {
    expect(() => parseRate(text)).toThrow(expect.objectContaining({ code: 'bad_rate' }))
  })
})

describe('sizes', () => {
  it.each([
    [10, 10],
    ['10kb', 10_240],
    ['10 MB', 10_485_760],
    ['1gb', 1_073_741_824],
    [-1, null],
    ['ten', null],
    [Number.NaN, null],
  ])('%s', (text, bytes) => expect(parseSize(text)).toBe(bytes))
})
