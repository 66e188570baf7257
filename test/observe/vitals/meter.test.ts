import { describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../../src/clock.js'
import { createMeter, NOTHING } from '../../../src/observe/vitals/meter.js'
import { SPENT, STEPS } from '../../../src/observe/vitals/vitals.js'

function visit() {
  return { doing: NOTHING, since: 0 }
}

const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, one) => total + one, 0)

describe('the time of slots', () => {
  it('is booked by what they do, and adds up', () => {
    const clock = new ManualClock()
    const meter = createMeter(2, clock)
    const one = visit()
    const two = visit()
    clock.advance(10)
    meter.begin(one)
    clock.advance(5)
    meter.doing(one, 'pace')
    clock.advance(20)
    meter.doing(one, 'fetch')
    meter.begin(two)
    clock.advance(30)
    meter.doing(one, 'handler')
    clock.advance(7)
    meter.end(one)
    clock.advance(1)
    const { spent, busy } = meter.read([one, two])
    expect(spent).toEqual({
      idle: 10 * 2 + 25 + 1,
      pace: 20,
      proxy: 0,
      fetch: 5 + 30 + 38,
      handler: 7,
      store: 0,
      queue: 0,
    })
    expect(busy).toBe(1)
    expect(sum(Object.values(spent))).toBe(2 * 73)
  })

  it('goes to the queue for slots that it fills, and is idle for those that it has nothing for', () => {
    const clock = new ManualClock()
    const meter = createMeter(4, clock)
    meter.asked()
    clock.advance(100)
    meter.answered(1, 4)
    expect(meter.read([]).spent).toMatchObject({ queue: 100, idle: 300 })
    clock.advance(10)
    expect(meter.read([]).spent).toMatchObject({ queue: 100, idle: 340 })
  })

  it('goes to the queue when it is away, and between two full answers', () => {
    const clock = new ManualClock()
    const meter = createMeter(1, clock)
    meter.asked()
    clock.advance(50)
    meter.answered(null, 1)
    clock.advance(50)
    expect(meter.read([]).spent).toMatchObject({ queue: 100, idle: 0 })
    const one = visit()
    meter.asked()
    meter.answered(1, 1)
    meter.begin(one)
    meter.end(one)
    clock.advance(3)
    meter.asked()
    meter.answered(0, 1)
    clock.advance(3)
    expect(meter.read([]).spent).toMatchObject({ queue: 103, idle: 3 })
  })

  it('goes to what holds the worker up', () => {
    const clock = new ManualClock()
    const meter = createMeter(3, clock)
    meter.heldUpBy('store')
    clock.advance(4)
    meter.heldUpBy('idle')
    clock.advance(2)
    expect(meter.read([]).spent).toMatchObject({ store: 12, idle: 6 })
  })

  it('adds up to the slots there were, when their number changes', () => {
    const clock = new ManualClock()
    const meter = createMeter(2, clock)
    const visits = [visit(), visit()]
    for (const one of visits) meter.begin(one)
    clock.advance(10)
    meter.resize(4)
    clock.advance(10)
    expect(meter.read(visits)).toMatchObject({ slots: 4, busy: 2, spent: { fetch: 40, idle: 20 } })
    // A slot that was taken away counts until its visit ends.
    meter.resize(1)
    clock.advance(10)
    expect(meter.read(visits).spent).toMatchObject({ fetch: 60, idle: 20 })
    for (const one of visits) meter.end(one)
    clock.advance(10)
    expect(meter.read([]).spent).toMatchObject({ fetch: 60, idle: 30 })
  })

  it('never gets less, whatever is under way when it is read, and adds up through a thousand turns of chance', () => {
    const clock = new ManualClock()
    const slots = 8
    const meter = createMeter(slots, clock)
    const startedAt = clock.mono()
    const free = Array.from({ length: slots }, visit)
    const busy: ReturnType<typeof visit>[] = []
    let asking = false
    let seed = 7
    const dice = (most: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % most
    }
    let before = meter.read([]).spent
    for (let turn = 0; turn < 1_000; turn++) {
      clock.advance(dice(50))
      const one = dice(6)
      if (one === 0 && !asking) meter.asked()
      if (one === 0) asking = true
      if (one === 1 && asking) {
        const links = dice(free.length + 1)
        meter.answered(links, Math.max(1, free.length))
        asking = false
        for (const taken of free.splice(0, links)) {
          meter.begin(taken)
          busy.push(taken)
        }
      }
      const [first] = busy
      if (one === 2 && first !== undefined) meter.doing(first, SPENT[dice(SPENT.length)] ?? 'fetch')
      if (one === 3 && first !== undefined) {
        meter.end(first)
        meter.end(first)
        free.push(...busy.splice(0, 1))
      }
      if (one === 4 && !asking) meter.heldUpBy('store')
      if (one !== 5) continue
      const { spent } = meter.read(busy)
      for (const kind of SPENT) expect(spent[kind]).toBeGreaterThanOrEqual(before[kind])
      expect(sum(Object.values(spent))).toBeCloseTo(slots * (clock.mono() - startedAt), 3)
      before = spent
    }
  })
})

describe('counts', () => {
  it('go into the bucket whose upper end they do not pass', () => {
    const meter = createMeter(1, new ManualClock())
    for (const ms of [0, 1, 1.1, 60_000, 60_001]) meter.took('store', ms)
    const { took } = meter.read([])
    expect(took.store.counts).toEqual([2, 1, ...Array<number>(12).fill(0), 1, 1])
    expect(took.store.sumMs).toBeCloseTo(120_003.1)
    expect(STEPS.map((step) => took[step].counts.length)).toEqual(STEPS.map(() => 16))
  })

  it('tell pages, failures by code, statuses and bytes', () => {
    const meter = createMeter(1, new ManualClock())
    meter.received(200, 1_000, 3)
    meter.received(200, 500, 3)
    meter.received(0, 0, 9)
    meter.received(12_345, 0, 1)
    meter.receivedAside(10)
    meter.settled({ kind: 'done', links: [], bytes: 1 }, 20)
    const failure = { code: 'server_error', message: '' } as const
    meter.settled({ kind: 'retry', afterMs: 0, failure, countsAsAttempt: true }, 20)
    meter.settled({ kind: 'dead', failure }, 20)
    meter.settled({ kind: 'back', afterMs: 0 }, 20)
    meter.settled({ kind: 'skipped', failure: { code: 'robots_disallowed', message: '' } }, 20)
    meter.stale()
    meter.lost()
    const reading = meter.read([])
    expect(reading).toMatchObject({ pages: 1, failed: 2, bytes: 1_510, stale: 1, lost: 1 })
    expect(reading.statuses).toEqual({ 0: 2, 200: 2 })
    expect(reading.errors).toEqual({ server_error: 2 })
    expect(sum(reading.took.fetch.counts)).toBe(4)
    expect(sum(reading.took.leaseAge.counts)).toBe(5)
  })
})

it('costs next to nothing for each page', () => {
  const meter = createMeter(64, systemClock)
  const one = visit()
  const outcome = { kind: 'done', links: [], bytes: 1 } as const
  const page = () => {
    meter.begin(one)
    meter.doing(one, 'queue')
    meter.doing(one, 'fetch')
    meter.received(200, 30_000, 12)
    meter.doing(one, 'handler')
    meter.took('handler', 3)
    meter.end(one)
    meter.settled(outcome, 40)
  }
  const rounds = Array.from({ length: 7 }, () => {
    const began = process.cpuUsage()
    for (let i = 0; i < 20_000; i++) page()
    const { user, system } = process.cpuUsage(began)
    return (user + system) / 20_000
  })
  // In fact half a microsecond; the fastest round is the one that nobody disturbed.
  expect(Math.min(...rounds)).toBeLessThan(2)
})
