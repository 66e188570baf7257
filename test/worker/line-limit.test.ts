import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { createLog } from '../../src/log.js'
import { LineLimit } from '../../src/worker/line-limit.js'

function limited() {
  const clock = new ManualClock()
  const lines: Record<string, unknown>[] = []
  const log = createLog('warn', clock, (line) => lines.push(JSON.parse(line) as Record<string, unknown>))
  const limit = new LineLimit({ clock, log })
  const accepted = (line: string, times: number) =>
    Array.from({ length: times }).filter(() => limit.accepts(line)).length
  return { clock, lines, limit, accepted }
}

it('accepts so many lines a second, and says how many were dropped', () => {
  const { clock, lines, accepted } = limited()
  expect(accepted('x', 1_000_000)).toBe(200)
  expect(lines).toEqual([])
  clock.advance(1_000)
  expect(lines).toMatchObject([
    {
      event: 'spider.output',
      level: 'warn',
      dropped: 999_800,
      message: '999800 more lines were dropped: too many in one second',
    },
  ])
  expect(accepted('x', 1_000)).toBe(200)
})

it('accepts so many characters a second', () => {
  const { accepted } = limited()
  expect(accepted('x'.repeat(4_000), 200)).toBe(25)
})

it('reports what was dropped when the worker ends, once', () => {
  const { clock, lines, limit, accepted } = limited()
  accepted('x', 201)
  limit.report()
  clock.advance(5_000)
  expect(lines).toMatchObject([{ dropped: 1, message: '1 more line was dropped: too many in one second' }])
})

it('reports nothing if nothing was dropped', () => {
  const { clock, lines, limit, accepted } = limited()
  accepted('x', 200)
  limit.report()
  clock.advance(5_000)
  expect(lines).toEqual([])
})
