import { describe, expect, it } from 'vitest'
import { checkAccess } from '../../../src/cli/checks/access-check.js'
import type { AccessEntry } from '../../../src/demo/access-log.js'

const entry = (t: number, end: number | null, path = '/', run = 1): AccessEntry => ({
  ...{ t, end, path, run, status: 200, bytes: 1, host: 'h', method: 'GET', n: 1, conn: 1, ua: 'Shoal' },
})

describe('politeness from the side of the site', () => {
  it('finds the smallest gap, the most at once and what robots.txt forbids', () => {
    const log = [entry(0, 50), entry(30, 60), entry(40, 41), entry(100, 101, '/private/x')]
    expect(checkAccess(log, ['/private/'])).toEqual({
      requests: 4,
      smallestGapMs: 10,
      medianGapMs: 30,
      mostAtOnce: 3,
      forbidden: 1,
    })
  })

  it('does not measure from one run of the site to the next', () => {
    expect(checkAccess([entry(0, null), entry(1, 5, '/', 2)], [])).toMatchObject({ smallestGapMs: null, mostAtOnce: 1 })
  })
})
