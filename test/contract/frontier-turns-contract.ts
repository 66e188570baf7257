import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { Frontier, LeaseReply, Limits } from '../../src/frontier/frontier.js'
import { TURN_KEPT_MS, TURN_LINE_MS, TURN_POLL_MS } from '../../src/frontier/turns.js'
import { type FleetOptions, queueOf, runFleet } from './fleet.js'
import { addressOf, DONE, linkTo, type MakeFrontier, OPEN, specOf } from './frontier-fixtures.js'

const FOUR = [64, 64, 64, 64]

/** How scarce work is shared (src/frontier/turns.ts): part of the contract of every driver. */
export function frontierTurnsContract(name: string, makeDriver: MakeFrontier): void {
  describe(`frontier contract, sharing: ${name}`, () => {
    let clock: ManualClock
    let frontier: Frontier
    let close: () => Promise<void>

    beforeEach(async () => {
      clock = new ManualClock()
      const made = await makeDriver(clock)
      frontier = made.frontier
      close = () => made.close()
    })
    afterEach(() => close())

    const crawl = async (limits: Limits, { hosts = 1, pages = 500, spider = 'books', id = 'c1' } = {}) => {
      await frontier.open(specOf({ id, spider, limits }))
      const links = Array.from({ length: pages }, (_, nth) => linkTo(`${id}h${nth % hosts}.test/${nth}`))
      await frontier.add(id, links)
    }
    const fleet = (options: FleetOptions) => runFleet(queueOf(frontier), clock, options)

    /** Asks with the number of pages that it fetches. */
    const workerOf = (worker: string, spiders: readonly string[] = ['books']) => {
      let seq = 0
      return {
        lease: (want: number, busy: number): Promise<LeaseReply> =>
          frontier.lease({ worker, seq: ++seq, want, busy, spiders }),
        again: (want: number, busy: number): Promise<LeaseReply> =>
          frontier.lease({ worker, seq, want, busy, spiders }),
      }
    }
    const finish = async ({ leases }: LeaseReply) => queueOf(frontier).finish(leases, 100)

    it('spreads the slots of one host over the workers, and leaves none of them unused', async () => {
      await crawl({ delayMs: 0, concurrency: 20 }, { pages: 900 })
      const pages = await fleet({ ceilings: FOUR, answerMs: 100, forMs: 4_000 })
      expectEven(pages)
      // 20 slots, 110 ms each: 727 pages in 4 s. The first ones are all with one worker, which hands over 15 of them.
      expect(sum(pages)).toBeGreaterThan(0.95 * 727)
    })

    it('spreads hosts that take one request at a time', async () => {
      await crawl({ delayMs: 0, concurrency: 1 }, { hosts: 8, pages: 800 })
      // Over six shards there is little more than one of them to share in each.
      const pages = await fleet({ ceilings: FOUR, answerMs: 100, forMs: 10_000 })
      expectEven(pages)
      expect(sum(pages)).toBeGreaterThan(0.96 * 727)
    })

    it('lets workers take turns where there are fewer slots than workers', async () => {
      await crawl({ delayMs: 0, concurrency: 1 }, { pages: 250 })
      const pages = await fleet({ ceilings: [64, 64, 64], answerMs: 100, forMs: 20_000 })
      expectEven(pages)
      expect(sum(pages)).toBeGreaterThan(0.96 * 181)
    })

    it('lets workers take turns on a host with a delay', async () => {
      await crawl({ delayMs: 100, concurrency: 1 }, { pages: 250 })
      const pages = await fleet({ ceilings: [64, 64, 64], answerMs: 20, forMs: 20_000 })
      expectEven(pages)
      expect(sum(pages)).toBeGreaterThan(0.96 * 200)
    })

    it('gives a worker that can do less what it wants, and the others even parts of the rest', async () => {
      await crawl({ delayMs: 0, concurrency: 20 }, { pages: 900 })
      const [slow = 0, ...others] = await fleet({ ceilings: [2, 64, 64], answerMs: 100, forMs: 4_000 })
      expect(slow / sum([slow, ...others])).toBeCloseTo(2 / 20, 1)
      expect(slow).toBeGreaterThan(0)
      expectEven(others)
    })

    it('holds nothing back where every worker gets what it wants', async () => {
      await crawl(OPEN)
      const [one, two] = [workerOf('w1'), workerOf('w2')]
      for (let round = 1; round <= 5; round++) {
        expect((await one.lease(20, 20 * (round - 1))).leases).toHaveLength(20)
        expect((await two.lease(5, 5 * (round - 1))).leases).toHaveLength(5)
        clock.advance(1_000)
      }
    })

    describe('with one slot, which one worker has had for a second and a half', () => {
      const first = () => workerOf('w1')
      let one: ReturnType<typeof first>
      let two: ReturnType<typeof first>
      let held: LeaseReply

      beforeEach(async () => {
        await crawl({ delayMs: 0, concurrency: 1 })
        one = workerOf('w1')
        two = workerOf('w2')
        held = await one.lease(64, 0)
        expect(held.leases).toHaveLength(1)
        clock.advance(1_500)
      })

      it('asks the worker that got nothing to come back soon, and leaves the slot to it', async () => {
        const reply = await two.lease(64, 0)
        expect(reply).toMatchObject({ leases: [], idleMs: TURN_POLL_MS })
        await finish(held)
        const left = await one.lease(64, 0)
        expect(left.leases).toEqual([])
        expect(left.idleMs).toBeGreaterThan(1)
        expect(left.idleMs).toBeLessThanOrEqual(TURN_KEPT_MS)
        clock.advance(reply.idleMs)
        expect((await two.lease(64, 0)).leases).toHaveLength(1)
      })

      it('gives the slot to whoever asks when the next worker does not come', async () => {
        await two.lease(64, 0)
        await finish(held)
        const { idleMs } = await one.lease(64, 0)
        clock.advance(idleMs)
        expect((await one.lease(64, 0)).leases).toEqual([])
        clock.advance(1)
        expect((await one.lease(64, 0)).leases).toHaveLength(1)
      })

      it('gives it to the same worker again when nobody else wants it', async () => {
        await finish(held)
        expect((await one.lease(64, 0)).leases).toHaveLength(1)
      })

      it('forgets the turn of a worker that is dead', async () => {
        await two.lease(64, 0)
        await frontier.forfeit('w2')
        await finish(held)
        expect((await one.lease(64, 0)).leases).toHaveLength(1)
      })

      it('lets the worker that used the least go first, and the others ask less often', async () => {
        await two.lease(64, 0)
        const three = workerOf('w3')
        expect((await three.lease(64, 0)).idleMs).toBeLessThanOrEqual(TURN_LINE_MS)
        await finish(held)
        clock.advance(10)
        const taken = await two.lease(64, 0)
        expect(taken.leases).toHaveLength(1)
        clock.advance(1_500)
        expect(await three.lease(64, 0)).toMatchObject({ leases: [], idleMs: TURN_POLL_MS })
        expect((await one.lease(64, 0)).leases).toEqual([])
        await finish(taken)
        expect((await one.lease(64, 0)).leases).toEqual([])
        expect((await three.lease(64, 0)).leases).toHaveLength(1)
      })

      it('does not make it wait for a worker with other spiders, or one that does not take part', async () => {
        await crawl({ delayMs: 0, concurrency: 1 }, { id: 'c2', spider: 'films' })
        const films = workerOf('films', ['films'])
        await films.lease(1, 0)
        await films.lease(64, 1)
        await frontier.lease({ worker: 'old', seq: 1, want: 64, spiders: ['books'] })
        await finish(held)
        expect((await one.lease(64, 0)).leases).toHaveLength(1)
      })

      it('answers a repeated call with the same batch, whoever is next', async () => {
        await two.lease(64, 0)
        const again = await one.again(64, 0)
        expect(again.leases.map(addressOf)).toEqual(held.leases.map(addressOf))
        await finish(held)
        expect((await one.lease(64, 0)).leases).toEqual([])
        expect((await one.again(64, 0)).leases).toEqual([])
      })

      it('needs no turn when nothing is queued', async () => {
        const [last] = held.leases
        if (last === undefined) throw new Error('nothing was leased')
        await frontier.setState('c1', 'cancelled')
        const reply = await two.lease(64, 0)
        expect(reply.idleMs).toBe(1_000)
        await frontier.settle([{ lease: last, outcome: DONE }])
      })
    })
  })
}

/** Within 30 % of the mean of all. */
function expectEven(pages: readonly number[]): void {
  const mean = sum(pages) / pages.length
  expect(Math.min(...pages), `pages of each worker: ${pages.join(', ')}`).toBeGreaterThan(0.7 * mean)
  expect(Math.max(...pages), `pages of each worker: ${pages.join(', ')}`).toBeLessThan(1.3 * mean)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
