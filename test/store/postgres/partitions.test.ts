import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expired, PARTITION_UNITS, type PartitionInfo } from '../../../src/store/maintenance.js'
import { aheadOf, missingRange, partitionName, type Range, rangeOf } from '../../../src/store/postgres/partitions.js'

const at = (text: string) => Date.parse(`${text}T12:00:00Z`)
const days = ({ from, to }: Range) => [from, to].map((ms) => new Date(ms).toISOString().slice(0, 10))

describe('time partitions', () => {
  it.each([
    ['day', '2026-02-28', ['2026-02-28', '2026-03-01']],
    ['week', '2026-11-15', ['2026-11-09', '2026-11-16']],
    ['week', '2026-11-16', ['2026-11-16', '2026-11-23']],
    ['month', '2026-12-31', ['2026-12-01', '2027-01-01']],
    ['month', '1970-01-01', ['1970-01-01', '1970-02-01']],
  ] as const)('a %s that holds %s', (unit, day, range) => {
    expect(days(rangeOf(at(day), unit))).toEqual(range)
  })

  it('leaves to older partitions of another length what is theirs', () => {
    const october = rangeOf(at('2026-10-10'), 'month')
    expect(missingRange(at('2026-10-31'), 'week', [october])).toBeNull()
    expect(days(missingRange(at('2026-11-01'), 'week', [october]) as Range)).toEqual(['2026-11-01', '2026-11-02'])
    const december = rangeOf(at('2026-12-10'), 'month')
    const cut = missingRange(at('2026-11-30'), 'week', [october, december]) as Range
    expect(days(cut)).toEqual(['2026-11-30', '2026-12-01'])
    expect(partitionName('fetches', cut)).toBe('fetches_20261130')
  })

  it('gives every moment exactly one place, whatever lengths were chosen over time', () => {
    const moment = fc.integer({ min: at('2020-01-01'), max: at('2030-01-01') })
    fc.assert(
      fc.property(fc.array(fc.tuple(moment, fc.constantFrom(...PARTITION_UNITS)), { maxLength: 40 }), (steps) => {
        const made: Range[] = []
        for (const [when, unit] of steps) {
          const range = missingRange(when, unit, made)
          if (range !== null) made.push(range)
          expect(made.filter(({ from, to }) => from <= when && when < to)).toHaveLength(1)
        }
        made.sort((a, b) => a.from - b.from)
        for (const [index, { to }] of made.entries()) expect(to).toBeLessThanOrEqual(made[index + 1]?.from ?? to)
        expect(new Set(made.map((range) => partitionName('fetches', range))).size).toBe(made.length)
      }),
    )
  })

  it('is made ahead of the clock', () => {
    expect(aheadOf(at('2026-11-15'), 'month').map((ms) => new Date(ms).toISOString().slice(0, 7))).toEqual([
      '2026-11',
      '2026-12',
      '2027-01',
      '2027-02',
    ])
  })

  it('goes when its youngest row is old enough, and when it was taken out before', () => {
    const partition = (month: string, table: PartitionInfo['table'] = 'fetches'): PartitionInfo => ({
      ...{ table, name: `${table}_${month}`, id: month, rows: 1, bytes: 1, retired: false },
      range: rangeOf(at(`${month}-15`), 'month'),
    })
    const all = [partition('2026-07'), partition('2026-08'), partition('2026-07', 'record_versions')]
    const out: PartitionInfo = { ...partition('2025-01'), range: null, retired: true }
    const notOurs: PartitionInfo = { ...out, retired: false }
    const rule = { unit: 'month', fetchesMs: 90 * 86_400_000, versionsMs: null, archive: null } as const
    const now = Date.parse('2026-10-30T00:00:00Z')
    expect(expired([...all, out, notOurs], rule, now)).toEqual([all[0], out])
    expect(expired(all, { ...rule, fetchesMs: null }, now)).toEqual([])
    expect(expired(all, rule, now - 1 - 89 * 86_400_000)).toEqual([])
  })
})
