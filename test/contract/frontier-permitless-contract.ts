import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { CrawlSpec, Frontier, Lease } from '../../src/frontier/frontier.js'
import { DONE, linkTo, type MakeFrontier, specOf } from './frontier-fixtures.js'

const SLOW = { delayMs: 1_000, concurrency: 1 }
const FIVE = [1, 2, 3, 4, 5].map((nth) => linkTo(`a.test/${nth}`))

/** Leases for a worker that has most pages already (`LeaseRequest.withoutPermit`): part of the contract of every driver. */
export function frontierPermitlessContract(name: string, makeDriver: MakeFrontier): void {
  describe(`frontier contract, leases without a permit: ${name}`, () => {
    let clock: ManualClock
    let frontier: Frontier
    let close: () => Promise<void>
    let seq = 0

    beforeEach(async () => {
      clock = new ManualClock()
      const made = await makeDriver(clock)
      frontier = made.frontier
      close = () => made.close()
    })
    afterEach(() => close())

    const open = async (spec: Partial<CrawlSpec> = {}) => {
      await frontier.open(specOf({ limits: SLOW, ...spec }))
      await frontier.add('c1', FIVE)
    }
    const ask = async (want: number, worker = 'w') =>
      (await frontier.lease({ worker, seq: ++seq, want, spiders: ['books'], withoutPermit: true })).leases
    const settle = (leases: readonly Lease[]) => frontier.settle(leases.map((lease) => ({ lease, outcome: DONE })))
    const permitted = async (leases: readonly Lease[]) => {
      const answers = await Promise.all(leases.map((lease) => frontier.permit(lease, 'a.test')))
      return answers.filter(({ ok }) => ok).length
    }

    it('are as many as are wanted, whatever the pace of their host, where the engine can', async () => {
      await open()
      const leases = await ask(5)
      if (!frontier.can.leasesWithoutPermit) {
        expect(leases).toHaveLength(1)
        expect(leases[0]?.permitMs).toBeGreaterThan(0)
        return
      }
      expect(leases.map(({ permitMs }) => permitMs)).toEqual([0, 0, 0, 0, 0])
      expect(await settle(leases)).toEqual([true, true, true, true, true])
      expect(await frontier.stats('c1')).toMatchObject({ done: 5, leased: 0 })
      expect(await frontier.hosts('c1', { limit: 1 })).toMatchObject([{ inFlight: 0 }])
    })

    it('bring the pace back with each permit that is asked for', async () => {
      await open()
      const leases = await ask(5)
      if (!frontier.can.leasesWithoutPermit) return
      expect(await permitted(leases)).toBe(1)
      // One slot, and it is held: more time changes nothing.
      await clock.advance(1_000)
      expect(await permitted(leases.slice(1))).toBe(0)
      const [first] = leases
      if (first === undefined) throw new Error('nothing was leased')
      await frontier.release([{ lease: first, host: 'a.test', elapsedMs: 500, report: { kind: 'ok' } }])
      // The delay counts from the dispatch, 500 ms ago.
      expect(await permitted(leases.slice(1))).toBe(0)
      await clock.advance(500)
      expect(await permitted(leases.slice(1))).toBe(1)
      await settle(leases)
      expect(await frontier.hosts('c1', { limit: 1 })).toMatchObject([{ inFlight: 0 }])
    })

    it('are not given of a host that may not be asked now', async () => {
      await open()
      const [sent] = await ask(1)
      if (!frontier.can.leasesWithoutPermit || sent === undefined) return
      expect(await frontier.permit(sent, 'a.test')).toMatchObject({ ok: true })
      expect(await ask(5)).toEqual([])
      await settle([sent])
      expect(await ask(5)).toEqual([])
      await clock.advance(1_000)
      expect(await ask(5)).toHaveLength(4)
      await frontier.setHost('a.test', { blocked: true })
      expect(await ask(5)).toEqual([])
    })

    it('obey the limits of their route, one permit at a time', async () => {
      await open({ limits: { delayMs: 0, concurrency: 9 }, routeLimits: { page: SLOW } })
      const leases = await ask(5)
      if (!frontier.can.leasesWithoutPermit) return
      expect(leases).toHaveLength(5)
      expect(await permitted(leases)).toBe(1)
      await settle(leases)
    })

    it('leave the permits of others as they are', async () => {
      await open()
      const some = await ask(2)
      if (!frontier.can.leasesWithoutPermit) return
      const { leases } = await frontier.lease({ worker: 'other', seq: 1, want: 5, spiders: ['books'] })
      expect(leases).toHaveLength(1)
      expect(leases[0]?.permitMs).toBeGreaterThan(0)
      expect(await permitted(some)).toBe(0)
      await settle([...some, ...leases])
    })

    it('are the same when the reply was lost', async () => {
      await open()
      const leases = await ask(3)
      const { leases: again } = await frontier.lease({
        ...{ worker: 'w', seq, want: 3, spiders: ['books'], withoutPermit: true },
      })
      expect(again.map(({ token }) => token)).toEqual(leases.map(({ token }) => token))
    })

    it('return to the queue with their worker, and free what they held', async () => {
      await open()
      const leases = await ask(5)
      if (!frontier.can.leasesWithoutPermit) return
      await permitted(leases)
      expect(await frontier.forfeit('w')).toBe(5)
      expect(await frontier.stats('c1')).toMatchObject({ queued: 5, leased: 0 })
      expect(await frontier.hosts('c1', { limit: 1 })).toMatchObject([{ inFlight: 0 }])
    })
  })
}
