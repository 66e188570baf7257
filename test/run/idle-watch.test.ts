import { describe, expect, it } from 'vitest'
import { idleWatch, type SpiderWork } from '../../src/run/idle-watch.js'

const NONE: SpiderWork = { running: 0, pending: 0, seen: 0 }
const EMPTY: SpiderWork = { running: 1, pending: 0, seen: 10 }
const BUSY: SpiderWork = { running: 1, pending: 3, seen: 10 }
const plain = { name: 'books', feed: null }
const fed = { name: 'books', feed: { kind: 'list', key: null, group: 'shoal', idleMs: 60_000 } } as const
const endless = { name: 'books', feed: { ...fed.feed, idleMs: null } }

/** When the worker leaves, in seconds, if the work changes at these times; null: not within five minutes. */
function leavesAt(
  spider: typeof plain | typeof fed | typeof endless,
  ...changes: [second: number, work: SpiderWork][]
) {
  const isIdle = idleWatch([spider], 0)
  for (let second = 0; second <= 300; second++) {
    const [, work] = changes.findLast(([since]) => since <= second) ?? [0, NONE]
    if (isIdle(() => work, second * 1_000)) return second
  }
  return null
}

describe('a worker that exits when idle', () => {
  it('leaves at once when there is no crawl, and five seconds after the last work of one that is still open', () => {
    expect(leavesAt(plain, [0, NONE])).toBe(0)
    expect(leavesAt(plain, [0, BUSY], [20, NONE])).toBe(20)
    // The last check that saw work was at 19 s.
    expect(leavesAt(plain, [0, BUSY], [20, EMPTY])).toBe(24)
    expect(leavesAt(plain, [0, BUSY])).toBe(null)
  })

  it('waits as long for URLs as feed.idleTimeout says, and for the crawl to end by it', () => {
    expect(leavesAt(fed, [0, NONE])).toBe(60)
    expect(leavesAt(fed, [0, EMPTY], [61, NONE])).toBe(61)
    expect(leavesAt(fed, [0, BUSY], [20, EMPTY], [80, NONE])).toBe(80)
    // Another crawl of the spider, which nothing ends.
    expect(leavesAt(fed, [0, EMPTY])).toBe(65)
  })

  it('starts to wait anew after work that came and went between two checks', () => {
    expect(leavesAt(fed, [0, EMPTY], [30, { ...EMPTY, seen: 12 }])).toBe(30 + 65)
  })

  it('leaves a crawl that is fed without an idle timeout after five seconds', () => {
    expect(leavesAt(endless, [0, EMPTY])).toBe(5)
  })

  it('waits for the slowest of its spiders', () => {
    const isIdle = idleWatch([plain, { ...fed, name: 'prices' }], 0)
    expect(isIdle(() => NONE, 59_000)).toBe(false)
    expect(isIdle((spider) => (spider === 'prices' ? NONE : BUSY), 61_000)).toBe(false)
    expect(isIdle(() => NONE, 62_000)).toBe(true)
  })
})
