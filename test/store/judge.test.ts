import { describe, expect, it } from 'vitest'
import { compareLease, judge } from '../../src/store/judge.js'

const row = { gen: 2, epoch: '1000', data: '"old"', identity: null, at: 10_000 }

describe('judge', () => {
  it.each([
    ['a row that is not there', undefined, {}, 0, 'written'],
    ['another content', row, { epoch: '1001' }, 0, 'written'],
    ['the same content', row, { epoch: '1001', data: '"old"' }, 0, 'unchanged'],
    ['the same data of another entity', row, { epoch: '1001', data: '"old"', identity: 'x' }, 0, 'written'],
    ['the same content in the freshness window', row, { epoch: '1001', data: '"old"', at: 10_001 }, 5000, 'unchanged'],
    ['another content in the freshness window', row, { epoch: '1001', at: 14_999 }, 5000, 'fresh'],
    ['another content at its end', row, { epoch: '1001', at: 15_000 }, 5000, 'written'],
    ['another content of the same lease in the window', row, { at: 10_001 }, 5000, 'written'],
    ['a clock that went back', row, { epoch: '1001', at: 5000 }, 1, 'fresh'],
    ['a clock that went back, without a window', row, { epoch: '1001', at: 5000 }, 0, 'written'],
    ['an older epoch', row, { epoch: '999' }, 0, 'fenced'],
    ['an older epoch with the same content', row, { epoch: '999', data: '"old"' }, 0, 'fenced'],
    ['an older generation with a larger epoch', row, { gen: 1, epoch: '5000' }, 0, 'fenced'],
    ['a newer generation with a smaller epoch', row, { gen: 3, epoch: '1' }, 0, 'written'],
  ] as const)('%s', (_what, existing, incoming, freshMs, status) => {
    expect(judge(existing, { ...row, data: '"new"', at: 20_000, ...incoming }, freshMs)).toBe(status)
  })

  it('orders leases by generation, then by the epoch as a number', () => {
    const leases = [
      { gen: 1, epoch: '9' },
      { gen: 1, epoch: '10' },
      { gen: 1, epoch: '9223372036854775807' },
      { gen: 2, epoch: '1' },
      { gen: 10, epoch: '0' },
    ]
    for (const [i, a] of leases.entries()) {
      for (const [j, b] of leases.entries()) expect(Math.sign(compareLease(a, b))).toBe(Math.sign(i - j))
    }
  })
})
