import { describe, expect, it } from 'vitest'
import {
  afterLease,
  type Contest,
  LEAD_KEPT_MS,
  type LeasedLinks,
  NO_TURNS,
  roomFor,
  TURN_KEPT_MS,
  TURN_LINE_MS,
  TURN_MS,
  TURN_POLL_MS,
  USAGE_HALVED_MS,
  usedBy,
} from '../../src/frontier/turns.js'

const NOW = 1_000_000

/** A worker `me` that wants 64 pages and has none. */
function contestOf(changes: Partial<Contest>): Contest {
  return {
    ...{ worker: 'me', now: NOW, busy: 0, want: 64, own: null, turns: NO_TURNS, lead: null, next: null },
    ...changes,
  }
}

function leasedLinks(changes: Partial<LeasedLinks> = {}): LeasedLinks {
  return { count: 0, gapsMs: 0, short: true, idleMs: 1_000, ...changes }
}

const usage = (slotMs: number, busy: number, at = NOW) => ({ slotMs, busy, at })

describe('what a worker used', () => {
  it('is nothing before it has asked', () => expect(usedBy(null, NOW)).toBe(0))

  it('grows with the pages that it fetches', () => {
    expect(usedBy(usage(0, 10, NOW - 100), NOW)).toBeCloseTo(1_000 / 1.02, 6)
  })

  it('counts half after a while without any', () => {
    expect(usedBy(usage(800, 0, NOW - USAGE_HALVED_MS), NOW)).toBe(400)
  })

  it('settles at the pages it has all the time', () => {
    let used = usage(0, 4, NOW)
    for (let at = NOW; at < NOW + 60_000; at += 10) used = usage(usedBy(used, at), 4, at)
    expect(used.slotMs / USAGE_HALVED_MS).toBeCloseTo(4, 1)
  })

  it('does not shrink when the clock steps back', () => {
    expect(usedBy(usage(800, 3, NOW + 3_600_000), NOW)).toBe(800)
  })
})

describe('how many links a worker may lease', () => {
  const theirTurn = { lead: 'me', next: 'other' }

  it('is all that it wants when it is nobody’s turn', () => {
    expect(roomFor(contestOf({ own: usage(9_000, 20) }))).toBe(64)
  })

  it('is what makes it even with the worker whose turn it is', () => {
    const contest = contestOf({ own: usage(9_000, 20), turns: theirTurn, next: usage(0, 0) })
    expect(roomFor(contest)).toBe(10)
    expect(roomFor({ ...contest, busy: 7 })).toBe(3)
    expect(roomFor({ ...contest, busy: 15 })).toBe(0)
  })

  it('is none of a single slot', () => {
    expect(roomFor(contestOf({ own: usage(1_500, 1), turns: theirTurn, next: usage(0, 0) }))).toBe(0)
  })

  it('is all for a worker that used less than the one whose turn it is', () => {
    expect(roomFor(contestOf({ own: usage(10, 1), turns: theirTurn, next: usage(20, 0) }))).toBe(64)
  })

  it('is all when the worker whose turn it is has not asked for a while, or is forgotten', () => {
    const contest = contestOf({ own: usage(9_000, 1), turns: theirTurn, next: usage(0, 0, NOW - TURN_KEPT_MS) })
    expect(roomFor(contest)).toBe(0)
    expect(roomFor({ ...contest, now: NOW + 1 })).toBe(64)
    expect(roomFor({ ...contest, next: null })).toBe(64)
  })

  it('is as many as the lead has for the worker whose turn it is, and one at least', () => {
    const mine = contestOf({ turns: { lead: 'other', next: 'me' }, lead: usage(9_000, 12) })
    expect(roomFor({ ...mine, busy: 2 })).toBe(10)
    expect(roomFor({ ...mine, lead: usage(9_000, 0) })).toBe(1)
    expect(roomFor({ ...mine, want: 0 })).toBe(0)
    expect(roomFor({ ...mine, lead: null })).toBe(64)
  })
})

describe('after a lease call', () => {
  const behind = contestOf({ turns: { lead: 'other', next: null }, lead: usage(5 * TURN_MS, 20) })

  it('the first worker leads', () => {
    expect(afterLease(contestOf({}), leasedLinks({ count: 20 }))).toEqual({
      usage: usage(0, 20),
      turns: { lead: 'me', next: null },
      idleMs: 1_000,
    })
  })

  it('the gaps of hosts with a delay count', () => {
    const { usage: mine } = afterLease(behind, leasedLinks({ count: 2, gapsMs: 500, short: false }))
    expect(mine).toEqual(usage(1_000, 2))
  })

  it('a worker that used more becomes the lead, and one that has not asked for long is none', () => {
    expect(afterLease({ ...behind, own: usage(6 * TURN_MS, 1) }, leasedLinks()).turns.lead).toBe('me')
    expect(afterLease(behind, leasedLinks()).turns.lead).toBe('other')
    const gone = { ...behind, lead: usage(5 * TURN_MS, 20, NOW - LEAD_KEPT_MS - 1) }
    expect(afterLease(gone, leasedLinks()).turns.lead).toBe('me')
  })

  it('it is the turn of a worker that is behind and got too little, and of no other', () => {
    expect(afterLease(behind, leasedLinks())).toMatchObject({ turns: { next: 'me' }, idleMs: TURN_POLL_MS })
    expect(afterLease(behind, leasedLinks({ short: false }))).toMatchObject({ turns: { next: null }, idleMs: 1_000 })
    expect(afterLease(behind, leasedLinks({ count: 20 }))).toMatchObject({ turns: { next: null }, idleMs: 1_000 })
  })

  it('a worker that is not behind yet asks again when it will be', () => {
    const even = { ...behind, lead: usage(0, 20) }
    expect(afterLease(even, leasedLinks())).toMatchObject({ turns: { next: null }, idleMs: 50 })
  })

  it('the turn ends when the worker has caught up, not as soon as it is no longer behind by a turn', () => {
    const mine = { ...behind, turns: { lead: 'other', next: 'me' } }
    expect(afterLease({ ...mine, own: usage(5 * TURN_MS - 1, 0) }, leasedLinks()).turns.next).toBe('me')
    expect(afterLease({ ...mine, own: usage(5 * TURN_MS, 0) }, leasedLinks()).turns.next).toBeNull()
  })

  it('of two that are behind the one that used less is next; the other asks less often the less there is to get', () => {
    const both = { ...behind, turns: { lead: 'other', next: 'third' } }
    const own = usage(10, 0)
    expect(afterLease({ ...both, own, next: usage(20, 0) }, leasedLinks()).turns.next).toBe('me')
    const second = afterLease({ ...both, own, next: usage(5, 0) }, leasedLinks())
    expect(second).toMatchObject({ turns: { next: 'third' }, idleMs: TURN_POLL_MS })
    const slot = afterLease({ ...both, own, next: usage(5, 0), lead: usage(5 * TURN_MS, 1) }, leasedLinks())
    expect(slot.idleMs).toBe(TURN_LINE_MS)
  })

  it('the next worker asks shortly before a time that is known, when the lead has nothing under way', () => {
    const paced = { ...behind, lead: usage(5 * TURN_MS, 0) }
    expect(afterLease(paced, leasedLinks({ idleMs: 250 })).idleMs).toBe(250 - TURN_POLL_MS)
    expect(afterLease(paced, leasedLinks({ idleMs: 20 })).idleMs).toBe(20)
    expect(afterLease(paced, leasedLinks({ idleMs: 1_000 })).idleMs).toBe(TURN_POLL_MS)
  })

  it('a worker that left links to another asks again when they are nobody’s any more', () => {
    const left = contestOf({
      own: usage(9_000, 1),
      turns: { lead: 'me', next: 'other' },
      next: usage(0, 0, NOW - 20),
    })
    const reply = afterLease(left, leasedLinks({ idleMs: 1 }))
    expect(reply).toMatchObject({ turns: { lead: 'me', next: 'other' }, idleMs: TURN_KEPT_MS - 20 })
    expect(afterLease(left, leasedLinks({ idleMs: 700 })).idleMs).toBe(700)
  })
})
