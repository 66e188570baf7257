import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/clock.js'
import { SLOT_LIMITS } from '../../src/observe/vitals/vitals.js'
import { type Capacity, nextCapacity, type WorkerLoad } from '../../src/worker/capacity.js'
import { autoscaledPool } from './autoscaled-pool.js'
import { simulate } from './simulated-worker.js'

/** A worker whose slots are all in use, with an event loop that has little to do. */
const load: WorkerLoad = {
  ...{ most: 64, ms: 250, loopBusy: 0.1, responses: 100, waitedMs: 0, unchangedMs: 250, seen: 100 },
  ...{ inUse: 8, mostInUse: 8, filled: true, memory: 0, bodies: 0, outbox: 0 },
}
const now: Capacity = { slots: 8, because: 'growing' }

describe('one step', () => {
  it('doubles while all slots are in use and the loop has room, up to the ceiling', () => {
    expect(nextCapacity(now, load)).toEqual({ slots: 16, because: 'growing' })
    expect(nextCapacity(now, { ...load, most: 12 })).toEqual({ slots: 12, because: 'most' })
    expect(nextCapacity({ slots: 64, because: 'most' }, { ...load, mostInUse: 64 })).toEqual({
      ...{ slots: 64, because: 'most' },
    })
  })

  it('goes no further than what fills the loop', () => {
    expect(nextCapacity(now, { ...load, loopBusy: 0.72 }).slots).toBe(10)
  })

  it.each([
    ['the queue had fewer links than slots', { filled: false }, 'work'],
    ['slots were free all the time', { mostInUse: 7 }, 'work'],
    ['nothing is known yet about the cost of a page', { seen: 3, responses: 3 }, 'growing'],
    ['two pages wait for the loop', { loopBusy: 1, waitedMs: 500, responses: 10 }, 'cpu'],
    ['memory is nearly full', { memory: 0.95 }, 'memory'],
    ['half of the bodies that may wait do', { bodies: 0.5 }, 'bodies'],
    ['half of the commits that may wait do', { outbox: 0.5 }, 'outbox'],
  ] as const)('changes nothing when %s', (_, change, because) => {
    expect(nextCapacity(now, { ...load, ...change })).toEqual({ slots: 8, because })
  })

  it('grows without a response when pages are slow and the loop is idle', () => {
    const blind = { ...load, seen: 0, responses: 0, unchangedMs: 500 }
    expect(nextCapacity(now, blind).slots).toBe(16)
    expect(nextCapacity(now, { ...blind, loopBusy: 0.6 }).slots).toBe(8)
  })

  it('does not take a full loop without a response for one with room', () => {
    const silent = { ...load, loopBusy: 1, responses: 0, seen: 100, unchangedMs: 60_000 }
    expect(nextCapacity({ slots: 8, because: 'cpu' }, silent).slots).toBe(8)
  })

  it('keeps as many as wait for 100 ms when pages are short', () => {
    const short = { ...load, loopBusy: 1, responses: 250, waitedMs: 250 * 30 }
    expect(nextCapacity(now, short).slots).toBeGreaterThan(8)
  })

  it.each([
    ['pages wait for the loop', { loopBusy: 1, responses: 3, waitedMs: 250 * 6 }, 4, 'cpu'],
    ['memory is full', { memory: 1.05 }, 4, 'memory'],
    ['too many bytes of bodies wait', { bodies: 1.2 }, 4, 'bodies'],
    ['too many commits wait', { outbox: 1.1 }, 4, 'outbox'],
  ] as const)('takes slots away when %s', (_, change, slots, because) => {
    expect(nextCapacity(now, { ...load, ...change })).toEqual({ slots, because })
  })

  it('waits until the last step down has taken effect', () => {
    expect(nextCapacity(now, { ...load, memory: 1.05, inUse: 9, mostInUse: 16 }).slots).toBe(8)
  })

  it('stays between 1 and the ceiling and at most doubles, whatever is measured', () => {
    const share = fc.double({ min: 0, max: 2, noNaN: true })
    const count = fc.nat(1_000)
    const anyLoad = fc.record({
      ...{ most: fc.integer({ min: 1, max: 1_000 }), ms: fc.double({ min: 0, max: 1e5, noNaN: true }) },
      ...{ loopBusy: share, responses: count, waitedMs: fc.double({ min: 0, max: 1e7, noNaN: true }), seen: count },
      ...{ unchangedMs: count, inUse: count, mostInUse: count, filled: fc.boolean() },
      ...{ memory: share, bodies: share, outbox: share },
    })
    fc.assert(
      fc.property(anyLoad, fc.nat(999), fc.constantFrom(...SLOT_LIMITS), (any, below, because) => {
        const slots = 1 + (below % any.most)
        const next = nextCapacity({ slots, because }, any)
        expect(Number.isInteger(next.slots)).toBe(true)
        expect(next.slots).toBeGreaterThanOrEqual(1)
        expect(next.slots).toBeLessThanOrEqual(Math.min(any.most, 2 * slots))
        if (next.slots > slots)
          expect([any.filled, Math.max(any.memory, any.bodies, any.outbox) < 1]).toEqual([true, true])
      }),
      { numRuns: 2_000 },
    )
  })
})

const random = () => seededRandom(7)

describe('a minute of a simulated worker', () => {
  it.each([
    { heavyMs: 50, every: 4, least: 0.9 },
    { heavyMs: 100, every: 10, least: 0.8 },
    { heavyMs: 200, every: 50, least: 0.5 },
  ])(
    'fills the loop although one page in $every needs $heavyMs ms of CPU and the others wait behind it',
    ({ heavyMs, every, least }) => {
      // The cost of a page is asked for twice, for its wait and for its CPU.
      let asked = 0
      const costAt = () => ({ waitMs: 300, cpuMs: asked++ % (2 * every) < 2 ? heavyMs : 1 })
      const { busyBySecond } = simulate({ seconds: 60, costAt, random: random() })
      const settled = busyBySecond.slice(5)
      expect(settled.reduce((sum, busy) => sum + busy, 0) / settled.length).toBeGreaterThan(least)
    },
  )

  it.each([
    { cpuMs: 100, waitMs: 1, from: 2, to: 4 },
    { cpuMs: 100, waitMs: 100, from: 2, to: 4 },
    { cpuMs: 100, waitMs: 300, from: 4, to: 6 },
    { cpuMs: 100, waitMs: 1_000, from: 10, to: 14 },
    { cpuMs: 50, waitMs: 5, from: 2, to: 4 },
    { cpuMs: 50, waitMs: 300, from: 6, to: 9 },
    { cpuMs: 20, waitMs: 100, from: 6, to: 10 },
    { cpuMs: 1_000, waitMs: 1, from: 2, to: 4 },
  ])(
    'settles a little above 1 + $waitMs ÷ $cpuMs slots within seconds, stays there and keeps the loop busy',
    (cost) => {
      const { slotsAt, busyBySecond, changes } = simulate({ seconds: 60, costAt: () => cost, random: random() })
      const settled = Array.from({ length: 55 }, (_, second) => slotsAt((5 + second) * 1_000))
      expect(Math.min(...settled)).toBeGreaterThanOrEqual(cost.from)
      expect(Math.max(...settled)).toBeLessThanOrEqual(cost.to)
      const busy = busyBySecond.slice(5)
      expect(busy.reduce((all, one) => all + one, 0) / busy.length).toBeGreaterThan(0.9)
      // Once in five seconds at most.
      expect(changes.filter(({ atMs }) => atMs > 5_000).length).toBeLessThanOrEqual(24)
    },
  )

  it.each([
    { cpuMs: 0.3, waitMs: 2, withinMs: 100 },
    { cpuMs: 1, waitMs: 300, withinMs: 1_500 },
    { cpuMs: 1, waitMs: 3_000, withinMs: 2_500 },
  ])('reaches the ceiling within $withinMs ms for pages of $waitMs ms, and stays there', (cost) => {
    const { slotsAt, changes } = simulate({ seconds: 60, costAt: () => cost, random: random() })
    expect(slotsAt(cost.withinMs)).toBe(64)
    expect(changes.at(-1)?.atMs).toBeLessThanOrEqual(cost.withinMs)
  })

  it('follows a site that becomes fast and slow again', () => {
    const costAt = (ms: number) => ({ cpuMs: 20, waitMs: ms < 20_000 || ms >= 40_000 ? 2_000 : 5 })
    const { slotsAt, busyBySecond } = simulate({ seconds: 60, costAt, random: random() })
    expect(slotsAt(19_000)).toBe(64)
    // The pages in flight when it became fast have arrived after two seconds, all at once.
    expect(slotsAt(26_000)).toBeLessThanOrEqual(12)
    expect(busyBySecond[27]).toBeGreaterThan(0.9)
    expect(slotsAt(45_000)).toBe(64)
  })

  it('grows no further than there is work, and grows at once when there is more', () => {
    const { changes } = simulate({ seconds: 5, costAt: () => ({ cpuMs: 1, waitMs: 100 }), available: 3 })
    expect(changes.at(-1)).toMatchObject({ slots: 4, because: 'work' })
  })

  it('halves while memory is full, and recovers', () => {
    const memoryAt = (ms: number) => (ms > 10_000 && ms < 12_000 ? 0.95 : 0.3)
    const { slotsAt, changes } = simulate({ seconds: 30, costAt: () => ({ cpuMs: 1, waitMs: 100 }), memoryAt })
    expect(changes.find(({ because }) => because === 'memory')?.slots).toBe(32)
    expect(slotsAt(12_000)).toBeLessThanOrEqual(2)
    expect(slotsAt(15_000)).toBe(64)
  })

  it('fetches as fast as a slow store commits', () => {
    const given = { seconds: 60, costAt: () => ({ cpuMs: 1, waitMs: 100 }), commitsPerSecond: 100 }
    const { pages, changes, slotsAt } = simulate(given)
    expect(pages).toBeGreaterThan(5_800)
    expect(pages).toBeLessThan(6_000 + 256 + 64)
    expect(changes.some(({ because }) => because === 'outbox')).toBe(true)
    expect(slotsAt(50_000)).toBeLessThanOrEqual(32)
  })

  it('settles three times as fast as the autoscaled pool of Crawlee', () => {
    const settledAt = (sizes: readonly { atMs: number; slots: number }[]) =>
      sizes.find(({ slots }) => slots >= 64)?.atMs
    const ours = settledAt(simulate({ seconds: 60, costAt: () => ({ cpuMs: 1, waitMs: 300 }) }).changes)
    const theirs = settledAt(autoscaledPool({ most: 64, seconds: 1_000, isOverloaded: () => false }))
    expect(theirs).toBeGreaterThan(3 * (ours ?? Number.POSITIVE_INFINITY))
  })
})
