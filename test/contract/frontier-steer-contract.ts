import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { CrawlSpec, Frontier, Lease, LinkSteer } from '../../src/frontier/frontier.js'
import type { Link } from '../../src/url/link.js'
import {
  addresses,
  counterFaults,
  DONE,
  dead,
  linkTo,
  type MakeFrontier,
  retry,
  scan,
  specOf,
  workerOf,
} from './frontier-fixtures.js'

/** What people do to one link or one host by hand, and what they see of it. */
export function frontierSteerContract(name: string, makeDriver: MakeFrontier): void {
  describe(`frontier by hand: ${name}`, () => {
    let clock: ManualClock
    let frontier: Frontier
    let close: () => Promise<void>

    beforeEach(async () => {
      clock = new ManualClock()
      ;({ frontier, close } = await makeDriver(clock))
    })

    afterEach(async () => {
      for (const { id } of await frontier.crawls()) {
        const found = counterFaults(await frontier.stats(id), await scan(frontier, id))
        expect(found.filter((fault) => frontier.can.ended === 'kept' || !fault.startsWith('done:'))).toEqual([])
      }
      await close()
    })

    async function crawlOf(changes: Partial<CrawlSpec>, links: readonly Link[]): Promise<void> {
      await frontier.open(specOf(changes))
      await frontier.add('c1', links)
      await frontier.seeded('c1')
    }

    const steer = (address: string, order: LinkSteer) => {
      const { fp, host } = linkTo(address)
      return frontier.steer('c1', fp, host, order)
    }
    const numbers = (count: number) => Array.from({ length: count }, (_, nth) => linkTo(`a.test/${nth}`))
    const w = () => workerOf(frontier, 'w1')
    const explain = (address: string) => frontier.explain('c1', linkTo(address).fp, linkTo(address).host)
    const settle = (lease: Lease | undefined, outcome: Parameters<Frontier['settle']>[0][number]['outcome']) => {
      if (lease === undefined) throw new Error('nothing was leased')
      return frontier.settle([{ lease, outcome }])
    }

    describe('promote', () => {
      for (const order of ['priority', 'fifo', 'lifo'] as const) {
        it(`makes a link the next of its lane: ${order}`, async () => {
          await crawlOf({ order }, [...numbers(4), linkTo('a.test/best', { priority: 50 })])
          expect(await steer('a.test/2', 'promote')).toBe('ok')
          expect(await explain('a.test/2')).toMatchObject({ state: 'queued', position: 0 })
          expect(await steer('a.test/1', 'promote')).toBe('ok')
          expect(await explain('a.test/1')).toMatchObject({ position: 0 })
          expect(await explain('a.test/2')).toMatchObject({ position: 1 })
          expect(addresses(await w().lease(9)).slice(0, 2)).toEqual(['a.test/1', 'a.test/2'])
        })
      }

      it('gives it the highest priority, where priorities count', async () => {
        await crawlOf({}, numbers(2))
        await steer('a.test/1', 'promote')
        expect(await explain('a.test/1')).toMatchObject({ link: { priority: 100 } })
      })

      it('makes a delayed one due, with its attempts', async () => {
        await crawlOf({}, numbers(3))
        const worker = w()
        await settle((await worker.lease(1)).leases[0], retry(60_000))
        expect(await steer('a.test/0', 'promote')).toBe('ok')
        expect((await worker.lease(1)).leases).toMatchObject([{ link: { url: 'https://a.test/0' }, attempt: 2 }])
      })

      it('keeps the place in front of a link that comes back', async () => {
        await crawlOf({}, numbers(4))
        await steer('a.test/2', 'promote')
        const worker = w()
        await settle((await worker.lease(1)).leases[0], { kind: 'back', afterMs: 0 })
        expect(addresses(await worker.lease(2))).toEqual(['a.test/2', 'a.test/0'])
      })

      it('may be repeated', async () => {
        await crawlOf({}, numbers(3))
        for (let times = 0; times < 3; times++) expect(await steer('a.test/1', 'promote')).toBe('ok')
        expect(addresses(await w().lease(9))).toEqual(['a.test/1', 'a.test/0', 'a.test/2'])
      })

      it('puts its lane before those of other hosts', async () => {
        if (frontier.can.priorities !== 'exact') return
        await crawlOf({}, [linkTo('b.test/1'), ...numbers(2)])
        clock.advance(10)
        await steer('a.test/1', 'promote')
        expect(addresses(await w().lease(1))).toEqual(['a.test/1'])
      })
    })

    describe('retry', () => {
      it('makes a delayed link due, in its place', async () => {
        await crawlOf({}, numbers(3))
        const worker = w()
        const { leases } = await worker.lease(2)
        await settle(leases[1], retry(60_000, { countsAsAttempt: false }))
        expect(await steer('a.test/1', 'retry')).toBe('ok')
        expect(await frontier.stats('c1')).toMatchObject({ queued: 2, delayed: 0 })
        expect(addresses(await worker.lease(9))).toEqual(['a.test/1', 'a.test/2'])
      })

      it('replays a dead letter, and a finished crawl runs again', async () => {
        await crawlOf({}, numbers(1))
        const worker = w()
        await settle((await worker.lease(1)).leases[0], dead())
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', dead: 1 })
        expect(await steer('a.test/0', 'promote')).toBe('ended')
        expect(await steer('a.test/0', 'retry')).toBe('ok')
        expect(await frontier.stats('c1')).toMatchObject({ state: 'running', dead: 0, queued: 1 })
        expect((await worker.lease(1)).leases).toMatchObject([{ attempt: 1, bypassFresh: true }])
      })

      it('leaves a queued link as it is', async () => {
        await crawlOf({}, numbers(3))
        expect(await steer('a.test/1', 'retry')).toBe('ok')
        expect(addresses(await w().lease(9))).toEqual(['a.test/0', 'a.test/1', 'a.test/2'])
      })
    })

    describe('remove', () => {
      it('gives up a link in whatever place, and says why', async () => {
        await crawlOf({}, [...numbers(4), linkTo('a.test/later', { delayMs: 5_000 })])
        const worker = w()
        const { leases } = await worker.lease(2)
        await settle(leases[0], retry(0))
        await settle(leases[1], dead())
        for (const address of ['a.test/0', 'a.test/1', 'a.test/2', 'a.test/later'])
          expect(await steer(address, 'remove'), address).toBe('ok')
        expect(await frontier.stats('c1')).toMatchObject({ queued: 1, delayed: 0, dead: 0, skipped: 4 })
        expect(await frontier.deadByError('c1')).toEqual([])
        const removed = await frontier.links({ crawl: 'c1', state: 'skipped', limit: 9 })
        for (const link of removed) expect(link.failures.at(-1)?.code).toBe('removed')
        expect(await steer('a.test/2', 'remove')).toBe('ended')
        expect(addresses(await worker.lease(9))).toEqual(['a.test/3'])
      })

      it('ends the crawl with its last open link', async () => {
        await crawlOf({}, numbers(2))
        await steer('a.test/0', 'remove')
        expect(await frontier.stats('c1')).toMatchObject({ state: 'running' })
        await steer('a.test/1', 'remove')
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', skipped: 2 })
      })

      it('stays known: the link is not added again', async () => {
        await crawlOf({}, numbers(2))
        await steer('a.test/0', 'remove')
        expect(await frontier.add('c1', numbers(2))).toMatchObject({ added: 0, known: 2 })
      })
    })

    for (const order of ['priority', 'fifo', 'lifo'] as const) {
      const inOrder = (addresses: string[]) => (order === 'lifo' ? addresses.reverse() : addresses)
      const later = (path: string) => linkTo(`a.test/${path}`, { delayMs: 100 })

      for (const steered of ['remove', 'promote'] as const) {
        it(`leaves the others in their places, delayed ones too: ${steered}, ${order}`, async () => {
          const all = [...numbers(1), later('x'), ...numbers(3).slice(1), later('y'), linkTo('a.test/3')]
          await crawlOf({ order }, all)
          expect(await steer('a.test/1', steered)).toBe('ok')
          clock.advance(100)
          const others = inOrder(['a.test/0', 'a.test/x', 'a.test/2', 'a.test/y', 'a.test/3'])
          const expected = steered === 'promote' ? ['a.test/1', ...others] : others
          expect(addresses(await w().lease(9))).toEqual(expected)
        })
      }

      it(`leaves a delayed link its place when the first one is removed: ${order}`, async () => {
        await crawlOf({ order }, [linkTo('a.test/0'), later('x'), linkTo('a.test/1')])
        expect(await steer('a.test/0', 'remove')).toBe('ok')
        clock.advance(100)
        expect(addresses(await w().lease(9))).toEqual(inOrder(['a.test/x', 'a.test/1']))
      })
    }

    it('leaves alone what is in flight, has ended or is not known', async () => {
      await crawlOf({}, numbers(3))
      const { leases } = await w().lease(2)
      await settle(leases[1], DONE)
      for (const order of ['promote', 'retry', 'remove'] as const) {
        expect(await steer('a.test/0', order)).toBe('in_flight')
        expect(await steer('a.test/1', order)).toBe('ended')
        expect(await steer('a.test/never', order)).toBe('unknown')
        await expect(frontier.steer('nothing', linkTo('a.test/0').fp, 'a.test', order)).rejects.toMatchObject({
          code: 'not_found',
        })
      }
    })

    it('steers a paused crawl, and of a cancelled one only removes', async () => {
      await crawlOf({}, numbers(3))
      await frontier.setState('c1', 'paused')
      expect(await steer('a.test/2', 'promote')).toBe('ok')
      expect(await steer('a.test/0', 'remove')).toBe('ok')
      await frontier.setState('c1', 'running')
      expect(addresses(await w().lease(1))).toEqual(['a.test/2'])
      await frontier.setState('c1', 'cancelled')
      for (const order of ['promote', 'retry'] as const)
        await expect(steer('a.test/1', order)).rejects.toMatchObject({ code: 'crawl_ended' })
      expect(await steer('a.test/1', 'remove')).toBe('ok')
      expect(await frontier.stats('c1')).toMatchObject({ state: 'cancelled', skipped: 2 })
    })

    it('steers a link of a route with limits of its own', async () => {
      const slow = Array.from({ length: 3 }, (_, nth) => linkTo(`a.test/slow/${nth}`, { route: 'slow' }))
      await crawlOf({ routeLimits: { slow: { delayMs: 1_000, concurrency: 1 } } }, [...numbers(1), ...slow])
      expect(await steer('a.test/slow/2', 'promote')).toBe('ok')
      expect(await steer('a.test/slow/1', 'remove')).toBe('ok')
      expect(addresses(await w().lease(9)).sort()).toEqual(['a.test/0', 'a.test/slow/2'])
    })

    describe('a host that is closed by hand', () => {
      it('gives nothing until it is opened again, in any crawl', async () => {
        await crawlOf({}, [...numbers(2), linkTo('b.test/1')])
        await frontier.open(specOf({ id: 'c2', spider: 'films' }))
        await frontier.add('c2', numbers(1))
        const both = workerOf(frontier, 'w1', ['books', 'films'])
        await frontier.setHost('a.test', { blocked: true })
        expect(addresses(await both.lease(9))).toEqual(['b.test/1'])
        clock.advance(3_600_000)
        const nothing = await both.lease(9)
        expect(nothing.leases).toEqual([])
        expect(nothing.idleMs).toBeGreaterThanOrEqual(1)
        await frontier.setHost('a.test', { blocked: false })
        expect((await both.lease(9)).leases).toHaveLength(3)
      })

      it('permits nothing, to a lease that holds a slot neither, and lets what is under way end', async () => {
        await crawlOf({}, [...numbers(1), linkTo('b.test/1')])
        const { leases } = await w().lease(2)
        const onA = leases.find((lease) => lease.link.host === 'a.test')
        const onB = leases.find((lease) => lease.link.host === 'b.test')
        if (onA === undefined || onB === undefined) throw new Error('two links were to be leased')
        await frontier.setHost('a.test', { blocked: true })
        for (const lease of [onA, onB]) {
          const permit = await frontier.permit(lease, 'a.test')
          expect(permit).toMatchObject({ ok: false, lost: false })
          expect(permit.ok ? 0 : permit.waitMs).toBeGreaterThan(5_000)
          expect(permit.ok ? 0 : permit.waitMs).toBeLessThanOrEqual(600_000)
        }
        await frontier.release([{ lease: onA, host: 'a.test', elapsedMs: 5, report: { kind: 'ok' } }])
        expect(await frontier.settle([{ lease: onA, outcome: DONE }])).toEqual([true])
        await frontier.setHost('a.test', { blocked: null })
        expect(await frontier.permit(onB, 'a.test')).toMatchObject({ ok: true })
      })

      it('keeps a block that the host asked for meanwhile', async () => {
        await crawlOf({}, numbers(3))
        const worker = w()
        const [lease] = (await worker.lease(1)).leases
        if (lease === undefined) throw new Error('nothing was leased')
        await frontier.setHost('a.test', { blocked: true })
        const report = { kind: 'throttled', retryAfterMs: 30_000 } as const
        await frontier.release([{ lease, host: 'a.test', elapsedMs: 5, report }])
        await frontier.setHost('a.test', { blocked: false })
        const [host] = await frontier.hosts('c1', { limit: 1 })
        expect(host?.blockedUntil).toBe(clock.now() + 30_000)
        expect((await worker.lease(1)).leases).toEqual([])
      })

      it('takes links, and gives them when it is opened', async () => {
        await frontier.open(specOf({}))
        await frontier.setHost('a.test', { blocked: true })
        await frontier.add('c1', numbers(2))
        const worker = w()
        expect((await worker.lease(9)).leases).toEqual([])
        await frontier.setHost('a.test', { blocked: false })
        expect(addresses(await worker.lease(9))).toEqual(['a.test/0', 'a.test/1'])
      })
    })

    it('shows what is set for a host', async () => {
      await crawlOf({ limits: { delayMs: 700, concurrency: 3 } }, numbers(1))
      const set = async () => (await frontier.hosts('c1', { limit: 1 }))[0]?.set
      expect(await set()).toBeNull()
      await frontier.setHost('a.test', { delayMs: 200, floorMs: 500 })
      expect(await set()).toEqual({ delayMs: 200, concurrency: null, floorMs: 500, blocked: false })
      await frontier.setHost('a.test', { blocked: true, concurrency: 1 })
      expect(await set()).toEqual({ delayMs: 200, concurrency: 1, floorMs: 500, blocked: true })
      const where = await explain('a.test/0')
      expect('host' in where && where.host.set?.blocked).toBe(true)
      expect('host' in where && Number.isFinite(where.host.nextAt)).toBe(true)
      await frontier.setHost('a.test', { delayMs: null, concurrency: null, floorMs: null, blocked: null })
      expect(await set()).toBeNull()
    })

    it('lists hosts whose names begin with some letters, by name', async () => {
      const hosts = ['shop.test', 'a.test', 'shelf.test', 'shoal.test', 's.test', 'tea.test']
      await crawlOf({}, [...hosts.map((host) => linkTo(`${host}/1`)), linkTo('shop.test/2')])
      const names = async (page: Parameters<Frontier['hosts']>[1]) =>
        (await frontier.hosts('c1', page)).map(({ host }) => host)
      expect(await names({ limit: 9, begins: 'sh' })).toEqual(['shelf.test', 'shoal.test', 'shop.test'])
      expect(await names({ limit: 9, begins: 'sh', busiest: true })).toEqual(['shelf.test', 'shoal.test', 'shop.test'])
      expect(await names({ limit: 2, begins: 'sh' })).toEqual(['shelf.test', 'shoal.test'])
      expect(await names({ limit: 2, begins: 'sh', after: 'shoal.test' })).toEqual(['shop.test'])
      expect(await names({ limit: 2, begins: 'sh', after: 'tea.test' })).toEqual([])
      expect(await names({ limit: 9, begins: 'x' })).toEqual([])
      expect(await names({ limit: 2, begins: '' })).toEqual(['a.test', 's.test'])
    })
  })
}
