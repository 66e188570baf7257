import { describe, expect, it } from 'vitest'
import { profileOf } from '../../src/simulate/profile.js'
import { type Course, compare, reached, verdict } from './course.js'
import { drawSvg, drawText } from './draw.js'
import { CASES, simulatedInput } from './profiles.js'
import { runSimulated } from './simulated-run.js'

const course = (endMs: number, endedBySecond: readonly number[], more: Partial<Course> = {}): Course => ({
  ...{ endMs, endedBySecond, requests: 100, retries: 0, throttled: 0, dead: 0 },
  ...more,
})

describe('comparing a real crawl with its simulation', () => {
  it('says when a share of the pages had ended', () => {
    expect(reached(course(4_000, [10, 10, 10, 10]), 0.5)).toBe(2_000)
    expect(reached(course(4_000, [0, 0, 40, 0]), 0.5)).toBe(2_500)
    expect(reached(course(3_900, [39, 0, 0, 1]), 1), 'not after the end').toBe(3_900)
    expect(reached(course(0, []), 0.5)).toBe(0)
  })

  it('allows a tenth of the end time, and a tenth of the whole time at every point of the curve', () => {
    const missed = (simulated: Course) =>
      compare(course(100_000, Array(100).fill(10)), simulated).flatMap(({ name, holds }) => (holds ? [] : [name]))
    expect(missed(course(109_000, Array(109).fill(10)))).toEqual([])
    expect(missed(course(112_000, Array(112).fill(10)))).toContain('end')
    const late = [...Array(50).fill(2), ...Array(50).fill(18)]
    expect(missed(course(100_000, late)), 'the same end, another curve').toEqual([
      '10 % of the pages',
      '25 % of the pages',
      '50 % of the pages',
      '75 % of the pages',
    ])
  })

  it('says on one line how far apart the ends are', () => {
    const rows = compare(course(200_100, Array(200).fill(10)), course(198_000, Array(198).fill(10)))
    expect(verdict(rows)).toBe('end: real 200.1 s, simulated 198.0 s, −1.0 % (bar ±10 %)')
  })

  it('counts of rare things may differ by chance, others may not', () => {
    const missed = (retries: number, simulated: number) =>
      compare(course(1_000, [10], { retries }), course(1_000, [10], { retries: simulated })).some(({ holds }) => !holds)
    expect(missed(3, 7)).toBe(false)
    expect(missed(0, 3)).toBe(false)
    expect(missed(1_000, 1_090)).toBe(false)
    expect(missed(1_000, 1_300)).toBe(true)
    expect(missed(0, 100)).toBe(true)
  })
})

describe('the crawls of `npm run reality`', () => {
  it('every short one is simulated to its end, and takes what its title says', () => {
    for (const one of CASES) {
      const input = simulatedInput(one, true)
      const { endedBySecond, endMs } = runSimulated(input)
      const ended = endedBySecond.reduce((sum, count) => sum + count, 0)
      expect(ended, one.name).toBe(input.urls)
      expect(endMs, `${one.name}: long enough to be measured, short enough to be tried`).toBeGreaterThan(5_000)
      expect(endMs, one.name).toBeLessThan(90_000)
    }
  })
})

it('draws both curves over the same time', () => {
  const real = course(60_000, Array(60).fill(100))
  const simulated = course(30_000, Array(30).fill(200))
  const [one = '', other = '', scale = ''] = drawText(real, simulated, 60).split('\n')
  expect(one).toBe(`  real       ${'▄'.repeat(60)}`)
  expect(other).toBe(`  simulated  ${'█'.repeat(30)}${' '.repeat(30)}`)
  expect(scale.trim()).toBe('0 … 60 s, up to 200 pages/s')
  const svg = drawSvg([{ title: 'pace', real, simulated }])
  expect(svg).toContain('<polyline')
  expect(svg).not.toMatch(/NaN|undefined/)
})

it('gives up on a silent host when a worker would: at the timeout of the headers, not of the whole response', () => {
  expect(profileOf({}).timeoutMs).toBe(20_000)
})
