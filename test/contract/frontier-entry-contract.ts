import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { CrawlStats, Frontier, Outcome, RestoredLink } from '../../src/frontier/frontier.js'
import {
  addresses,
  counterFaults,
  DONE,
  dead,
  FAILURE,
  inOrder,
  linkTo,
  type MakeFrontier,
  retry,
  scan,
  specOf,
  workerOf,
} from './frontier-fixtures.js'

const NOTHING_USED = { attempts: 0, throttles: 0, reclaims: 0, failures: [] }

/** Links that enter the queue in other ways than a first `add`: to be visited again, or restored from elsewhere. And the mark. */
export function frontierEntryContract(name: string, makeDriver: MakeFrontier): void {
  describe(`frontier entries: ${name}`, () => {
    let clock: ManualClock
    let frontier: Frontier
    let close: () => Promise<void>

    beforeEach(async () => {
      clock = new ManualClock()
      ;({ frontier, close } = await makeDriver(clock))
    })

    afterEach(async () => {
      for (const { id } of await frontier.crawls()) expect(await faults(id)).toEqual([])
      await close()
    })

    /** An engine that only counts what is done has nothing of it to list. */
    async function faults(id: string): Promise<string[]> {
      const stats = await frontier.stats(id)
      const found = counterFaults(stats, await scan(frontier, id))
      return frontier.can.ended === 'kept' ? found : found.filter((fault) => !fault.startsWith('done:'))
    }

    const total = (stats: CrawlStats) =>
      stats.queued + stats.delayed + stats.leased + stats.done + stats.dead + stats.skipped

    async function end(worker: ReturnType<typeof workerOf>, outcome: Outcome): Promise<string[]> {
      const reply = await worker.lease(10)
      await frontier.settle(reply.leases.map((lease) => ({ lease, outcome })))
      return addresses(reply)
    }

    it('has a mark that grows', async () => {
      const first = await frontier.mark()
      expect(first).toBeGreaterThanOrEqual(1)
      const second = await frontier.mark()
      expect(second).toBeGreaterThan(first)
      await frontier.open(specOf())
      expect(await frontier.mark()).toBeGreaterThan(second)
    })

    it('lets a worker sleep that has everything in flight', async () => {
      await frontier.open(specOf())
      await frontier.add('c1', [linkTo('a.test/1'), linkTo('a.test/2'), linkTo('b.test/1')])
      const worker = workerOf(frontier, 'w1')
      expect((await worker.lease(10)).leases).toHaveLength(3)
      expect((await worker.lease(10)).idleMs).toBeGreaterThan(100)
    })

    describe('again', () => {
      const again = (address: string, changes = {}) => linkTo(address, { again: true, ...changes })

      it('is a link like any other while it is not known', async () => {
        await frontier.open(specOf())
        expect(await frontier.add('c1', [again('a.test/1')])).toMatchObject({ added: 1, known: 0 })
        const [lease] = (await workerOf(frontier, 'w1').lease(1)).leases
        expect(lease).toMatchObject({ attempt: 1, bypassFresh: false })
        expect(lease?.link).not.toHaveProperty('again')
      })

      it.each([
        ['done', DONE],
        ['dead', dead()],
        ['skipped', { kind: 'skipped', failure: FAILURE } as const],
      ])('queues a link that is %s, with nothing used up', async (_state, outcome) => {
        await frontier.open(specOf())
        const worker = workerOf(frontier, 'w1')
        await frontier.add('c1', [linkTo('a.test/1')])
        await end(worker, retry(0))
        await end(worker, outcome)
        expect(await frontier.add('c1', [linkTo('a.test/1')])).toMatchObject({ added: 0, known: 1 })
        const changed = again('a.test/1', { priority: 7, data: { turn: 2 } })
        expect(await frontier.add('c1', [changed])).toMatchObject({ added: 1, known: 0, pending: 1 })
        const stats = await frontier.stats('c1')
        expect(stats).toMatchObject({ queued: 1, dead: 0, skipped: 0 })
        expect(total(stats)).toBe(stats.total)
        const [lease] = (await worker.lease(1)).leases
        expect(lease).toMatchObject({ attempt: 1, throttles: 0, bypassFresh: true })
        expect(lease?.link).toMatchObject({ url: 'https://a.test/1', priority: 7, data: { turn: 2 } })
        if (lease !== undefined) await frontier.settle([{ lease, outcome: DONE }])
        expect(await frontier.stats('c1')).toMatchObject({ queued: 0, leased: 0, dead: 0, skipped: 0 })
      })

      it('loses no link that still waits or is in flight', async () => {
        await frontier.open(specOf())
        const worker = workerOf(frontier, 'w1')
        await frontier.add('c1', [linkTo('a.test/1')])
        const { added, known } = await frontier.add('c1', [again('a.test/1')])
        expect(added + known).toBe(1)
        if (frontier.can.ended === 'kept') expect(known).toBe(1)
        const visited = await end(worker, DONE)
        expect(new Set(visited)).toEqual(new Set(['a.test/1']))
      })

      it('runs a finished crawl again, and may be refused by a budget', async () => {
        await frontier.open(specOf({ budget: { pagesPerHost: 2 } }))
        const worker = workerOf(frontier, 'w1')
        await frontier.add('c1', [linkTo('a.test/1')])
        await frontier.seeded('c1')
        await end(worker, DONE)
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished' })
        await frontier.add('c1', [again('a.test/1')])
        expect(await frontier.stats('c1')).toMatchObject({ state: 'running' })
        await end(worker, DONE)
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished' })
        await frontier.add('c1', [linkTo('a.test/2')])
        await end(worker, DONE)
        expect(await frontier.add('c1', [again('a.test/1')])).toMatchObject({ added: 0, refused: 1 })
      })

      it('waits when it is delayed', async () => {
        await frontier.open(specOf())
        const worker = workerOf(frontier, 'w1')
        await frontier.add('c1', [linkTo('a.test/1')])
        await end(worker, DONE)
        await frontier.add('c1', [again('a.test/1', { delayMs: 5_000 })])
        expect(await frontier.stats('c1')).toMatchObject({ delayed: 1 })
        expect(await end(worker, DONE)).toEqual([])
        clock.advance(5_000)
        expect(await end(worker, DONE)).toEqual(['a.test/1'])
      })
    })

    describe('restore', () => {
      const pending = (address: string, changes = {}): RestoredLink => ({
        state: 'pending',
        link: linkTo(address),
        ...NOTHING_USED,
        ...changes,
      })
      const failures = [
        { code: 'timeout', message: 'slow', at: 1_000 },
        { code: 'server_error', message: 'broken', at: 2_000 },
      ] as const

      async function paused(): Promise<void> {
        await frontier.open(specOf())
        await frontier.setState('c1', 'paused')
      }

      it('needs a paused crawl', async () => {
        await frontier.open(specOf())
        await expect(frontier.restore('c1', [pending('a.test/1')])).rejects.toMatchObject({ code: 'usage' })
        await expect(frontier.restore('none', [])).rejects.toMatchObject({ code: 'not_found' })
      })

      it('brings pending links with what they have used', async () => {
        await paused()
        const link = linkTo('a.test/1', { priority: 5, data: { n: 1 }, depth: 2, request: { method: 'POST' } })
        const later = linkTo('a.test/2', { delayMs: 3_000 })
        const restored = [
          pending('a.test/0', { link, attempts: 2, throttles: 1, reclaims: 1, failures }),
          pending('a.test/0', { link: later }),
          pending('b.test/1'),
        ]
        expect(await frontier.restore('c1', restored)).toBe(3)
        expect(await frontier.stats('c1')).toMatchObject({ total: 3, queued: 2, delayed: 1, state: 'paused' })
        const where = await frontier.explain('c1', link.fp)
        if (where.state === 'unknown' || where.link === null) throw new Error('it is not there')
        expect(where.link).toMatchObject({ attempts: 2, throttles: 1, reclaims: 1, failures })
        await frontier.setState('c1', 'running')
        const worker = workerOf(frontier, 'w1')
        const leases = inOrder((await worker.lease(10)).leases, frontier.can)
        expect(leases.map((lease) => lease.link.url)).toEqual(['https://a.test/1', 'https://b.test/1'])
        expect(leases[0]).toMatchObject({ attempt: 3, throttles: 1, bypassFresh: false })
        const { delayMs: _, ...plain } = link
        expect(leases[0]?.link).toEqual(plain)
        clock.advance(3_000)
        expect(addresses(await worker.lease(10))).toEqual(['a.test/2'])
      })

      it('brings dead letters under their last error, and skipped links', async () => {
        await paused()
        await frontier.restore('c1', [
          { state: 'dead', link: linkTo('a.test/1'), attempts: 4, throttles: 0, reclaims: 0, failures },
          { state: 'skipped', link: linkTo('a.test/2'), attempts: 0, throttles: 0, reclaims: 0, failures: [] },
        ])
        expect(await frontier.stats('c1')).toMatchObject({ total: 2, dead: 1, skipped: 1 })
        expect(await frontier.deadByError('c1')).toEqual([
          { code: 'server_error', count: 1, sample: 'https://a.test/1' },
        ])
        expect(await frontier.links({ crawl: 'c1', state: 'dead', limit: 9 })).toMatchObject([
          { attempts: 4, failures, endedAt: 2_000 },
        ])
        expect(await frontier.replay('c1', { code: 'server_error' })).toBe(1)
        await frontier.setState('c1', 'running')
        expect(addresses(await workerOf(frontier, 'w1').lease(9))).toEqual(['a.test/1'])
      })

      it('knows what was done elsewhere, and never visits it', async () => {
        await paused()
        await frontier.restore('c1', [{ state: 'done', link: linkTo('a.test/1') }])
        expect(await frontier.stats('c1')).toMatchObject({ total: 1, done: 1, rate: 0 })
        expect(await frontier.explain('c1', linkTo('a.test/1').fp)).toMatchObject({ state: 'done' })
        await frontier.setState('c1', 'running')
        expect(await frontier.add('c1', [linkTo('a.test/1')])).toMatchObject({ added: 0, known: 1 })
        expect((await workerOf(frontier, 'w1').lease(9)).leases).toEqual([])
        await frontier.seeded('c1')
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished' })
      })

      it('can be repeated, and leaves what is known as it is', async () => {
        await paused()
        await frontier.restore('c1', [pending('a.test/1', { attempts: 1 })])
        const repeated = [
          pending('a.test/1', { attempts: 3 }),
          { state: 'done', link: linkTo('a.test/1') } as const,
          pending('a.test/2'),
          pending('a.test/2'),
        ]
        expect(await frontier.restore('c1', repeated)).toBe(1)
        expect(await frontier.stats('c1')).toMatchObject({ total: 2, queued: 2, done: 0 })
        await frontier.setState('c1', 'running')
        expect((await workerOf(frontier, 'w1').lease(9)).leases.map(({ attempt }) => attempt)).toEqual([2, 1])
      })

      it('is refused by no budget and no maxPending, which count from then on', async () => {
        await frontier.open(specOf({ maxPending: 1, budget: { pages: 2, pagesPerHost: 1 } }))
        await frontier.setState('c1', 'paused')
        await frontier.restore('c1', [pending('a.test/1'), pending('a.test/2'), pending('a.test/3')])
        expect(await frontier.stats('c1')).toMatchObject({ total: 3, queued: 3, refused: 0 })
        expect(await frontier.add('c1', [linkTo('a.test/4')])).toMatchObject({ added: 0, refused: 1 })
      })

      it('keeps the order of the calls in a lane', async () => {
        await paused()
        await frontier.restore('c1', [pending('a.test/1'), pending('a.test/2')])
        await frontier.restore('c1', [pending('a.test/3')])
        await frontier.setState('c1', 'running')
        expect(addresses(await workerOf(frontier, 'w1').lease(9))).toEqual(['a.test/1', 'a.test/2', 'a.test/3'])
      })
    })
  })
}
