import { describe, expect, it } from 'vitest'
import { resolveSpider } from '../../src/spider/resolve.js'
import { compileSchedule } from '../../src/spider/schedule.js'

const at = (text: string) => Date.parse(text)
const turns = (cron: string, timezone: string, from: string, many: number) => {
  const schedule = compileSchedule({ cron, timezone, overlap: 'skip' })
  const found: string[] = []
  for (let turn = schedule.next(at(from)); turn !== null && found.length < many; turn = schedule.next(turn)) {
    // What lies ahead and what lies behind are the same turns.
    expect(schedule.last(turn)).toBe(turn)
    expect(schedule.last(turn + 999)).toBe(turn)
    found.push(new Date(turn).toISOString().slice(0, 16))
  }
  return found
}

describe('a schedule', () => {
  it('has turns in its time zone', () => {
    expect(turns('0 3 * * *', 'UTC', '2026-01-01T03:00:00Z', 2)).toEqual(['2026-01-02T03:00', '2026-01-03T03:00'])
    expect(turns('0 3 * * *', 'Asia/Tokyo', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-01T18:00'])
    expect(turns('@hourly', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-01T01:00'])
  })

  it('has one turn a day when clocks are put forward or back, also at an hour that is left out or comes twice', () => {
    const spring = turns('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)
    expect(spring).toEqual(['2026-03-29T01:00', '2026-03-30T00:30'])
    const autumn = turns('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)
    expect(autumn).toEqual(['2026-10-25T00:30', '2026-10-26T01:30'])
  })

  it('of every half hour has one every half hour, whatever clocks do', () => {
    const gaps = turns('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:00:00Z', 8).map((turn) => at(`${turn}Z`))
    expect(new Set(gaps.slice(1).map((turn, i) => turn - (gaps[i] ?? 0)))).toEqual(new Set([1_800_000]))
  })

  it.each([
    ['hello', 'UTC', 'five, six'],
    ['61 * * * *', 'UTC', 'minute: 61'],
    ['0 0 30 2 *', 'UTC', 'never runs'],
    ['0 3 * * *', 'Mars/Base', 'schedule.timezone'],
  ])('refuses %s in %s', (cron, timezone, message) => {
    expect(() => compileSchedule({ cron, timezone, overlap: 'skip' })).toThrow(message)
  })

  it('is an option of a spider, which must be able to begin again', () => {
    const spider = { name: 's', start: ['https://a.example/'], routes: { page: { match: '**' as const } } }
    expect(resolveSpider({ ...spider, schedule: '0 3 * * *' }, 'h').schedule).toMatchObject({
      ...{ cron: '0 3 * * *', timezone: 'UTC', overlap: 'skip' },
    })
    expect(() => resolveSpider({ ...spider, schedule: '@daily', dedupe: { scope: 'spider' } }, 'h')).toThrow('dedupe')
    expect(() => resolveSpider({ ...spider, schedule: '@daily', feed: true }, 'h')).toThrow('idleTimeout')
    expect(() => resolveSpider({ ...spider, schedule: { cron: '@daily', overlap: 'both' as 'skip' } }, 'h')).toThrow(
      'overlap',
    )
  })
})
