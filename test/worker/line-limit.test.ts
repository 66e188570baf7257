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

it('accepts many lines at once and then so many a second, and says how many were dropped', () => {
  const { clock, lines, accepted } = limited()
  expect(accepted('x', 1_000_000)).toBe(5_000)
  expect(lines).toEqual([])
  clock.advance(1_000)
  expect(lines).toMatchObject([
    {
      event: 'spider.output',
      level: 'warn',
      dropped: 995_000,
      message: '995000 more lines were dropped: spider code logs too much',
    },
  ])
  expect(accepted('x', 1_000)).toBe(200)
  clock.advance(3_600_000)
  expect(accepted('x', 1_000_000)).toBe(5_000)
})

it('accepts many characters at once, and then so many a second', () => {
  const { clock, accepted } = limited()
  expect(accepted('x'.repeat(4_000), 1_000)).toBe(250)
  clock.advance(1_000)
  expect(accepted('x'.repeat(4_000), 1_000)).toBe(25)
})

it('reports what was dropped when the worker ends, once', () => {
  const { clock, lines, limit, accepted } = limited()
  accepted('x', 5_001)
  limit.report()
  clock.advance(5_000)
  expect(lines).toMatchObject([{ dropped: 1, message: '1 more line was dropped: spider code logs too much' }])
})

it('reports nothing if nothing was dropped', () => {
  const { clock, lines, limit, accepted } = limited()
  accepted('x', 5_000)
  limit.report()
  clock.advance(5_000)
  expect(lines).toEqual([])
})
