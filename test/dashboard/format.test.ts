import { expect, it } from 'vitest'
import {
  ago,
  bytes,
  clockTime,
  count,
  duration,
  percent,
  plural,
  rate,
  shortCount,
} from '../../dashboard/src/format.js'

it('counts with commas, and short above ten thousand', () => {
  expect(count(1_234_567)).toBe('1,234,567')
  expect([9_999, 10_000, 12_345, 999_499, 999_500, 1_234_567, 2e9].map(shortCount)).toEqual([
    '9,999',
    '10k',
    '12.3k',
    '999k',
    '1M',
    '1.2M',
    '2G',
  ])
  expect(plural(1, 'host')).toBe('1 host')
  expect(plural(3, 'host')).toBe('3 hosts')
})

it('says bytes with a unit that fits', () => {
  expect([0, 999, 1_000, 999_499, 999_950, 4.2e9, 3e18].map(bytes)).toEqual([
    '0 B',
    '999 B',
    '1 kB',
    '999 kB',
    '1 MB',
    '4.2 GB',
    '3000 PB',
  ])
})

it('says rates so that little is not nothing', () => {
  expect([0, 0.001, 0.034, 4.25, 99.96, 1_204].map(rate)).toEqual(['0', '<0.01', '0.03', '4.3', '100', '1,204'])
})

it('says durations in at most two units, and never sixty of one', () => {
  const said = [-5, 320, 999.6, 1_000, 4_500, 9_960, 59_400, 59_700, 95_000, 3_599_600, 7_500_000, 86_399_999, 9e7]
  expect(said.map(duration)).toEqual([
    '0 ms',
    '320 ms',
    '1 s',
    '1 s',
    '4.5 s',
    '10 s',
    '59 s',
    '1 min',
    '1 min 35 s',
    '1 h',
    '2 h 5 min',
    '1 d',
    '1 d 1 h',
  ])
})

it('says shares so that almost is not all', () => {
  expect([0, 0.001, 0.123, 0.996, 1].map(percent)).toEqual(['0 %', '<1 %', '12 %', '>99 %', '100 %'])
})

it('says how long ago in one unit', () => {
  expect([0, 900, 4_900, 61_000, 7_300_000, 2e8].map((ms) => ago(1e9 - ms, 1e9))).toEqual([
    'just now',
    'just now',
    '4 s ago',
    '1 min ago',
    '2 h ago',
    '2 d ago',
  ])
})

it('says the time of day, and the day when it is another', () => {
  const now = new Date(2026, 5, 3, 14, 0, 0).getTime()
  expect(clockTime(new Date(2026, 5, 3, 9, 5, 7).getTime(), now)).toBe('09:05:07')
  expect(clockTime(new Date(2026, 4, 30, 9, 5, 7).getTime(), now)).toBe('30 May 09:05')
  expect(clockTime(new Date(2025, 0, 2, 9, 5, 7).getTime(), now)).toBe('2 Jan 2025')
})
