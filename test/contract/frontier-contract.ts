import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { MAX_COUNT_NAMES, type NamedCount } from '../../src/frontier/counts.js'
import type {
  CrawlSpec,
  Frontier,
  HostReport,
  Lease,
  LinkInfo,
  Outcome,
  Release,
  Seen,
  SeenMode,
  Whereabouts,
} from '../../src/frontier/frontier.js'
import { FAILURES_KEPT } from '../../src/frontier/frontier.js'
import { MAX_JSON_DEPTH } from '../../src/json/depth.js'
import type { FilteredLinks } from '../../src/url/filter-reasons.js'
import type { Json, Link } from '../../src/url/link.js'
import { frontierEntryContract } from './frontier-entry-contract.js'
import {
  addresses,
  addressOf,
  counterFaults,
  countingDone,
  DONE,
  dead,
  done,
  FAILURE,
  inOrder,
  linkTo,
  type MakeFrontier,
  OPEN,
  retry,
  scan,
  specOf,
  workerOf,
} from './frontier-fixtures.js'
import { frontierLivenessContract } from './frontier-liveness-contract.js'
import { frontierPermitlessContract } from './frontier-permitless-contract.js'
import { frontierSteerContract } from './frontier-steer-contract.js'
import { frontierTurnsContract } from './frontier-turns-contract.js'

/** What every driver of the frontier must do. Time is the test's: the driver takes it from the clock it is given. */
export function frontierContract(name: string, makeDriver: MakeFrontier): void {
  describe(`frontier contract: ${name}`, () => {
    let clock: ManualClock
    let frontier: Frontier
    let doneOf: (crawl: string) => number
    let close: () => Promise<void>

    beforeEach(async () => {
      clock = new ManualClock()
      const made = await makeDriver(clock)
      ;({ frontier, doneOf } = countingDone(made.frontier))
      close = () => made.close()
    })

    afterEach(async () => {
      // I10 holds at the end of every test, whatever it did.
      for (const { id } of await frontier.crawls()) expect(await faultsOf(id)).toEqual([])
      await close()
    })

    const faultsOf = async (crawl: string) =>
      counterFaults(await frontier.stats(crawl), await scan(frontier, crawl), {
        done: doneOf(crawl),
        can: frontier.can,
      })

    /** Links of several hosts, in the order that the engine promises. */
    const ordered = <Item extends Lease | LinkInfo>(items: readonly Item[]) => inOrder(items, frontier.can)
    const expectAddresses = (reply: { leases: readonly Lease[] }, expected: readonly string[]) =>
      expect(ordered(reply.leases).map(addressOf)).toEqual(
        frontier.can.priorities === 'exact' ? expected : [...expected].sort(),
      )

    /** Addresses of links that are not done, in the order they came or, where the engine has one of its own, by address. */
    const listed = (links: readonly LinkInfo[]) => {
      const all = links.map(addressOf)
      return frontier.can.ended === 'kept' ? all : all.sort()
    }

    /** A link that is done: all that is known of it where it is kept, that it is done where it is only counted. */
    const expectDone = async (address: string, link: Partial<LinkInfo> = {}) => {
      const where = await frontier.explain('c1', linkTo(address).fp)
      const { state: crawlState } = await frontier.stats('c1')
      if (frontier.can.ended === 'counted') expect(where).toEqual({ state: 'done', link: null, crawlState })
      else expect(where).toMatchObject({ state: 'done', link, position: null, crawlState })
    }

    async function crawlOf(changes: Partial<CrawlSpec>, links: readonly Link[]): Promise<void> {
      const spec = specOf(changes)
      await frontier.open(spec)
      await frontier.add(spec.id, links)
      await frontier.seeded(spec.id)
    }

    const settle = async (lease: Lease, outcome: Parameters<Frontier['settle']>[0][number]['outcome']) =>
      (await frontier.settle([{ lease, outcome }]))[0]

    const release = (lease: Lease, changes: Partial<Release> = {}) =>
      frontier.release([{ lease, host: lease.link.host, elapsedMs: 10, report: { kind: 'ok' }, ...changes }])

    /** Leases one link that must be there. */
    async function take(worker: { lease: (want: number) => Promise<{ leases: Lease[] }> }): Promise<Lease> {
      const [lease] = (await worker.lease(1)).leases
      if (lease === undefined) throw new Error('nothing was leased')
      return lease
    }

    /** A link that must be there to be looked at. */
    const found = async (address: string, crawl = 'c1'): Promise<Extract<Whereabouts, { link: LinkInfo }>> => {
      const where = await frontier.explain(crawl, linkTo(address).fp)
      if (where.state === 'unknown' || where.link === null) throw new Error(`nothing is known of ${address}`)
      return where
    }

    const numbers = (count: number, host = 'a.test') => Array.from({ length: count }, (_, i) => linkTo(`${host}/${i}`))

    describe('crawls', () => {
      it('opens a crawl, and opens it again as it is', async () => {
        const first = await frontier.open(specOf())
        expect(first).toMatchObject({ id: 'c1', spider: 'books', state: 'running', endedBy: null, seeding: true })
        expect(first).toMatchObject({ startedAt: null, finishedAt: null, spiderChanges: 0, createdAt: clock.now() })
        await frontier.add('c1', numbers(2))
        clock.advance(5)
        expect(await frontier.open(specOf())).toEqual(first)
        expect((await frontier.stats('c1')).total).toBe(2)
        expect(await frontier.crawls()).toEqual([first])
      })

      it('replaces the spec of an unfinished crawl and notes a changed spider', async () => {
        await crawlOf({}, numbers(2))
        const info = await frontier.open(specOf({ spiderHash: 'h2', gen: 8 }))
        expect(info).toMatchObject({ spiderHash: 'h2', spiderChanges: 1, seeding: false })
        expect((await take(workerOf(frontier, 'w1'))).gen).toBe(8)
      })

      it('keeps the arguments of a crawl as they were given', async () => {
        const args = { category: 'shoes & "hats"', max: 10, tags: ['a', 'b'], '"args":': null }
        expect(await frontier.open(specOf({ id: 'with', args }))).toMatchObject({ args })
        await frontier.open(specOf({ id: 'without' }))
        expect(await frontier.stats('with')).toMatchObject({ args })
        const [first, second] = await frontier.crawls()
        expect(first?.args).toEqual(args)
        expect(second !== undefined && 'args' in second).toBe(false)
        const other = { category: 'hats' }
        expect(await frontier.open(specOf({ id: 'with', args: other }))).toMatchObject({ args: other })
      })

      it('remembers what was seen only in ways that it knows', async () => {
        const plain = { mode: 'exact', scope: 'crawl', ttlMs: null, errorRate: 0.001 } as const
        await frontier.open(specOf({ id: 'plain', seen: plain }))
        const odd = {
          exact: { ...plain, scope: 'site' },
          bloom: { ...plain, mode: 'bloom' },
          set: { ...plain, mode: 'set' },
        }
        for (const [mode, seen] of Object.entries(odd) as [SeenMode, Seen][]) {
          const opened = frontier.open(specOf({ id: mode, seen }))
          if (frontier.can.seen.includes(mode)) expect(await opened).toMatchObject({ id: mode })
          else await expect(opened).rejects.toMatchObject({ code: 'dedupe_unsupported' })
        }
      })

      it('leaves a crawl that has ended as it was', async () => {
        await crawlOf({}, [])
        expect(await frontier.open(specOf({ spiderHash: 'h2' }))).toMatchObject({ state: 'finished', spiderHash: 'h1' })
      })

      it('refuses a crawl that nobody opened', async () => {
        const missing = { code: 'not_found' }
        await expect(frontier.add('nope', [])).rejects.toMatchObject(missing)
        await expect(frontier.seeded('nope')).rejects.toMatchObject(missing)
        await expect(frontier.stats('nope')).rejects.toMatchObject(missing)
        await expect(frontier.setState('nope', 'paused')).rejects.toMatchObject(missing)
        await expect(frontier.remove('nope')).rejects.toMatchObject(missing)
        await expect(frontier.explain('nope', linkTo('a.test/1').fp)).rejects.toMatchObject(missing)
        await expect(frontier.replay('nope', {})).rejects.toMatchObject(missing)
      })

      it('has an identity that stays', async () => {
        const identity = await frontier.identity()
        expect(identity).not.toBe('')
        await crawlOf({}, numbers(1))
        expect(await frontier.identity()).toBe(identity)
      })

      it('gives leases only of the spiders asked for', async () => {
        await crawlOf({ id: 'c1', spider: 'books' }, [linkTo('a.test/1')])
        await crawlOf({ id: 'c2', spider: 'films' }, [linkTo('b.test/1')])
        expect(addresses(await workerOf(frontier, 'w1', ['films']).lease(9))).toEqual(['b.test/1'])
        expect(addresses(await workerOf(frontier, 'w2', ['songs']).lease(9))).toEqual([])
        expect(addresses(await workerOf(frontier, 'w3', ['songs', 'books', 'films']).lease(9))).toEqual(['a.test/1'])
      })

      it('pauses and resumes', async () => {
        await crawlOf({}, numbers(3))
        const w = workerOf(frontier, 'w1')
        const held = await take(w)
        await frontier.setState('c1', 'paused')
        expect(addresses(await w.lease(9))).toEqual([])
        expect((await frontier.stats('c1')).state).toBe('paused')
        expect(await settle(held, done([linkTo('a.test/found')]))).toBe(true)
        expect((await frontier.stats('c1')).queued).toBe(3)
        await frontier.setState('c1', 'running')
        await frontier.setState('c1', 'running')
        expect(addresses(await w.lease(9))).toEqual(['a.test/1', 'a.test/2', 'a.test/found'])
      })

      it('does not finish while paused, but on resuming', async () => {
        await crawlOf({}, numbers(1))
        const held = await take(workerOf(frontier, 'w1'))
        await frontier.setState('c1', 'paused')
        await settle(held, DONE)
        expect((await frontier.stats('c1')).state).toBe('paused')
        await frontier.setState('c1', 'running')
        expect((await frontier.stats('c1')).state).toBe('finished')
      })

      it('cancels for good: what is in flight may be settled, nothing is added', async () => {
        await crawlOf({}, numbers(3))
        const w = workerOf(frontier, 'w1')
        const held = await take(w)
        await frontier.setState('c1', 'cancelled')
        await frontier.setState('c1', 'cancelled')
        expect(addresses(await w.lease(9))).toEqual([])
        expect(await settle(held, done([linkTo('a.test/found')]))).toBe(true)
        expect(await frontier.stats('c1')).toMatchObject({
          state: 'cancelled',
          total: 3,
          done: 1,
          finishedAt: clock.now(),
        })
        await expect(frontier.setState('c1', 'running')).rejects.toMatchObject({ code: 'crawl_ended' })
        await expect(frontier.add('c1', numbers(9))).rejects.toMatchObject({ code: 'crawl_ended' })
      })

      it('removes only what has ended, with everything', async () => {
        await crawlOf({ limits: { delayMs: 0, concurrency: 1 } }, numbers(2))
        const w = workerOf(frontier, 'w1')
        const held = await take(w)
        await expect(frontier.remove('c1')).rejects.toMatchObject({ code: 'usage' })
        await frontier.setState('c1', 'cancelled')
        await frontier.remove('c1')
        expect(await frontier.crawls()).toEqual([])
        expect(await settle(held, DONE)).toBe(false)
        await release(held)
        // The slot was freed with it, and nothing is remembered.
        await crawlOf({ limits: { delayMs: 0, concurrency: 1 } }, numbers(2))
        expect(addresses(await w.lease(9))).toEqual(['a.test/0'])
      })
    })

    describe('adding (Q7, Q9, Q10)', () => {
      it('knows every link once', async () => {
        await frontier.open(specOf())
        const twice = [linkTo('a.test/1'), linkTo('a.test/2'), linkTo('a.test/1', { priority: 50 })]
        expect(await frontier.add('c1', twice)).toEqual({ added: 2, known: 1, refused: 0, pending: 2 })
        expect(await frontier.add('c1', twice)).toEqual({ added: 0, known: 3, refused: 0, pending: 2 })
        expect(addresses(await workerOf(frontier, 'w1').lease(9))).toEqual(['a.test/1', 'a.test/2'])
      })

      it('knows links in every state', async () => {
        await crawlOf({}, numbers(4))
        const w = workerOf(frontier, 'w1')
        await settle(await take(w), DONE)
        await settle(await take(w), dead())
        await settle(await take(w), { kind: 'skipped', failure: FAILURE })
        await take(w)
        expect(await frontier.add('c1', numbers(4))).toMatchObject({ added: 0, known: 4 })
      })

      it('keeps crawls apart', async () => {
        await crawlOf({ id: 'c1' }, numbers(2))
        await frontier.open(specOf({ id: 'c2' }))
        expect(await frontier.add('c2', numbers(3))).toMatchObject({ added: 3 })
      })

      it('carries request, data, route and depth through', async () => {
        const data = { list: [], nothing: null, text: 'ü\u0001"', big: 12345678901234 }
        const request = { method: 'POST', headers: { 'X-Key': 'v' }, body: 'q=1' }
        await crawlOf({}, [linkTo('a.test/1', { data, request, route: 'search', depth: 3, priority: -7 })])
        const { link } = await take(workerOf(frontier, 'w1'))
        expect(link).toMatchObject({ ...linkTo('a.test/1'), data, request, route: 'search', depth: 3, priority: -7 })
        expect((await scan(frontier, 'c1'))[0]).toMatchObject({
          data,
          request,
          route: 'search',
          depth: 3,
          priority: -7,
        })
      })

      it('carries data that is nested as deep as any may be', async () => {
        let data: Json = 'deep'
        for (let level = 0; level < MAX_JSON_DEPTH; level++) data = level % 2 === 0 ? [data] : { a: data }
        await crawlOf({}, [linkTo('a.test/1', { data })])
        expect((await take(workerOf(frontier, 'w1'))).link.data).toEqual(data)
        expect((await scan(frontier, 'c1'))[0]?.data).toEqual(data)
      })

      it('gives the data of a link as it was, whatever an attempt before did with it', async () => {
        await crawlOf({}, [linkTo('a.test/1', { data: { list: [1] } })])
        const w = workerOf(frontier, 'w1')
        const first = await take(w)
        ;(first.link.data as { list: number[] }).list.length = 0
        const failure = { code: 'handler_error', message: 'no' } as const
        await frontier.settle([
          { lease: first, outcome: { kind: 'retry', afterMs: 0, failure, countsAsAttempt: true } },
        ])
        expect((await take(w)).link.data).toEqual({ list: [1] })
      })

      it('holds a link back until it is due', async () => {
        await crawlOf({}, [linkTo('a.test/late', { delayMs: 500, priority: 50 }), linkTo('a.test/now')])
        const w = workerOf(frontier, 'w1')
        expect(await frontier.stats('c1')).toMatchObject({ queued: 1, delayed: 1 })
        expect(addresses(await w.lease(9))).toEqual(['a.test/now'])
        clock.advance(499)
        expect((await w.lease(9)).leases).toEqual([])
        clock.advance(1)
        expect(addresses(await w.lease(9))).toEqual(['a.test/late'])
      })

      it('refuses above maxPending and counts, without remembering', async () => {
        await frontier.open(specOf({ maxPending: 2 }))
        expect(await frontier.add('c1', numbers(4))).toEqual({ added: 2, known: 0, refused: 2, pending: 2 })
        const w = workerOf(frontier, 'w1')
        const lease = await take(w)
        // The parent is in flight and not pending: one of its links fits.
        expect(await settle(lease, done([linkTo('a.test/x'), linkTo('a.test/y')]))).toBe(true)
        expect(await frontier.stats('c1')).toMatchObject({ queued: 2, refused: 3, total: 3 })
        await w.lease(9)
        expect(await frontier.add('c1', [linkTo('a.test/y')])).toMatchObject({ added: 1, refused: 0 })
      })

      it('keeps everything when told to', async () => {
        await frontier.open(specOf({ maxPending: 2, overflow: 'keep' }))
        expect(await frontier.add('c1', numbers(4))).toEqual({ added: 4, known: 0, refused: 0, pending: 4 })
      })

      it('admits no more pages than the budgets allow', async () => {
        await frontier.open(specOf({ budget: { pages: 4, pagesPerHost: 2 } }))
        expect(await frontier.add('c1', numbers(3, 'a.test'))).toMatchObject({ added: 2, refused: 1 })
        expect(await frontier.add('c1', [...numbers(1, 'b.test'), ...numbers(3, 'c.test')])).toMatchObject({
          added: 2,
          refused: 2,
        })
        await frontier.seeded('c1')
        const w = workerOf(frontier, 'w1')
        for (const lease of (await w.lease(9)).leases) await settle(lease, done([linkTo('d.test/1')]))
        expect(await frontier.stats('c1')).toMatchObject({ total: 4, done: 4, refused: 7, state: 'finished' })
        expect((await frontier.explain('c1', linkTo('d.test/1').fp)).state).toBe('unknown')
      })
    })

    describe('order (Q1, Q14)', () => {
      const mixed = [
        linkTo('a.test/low', { priority: -5 }),
        linkTo('a.test/first'),
        linkTo('a.test/high', { priority: 100 }),
        linkTo('a.test/second'),
      ]

      it('gives higher priority first, ties first in first out', async () => {
        await crawlOf({}, mixed)
        const w = workerOf(frontier, 'w1')
        expect(addresses(await w.lease(2))).toEqual(['a.test/high', 'a.test/first'])
        expect(addresses(await w.lease(9))).toEqual(['a.test/second', 'a.test/low'])
      })

      it('goes by the order in which links came when told to', async () => {
        await crawlOf({ id: 'c1', spider: 'one', order: 'fifo' }, mixed)
        await crawlOf({ id: 'c2', spider: 'two', order: 'lifo' }, mixed)
        const inOrder = ['a.test/low', 'a.test/first', 'a.test/high', 'a.test/second']
        expect(addresses(await workerOf(frontier, 'w1', ['one']).lease(9))).toEqual(inOrder)
        const w2 = workerOf(frontier, 'w2', ['two'])
        expect(addresses(await w2.lease(1))).toEqual(['a.test/second'])
        await frontier.add('c2', [linkTo('a.test/new')])
        expect(addresses(await w2.lease(9))).toEqual(['a.test/new', 'a.test/high', 'a.test/first', 'a.test/low'])
      })

      it('takes the best head over hosts, and turns between equals', async () => {
        await crawlOf({}, [
          ...numbers(2, 'a.test'),
          ...numbers(2, 'b.test'),
          linkTo('c.test/best', { priority: 1 }),
          linkTo('c.test/worst', { priority: -1 }),
        ])
        clock.advance(10)
        const w = workerOf(frontier, 'w1')
        if (frontier.can.priorities === 'approximate') {
          expect(addresses(await w.lease(9)).sort()).toEqual([
            'a.test/0',
            'a.test/1',
            'b.test/0',
            'b.test/1',
            'c.test/best',
            'c.test/worst',
          ])
          return
        }
        expect(addresses(await w.lease(3))).toEqual(['c.test/best', 'a.test/0', 'b.test/0'])
        clock.advance(10)
        expect(addresses(await w.lease(9))).toEqual(['a.test/1', 'b.test/1', 'c.test/worst'])
      })

      it('lets a waiting host grow old: a point of priority is worth agingMs', async () => {
        await crawlOf({ agingMs: 1000 }, [linkTo('a.test/old', { priority: -3 })])
        clock.advance(2999)
        await frontier.add('c1', [linkTo('b.test/1')])
        clock.advance(2)
        await frontier.add('c1', [linkTo('c.test/1')])
        expectAddresses(await workerOf(frontier, 'w1').lease(9), ['b.test/1', 'a.test/old', 'c.test/1'])
      })

      it('never starves a low-priority host while another is busy', async () => {
        await crawlOf({ agingMs: 100, limits: { delayMs: 0, concurrency: 1 } }, [
          linkTo('low.test/1', { priority: -100 }),
          ...Array.from({ length: 300 }, (_, i) => linkTo(`busy.test/${i}`, { priority: 100 })),
        ])
        const w = workerOf(frontier, 'w1')
        let rounds = 0
        for (; rounds < 300; rounds++) {
          const lease = await take(w)
          await settle(lease, DONE)
          if (lease.link.host === 'low.test') break
          clock.advance(100)
        }
        if (frontier.can.priorities === 'exact') expect(rounds).toBeGreaterThan(150)
        expect(rounds).toBeLessThanOrEqual(201)
      })

      it('shares a slow host between crawls', async () => {
        const limits = { delayMs: 1000, concurrency: 1 }
        await crawlOf({ id: 'c1', limits }, numbers(5))
        await crawlOf({ id: 'c2', limits }, numbers(5))
        clock.advance(1)
        const w = workerOf(frontier, 'w1')
        const served: string[] = []
        for (let i = 0; i < 6; i++) {
          const lease = await take(w)
          served.push(lease.crawl)
          await settle(lease, DONE)
          clock.advance(1000)
        }
        expect(served).toEqual(['c1', 'c2', 'c1', 'c2', 'c1', 'c2'])
      })

      it('does not let a closed host hold up the others', async () => {
        await crawlOf({ limits: { delayMs: 60_000, concurrency: 1 } }, [
          ...Array.from({ length: 20 }, (_, i) => linkTo(`slow.test/${i}`, { priority: 100 })),
          ...Array.from({ length: 5 }, (_, i) => linkTo(`h${i}.test/`)),
        ])
        const reply = await workerOf(frontier, 'w1').lease(20)
        expectAddresses(reply, ['slow.test/0', 'h0.test/', 'h1.test/', 'h2.test/', 'h3.test/', 'h4.test/'])
      })

      it('gives routes with limits a lane of their own', async () => {
        const routeLimits = { slow: { delayMs: 5000, concurrency: 1 } }
        await crawlOf({ routeLimits }, [
          linkTo('a.test/s1', { route: 'slow', priority: 50 }),
          linkTo('a.test/s2', { route: 'slow', priority: 50 }),
          linkTo('b.test/s1', { route: 'slow' }),
          linkTo('a.test/f1', { route: 'fast' }),
          linkTo('a.test/f2', { route: 'other' }),
        ])
        const w = workerOf(frontier, 'w1')
        const { leases } = await w.lease(9)
        expect(leases.map(addressOf).sort()).toEqual(['a.test/f1', 'a.test/f2', 'a.test/s1', 'b.test/s1'])
        for (const lease of leases) await settle(lease, DONE)
        clock.advance(4999)
        expect(addresses(await w.lease(9))).toEqual([])
        clock.advance(1)
        expect(addresses(await w.lease(9))).toEqual(['a.test/s2'])
      })

      it('counts a route in addition to its host: both must be open', async () => {
        const routeLimits = { item: { delayMs: 0, concurrency: 1 } }
        await crawlOf({ routeLimits, limits: { delayMs: 0, concurrency: 2 } }, [
          linkTo('a.test/i1', { route: 'item' }),
          linkTo('a.test/i2', { route: 'item' }),
          linkTo('a.test/1'),
          linkTo('a.test/2'),
        ])
        const w = workerOf(frontier, 'w1')
        const { leases } = await w.lease(9)
        expect(leases.map(addressOf)).toEqual(['a.test/i1', 'a.test/1'])
        const [item, plain] = leases
        if (item === undefined || plain === undefined) throw new Error('too little was leased')
        await release(plain)
        expect(addresses(await w.lease(9))).toEqual(['a.test/2'])
        await release(item)
        expect(addresses(await w.lease(9))).toEqual(['a.test/i2'])
      })
    })

    describe('leases (Q2, Q3, Q4)', () => {
      it('gives a link to one worker only', async () => {
        await crawlOf({}, numbers(5))
        const first = await workerOf(frontier, 'w1').lease(3)
        const second = await workerOf(frontier, 'w2').lease(9)
        expect(addresses(first)).toEqual(['a.test/0', 'a.test/1', 'a.test/2'])
        expect(addresses(second)).toEqual(['a.test/3', 'a.test/4'])
        expect(await frontier.stats('c1')).toMatchObject({ leased: 5, queued: 0, startedAt: clock.now() })
      })

      it('gives nothing to those who want nothing', async () => {
        await crawlOf({}, numbers(2))
        const w = workerOf(frontier, 'w1')
        expect((await w.lease(0)).leases).toEqual([])
        expect((await w.lease(-1)).leases).toEqual([])
      })

      it('answers what a lease needs', async () => {
        await crawlOf({ visibilityMs: 30_000, gen: 4 }, numbers(3))
        const { leases } = await workerOf(frontier, 'w1').lease(3)
        expect(leases[0]).toMatchObject({
          crawl: 'c1',
          attempt: 1,
          throttles: 0,
          gen: 4,
          visibilityMs: 30_000,
          bypassFresh: false,
        })
        expect(new Set(leases.map((lease) => lease.token)).size).toBe(3)
      })

      it('numbers leases with epochs that grow and follow the clock', async () => {
        await crawlOf({ id: 'c1' }, numbers(3))
        await crawlOf({ id: 'c2' }, numbers(3))
        const w = workerOf(frontier, 'w1')
        const epochs = (await w.lease(4)).leases.map((lease) => BigInt(lease.epoch))
        expect(epochs[0]).toBe(BigInt(clock.now()) * 1000n)
        clock.advance(1)
        epochs.push(...(await w.lease(2)).leases.map((lease) => BigInt(lease.epoch)))
        expect(epochs[4]).toBe(BigInt(clock.now()) * 1000n)
        expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => (a < b ? -1 : 1)))
      })

      it('numbers on when the clock steps back', async () => {
        await crawlOf({}, numbers(1))
        const w = workerOf(frontier, 'w1')
        const before = await take(w)
        clock.advance(-3_600_000)
        await frontier.add('c1', numbers(2))
        const after = await take(w)
        expect(BigInt(after.epoch)).toBeGreaterThan(BigInt(before.epoch))
        expect(await settle(after, DONE)).toBe(true)
      })

      it('answers a repeated call with the same batch, as far as it is still held', async () => {
        await crawlOf({}, numbers(5))
        const w = workerOf(frontier, 'w1')
        const first = (await w.lease(3)).leases
        const again = (await w.again(3)).leases
        expect(again).toEqual(first)
        await settle(first[1] as Lease, DONE)
        expect(addresses(await w.again(3))).toEqual(['a.test/0', 'a.test/2'])
        expect((await frontier.stats('c1')).leased).toBe(2)
        expect(addresses(await w.lease(9))).toEqual(['a.test/3', 'a.test/4'])
        expect(addresses(await w.again(9))).toEqual(['a.test/3', 'a.test/4'])
      })

      it('leases nothing new on a repeated call', async () => {
        await crawlOf({}, [])
        await frontier.open(specOf({ id: 'c2' }))
        const w = workerOf(frontier, 'w1')
        expect((await w.lease(1)).leases).toEqual([])
        await frontier.add('c2', numbers(1))
        expect((await w.again(1)).leases).toEqual([])
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('keeps two workers with the same number apart', async () => {
        await crawlOf({}, numbers(2))
        expect(addresses(await workerOf(frontier, 'w1').lease(1))).toEqual(['a.test/0'])
        expect(addresses(await workerOf(frontier, 'w2').lease(1))).toEqual(['a.test/1'])
      })

      it('leases nothing on a call that is older than the last one: a network delivered it late, and nobody reads the reply', async () => {
        await frontier.open(specOf({ limits: { delayMs: 0, concurrency: 10 } }))
        await frontier.add('c1', numbers(4))
        const ask = (seq: number) => frontier.lease({ worker: 'w1', seq, want: 1, spiders: ['books'] })
        await ask(1)
        const second = (await ask(2)).leases
        expect((await ask(1)).leases).toEqual([])
        expect(await frontier.stats('c1')).toMatchObject({ queued: 2, leased: 2 })
        // The last call is still the last one.
        expect((await ask(2)).leases).toEqual(second)
        expect((await ask(3)).leases).toHaveLength(1)
      })

      it('does not make a permit younger by repeating', async () => {
        await crawlOf({ limits: { delayMs: 1000, concurrency: 4 } }, numbers(2))
        const w = workerOf(frontier, 'w1')
        const lease = await take(w)
        expect(lease.permitMs).toBeGreaterThan(0)
        expect(lease.permitMs).toBeLessThanOrEqual(100)
        clock.advance(900)
        const [again] = (await w.again(1)).leases
        expect(again?.permitMs).toBe(0)
        expect(again?.visibilityMs).toBe(60_000 - 900)
      })

      it('refuses a lease that ran out, even before anybody reaped', async () => {
        await crawlOf({ visibilityMs: 1000 }, numbers(1))
        const w = workerOf(frontier, 'w1')
        const lease = await take(w)
        clock.advance(1000)
        expect(await settle(lease, done([linkTo('a.test/found')]))).toBe(false)
        expect(await frontier.extend('w1', [lease.token])).toEqual([lease.token])
        expect(await frontier.permit(lease, 'a.test')).toEqual({ ok: false, waitMs: 0, lost: true })
        expect((await w.again(1)).leases).toEqual([])
        expect(await frontier.stats('c1')).toMatchObject({ total: 1, leased: 1, stale: 1 })
      })

      it('extends what is held and names what is lost', async () => {
        await crawlOf({ visibilityMs: 1000 }, numbers(3))
        const [one, two, three] = (await workerOf(frontier, 'w1').lease(3)).leases
        if (one === undefined || two === undefined || three === undefined) throw new Error('too little was leased')
        clock.advance(900)
        await settle(three, DONE)
        const lost = await frontier.extend('w1', [one.token, three.token, 'nonsense'])
        expect(lost.sort()).toEqual([three.token, 'nonsense'].sort())
        expect(await frontier.extend('w2', [one.token])).toEqual([one.token])
        clock.advance(500)
        expect(await settle(two, DONE)).toBe(false)
        expect(await settle(one, DONE)).toBe(true)
      })

      it('reaps what ran out, oldest first, at most as many as asked', async () => {
        await crawlOf({ visibilityMs: 1000 }, numbers(5))
        const w = workerOf(frontier, 'w1')
        const old = (await w.lease(2)).leases
        clock.advance(500)
        await w.lease(2)
        expect(await frontier.reap(10)).toBe(0)
        clock.advance(500)
        expect(await frontier.reap(10)).toBe(2)
        expect(await frontier.stats('c1')).toMatchObject({ queued: 3, leased: 2, reclaimed: 2 })
        clock.advance(500)
        expect(await frontier.reap(1)).toBe(1)
        expect(await frontier.reap(10)).toBe(1)
        // Back in their old places.
        expect(addresses(await workerOf(frontier, 'w2').lease(9))).toEqual(
          numbers(5).map((link) => `a.test${new URL(link.url).pathname}`),
        )
        expect(await frontier.settle(old.map((lease) => ({ lease, outcome: DONE })))).toEqual([false, false])
        expect(await frontier.stats('c1')).toMatchObject({ leased: 5, done: 0, stale: 2 })
      })

      it('gives back at once what a dead worker held', async () => {
        await crawlOf({}, numbers(3))
        await workerOf(frontier, 'w1').lease(2)
        const other = workerOf(frontier, 'w2')
        await other.lease(1)
        expect(await frontier.forfeit('w1')).toBe(2)
        expect(await frontier.forfeit('w1')).toBe(0)
        expect(await frontier.stats('c1')).toMatchObject({ queued: 2, leased: 1, reclaimed: 2 })
        expect(addresses(await other.lease(9))).toEqual(['a.test/0', 'a.test/1'])
      })

      it('says how long to sleep', async () => {
        await crawlOf({ limits: { delayMs: 400, concurrency: 4 } }, numbers(2))
        const w = workerOf(frontier, 'w1')
        await w.lease(1)
        const { idleMs } = await w.lease(1)
        expect(idleMs).toBeGreaterThanOrEqual(1)
        expect(idleMs).toBeLessThanOrEqual(400)
        clock.advance(400)
        await w.lease(1)
        const idle = await w.lease(1)
        expect(idle.leases).toEqual([])
        expect(idle.idleMs).toBeGreaterThanOrEqual(1)
        expect(idle.idleMs).toBeLessThanOrEqual(1000)
      })

      it('never says that there is nothing to wait for', async () => {
        const { leases, idleMs, drain } = await workerOf(frontier, 'w1').lease(5)
        expect({ leases, drain }).toEqual({ leases: [], drain: false })
        expect(idleMs).toBe(1000)
      })
    })

    describe('settling (Q4, Q5, Q13)', () => {
      it('ends a link and adds what it found, in one step', async () => {
        await crawlOf({}, numbers(1))
        const w = workerOf(frontier, 'w1')
        const lease = await take(w)
        clock.advance(5)
        expect(await settle(lease, done([linkTo('a.test/0'), linkTo('b.test/1')], 1234))).toBe(true)
        expect(await frontier.stats('c1')).toMatchObject({
          total: 2,
          done: 1,
          queued: 1,
          bytes: 1234,
          state: 'running',
        })
        await expectDone('a.test/0', { attempts: 1, endedAt: clock.now() })
      })

      it('changes nothing when repeated', async () => {
        await crawlOf({}, numbers(2))
        const w = workerOf(frontier, 'w1')
        const [one, two] = (await w.lease(2)).leases
        if (one === undefined || two === undefined) throw new Error('too little was leased')
        const batch = [
          { lease: one, outcome: done([linkTo('b.test/1')], 10) },
          { lease: two, outcome: retry(0) },
        ]
        expect(await frontier.settle(batch)).toEqual([true, true])
        const before = await frontier.stats('c1')
        expect(await frontier.settle(batch)).toEqual([true, true])
        expect(await frontier.stats('c1')).toEqual(before)
        // Also when the link is in other hands meanwhile.
        const { leases } = await workerOf(frontier, 'w2').lease(9)
        expect(leases).toHaveLength(2)
        expect(await frontier.settle(batch)).toEqual([true, true])
        expect(await frontier.stats('c1')).toMatchObject({ leased: 2, failed: 1, retried: 1, stale: 0 })
      })

      it('counts what the filter did to the links of a page with its settlement, each page once, with the first example', async () => {
        const example = (url: string) => ({ url, became: null })
        const page = (filtered: FilteredLinks[]): Outcome => ({ kind: 'done', links: [], bytes: 0, filtered })
        await crawlOf({}, [linkTo('a.test/1'), linkTo('b.test/1'), linkTo('c.test/1'), linkTo('d.test/1')])
        await crawlOf({ id: 'c2' }, [linkTo('e.test/1')])
        const w = workerOf(frontier, 'w1')
        const { leases } = await w.lease(9)
        const [one, two, three, lost] = leases.filter(({ crawl }) => crawl === 'c1')
        const other = leases.find(({ crawl }) => crawl === 'c2')
        if (!one || !two || !three || !lost || !other) throw new Error('too little was leased')
        expect((await frontier.stats('c1')).filtered).toEqual([])
        const merged = { url: 'https://a.test/é?PHPSESSID=1', became: 'https://a.test/é' }
        const batch = [
          {
            lease: one,
            outcome: page([{ reason: 'trap_calendar', count: 3, example: example('https://a.test/2150') }]),
          },
          {
            lease: two,
            outcome: page([
              { reason: 'session_id', count: 800, example: merged },
              { reason: 'trap_calendar', count: 1, example: example('https://a.test/2151') },
              { reason: 'out_of_scope', count: 2, example: null },
            ]),
          },
        ]
        expect(await frontier.settle(batch)).toEqual([true, true])
        // Repeated, and of a lease that was lost: counted once, or not at all.
        expect(await frontier.settle(batch)).toEqual([true, true])
        const stray = page([{ reason: 'bad_url', count: 1, example: null }])
        expect(await settle({ ...lost, token: 'nonsense' }, stray)).toBe(false)
        expect(await settle(lost, { ...retry(0) })).toBe(true)
        await settle(three, page([{ reason: 'out_of_scope', count: 3, example: example('https://z.test/') }]))
        await settle(other, page([{ reason: 'no_route', count: 1, example: null }]))
        const [first, ...rest] = (await frontier.stats('c1')).filtered
        expect(first).toEqual({ reason: 'session_id', count: 800, example: merged })
        expect(rest).toEqual([
          { reason: 'out_of_scope', count: 5, example: example('https://z.test/') },
          { reason: 'trap_calendar', count: 4, example: expect.objectContaining({ became: null }) },
        ])
        // Over several shards nobody knows which came first.
        if (frontier.can.priorities === 'exact') expect(rest[1]?.example).toEqual(example('https://a.test/2150'))
        expect((await frontier.stats('c2')).filtered).toEqual([{ reason: 'no_route', count: 1, example: null }])
        await frontier.setState('c1', 'cancelled')
        await frontier.remove('c1')
        await crawlOf({}, [linkTo('a.test/1')])
        expect((await frontier.stats('c1')).filtered).toEqual([])
      })

      it('adds what spiders counted with the settlement, each page once, under a bounded number of names', async () => {
        const page = (...counts: NamedCount[]): Outcome => ({ kind: 'done', links: [], bytes: 0, counts })
        const seeds = Array.from({ length: 6 }, (_, n) => linkTo(`${'abcdef'[n]}.test/1`))
        await crawlOf({}, seeds)
        const { leases } = await workerOf(frontier, 'w1').lease(9)
        const [one, two, three, four, lost] = leases
        if (!one || !two || !three || !four || !lost) throw new Error('too little was leased')
        expect((await frontier.stats('c1')).counts).toEqual([])
        const batch = [
          { lease: one, outcome: page({ name: 'sold out', count: 1 }, { name: 'größe “XL”', count: 4_000_000_000 }) },
          { lease: two, outcome: page({ name: 'sold out', count: 2 }) },
        ]
        expect(await frontier.settle(batch)).toEqual([true, true])
        // Repeated, and of a lease that was lost: counted once, or not at all. A page that is tried again counts when it is done.
        expect(await frontier.settle(batch)).toEqual([true, true])
        expect(await settle({ ...lost, token: 'nonsense' }, page({ name: 'lost', count: 1 }))).toBe(false)
        expect(await settle(lost, retry(0))).toBe(true)
        expect((await frontier.stats('c1')).counts).toEqual([
          { name: 'größe “XL”', count: 4_000_000_000 },
          { name: 'sold out', count: 3 },
        ])
        const many = Array.from({ length: MAX_COUNT_NAMES }, (_, n) => ({ name: `id ${n}`, count: 1 }))
        await settle(three, page(...many))
        await settle(
          four,
          page(...many.map(({ name }) => ({ name: `more ${name}`, count: 1 })), { name: 'sold out', count: 1 }),
        )
        const { counts } = await frontier.stats('c1')
        expect(counts.length).toBeLessThanOrEqual(MAX_COUNT_NAMES + 1)
        expect(counts).toContainEqual({ name: '(other)', count: expect.any(Number) })
        expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(4_000_000_000 + 4 + 2 * MAX_COUNT_NAMES)
        await frontier.setState('c1', 'cancelled')
        await frontier.remove('c1')
        await crawlOf({}, [linkTo('a.test/1')])
        expect((await frontier.stats('c1')).counts).toEqual([])
      })

      it('remembers a dead letter as settled though it was replayed and is in other hands', async () => {
        await crawlOf({}, numbers(1))
        const lease = await take(workerOf(frontier, 'w1'))
        await settle(lease, dead())
        await frontier.replay('c1', {})
        await take(workerOf(frontier, 'w2'))
        expect(await settle(lease, dead())).toBe(true)
        expect(await frontier.stats('c1')).toMatchObject({ leased: 1, dead: 0, failed: 1, stale: 0 })
      })

      it('refuses tokens that are not of this crawl or of nobody', async () => {
        await crawlOf({ id: 'c1' }, numbers(1))
        await crawlOf({ id: 'c2', spider: 'films' }, numbers(1))
        const lease = await take(workerOf(frontier, 'w1'))
        expect(await settle({ ...lease, token: 'nonsense' }, DONE)).toBe(false)
        expect(await settle({ ...lease, crawl: 'c2' }, DONE)).toBe(false)
        expect(await settle({ ...lease, crawl: 'nope' }, DONE)).toBe(false)
        expect(await frontier.stats('c1')).toMatchObject({ leased: 1, stale: 1 })
        expect(await settle(lease, DONE)).toBe(true)
      })

      it('judges each settlement of a batch separately', async () => {
        await crawlOf({}, numbers(3))
        const w = workerOf(frontier, 'w1')
        const [one, two, three] = (await w.lease(3)).leases
        if (one === undefined || two === undefined || three === undefined) throw new Error('too little was leased')
        const answers = await frontier.settle([
          { lease: one, outcome: done([linkTo('b.test/1')]) },
          { lease: { crawl: 'c1', token: 'nonsense' }, outcome: dead() },
          { lease: two, outcome: done([linkTo('b.test/1'), linkTo('b.test/2')]) },
          { lease: two, outcome: dead() },
          { lease: three, outcome: { kind: 'back', afterMs: 0 } },
        ])
        expect(answers).toEqual([true, false, true, true, true])
        expect(await frontier.stats('c1')).toMatchObject({ total: 5, done: 2, queued: 3, dead: 0, stale: 1 })
      })

      it('fences a worker that lost its lease from the one that has it', async () => {
        await crawlOf({ visibilityMs: 1000 }, numbers(1))
        const stale = await take(workerOf(frontier, 'frozen'))
        clock.advance(1000)
        await frontier.reap(10)
        const fresh = await take(workerOf(frontier, 'w2'))
        expect(BigInt(fresh.epoch)).toBeGreaterThan(BigInt(stale.epoch))
        expect(await settle(stale, done([linkTo('b.test/1')]))).toBe(false)
        expect(await settle(stale, dead())).toBe(false)
        expect(await frontier.extend('frozen', [stale.token])).toEqual([stale.token])
        await release(stale)
        expect(await frontier.stats('c1')).toMatchObject({ leased: 1, total: 1, stale: 2, dead: 0 })
        expect(await settle(fresh, DONE)).toBe(true)
        expect(await settle(stale, DONE)).toBe(false)
        expect(await frontier.stats('c1')).toMatchObject({ done: 1, stale: 3, state: 'finished' })
      })

      it('retries later, lower, behind its equals', async () => {
        await crawlOf({}, [linkTo('a.test/bad', { priority: 5 }), linkTo('a.test/equal', { priority: -5 })])
        const w = workerOf(frontier, 'w1')
        expect(await settle(await take(w), retry(1000))).toBe(true)
        expect(await frontier.stats('c1')).toMatchObject({ delayed: 1, failed: 1, retried: 1, dead: 0 })
        const { link } = await found('a.test/bad')
        expect(link).toMatchObject({ state: 'delayed', priority: -5, attempts: 1, dueAt: clock.now() + 1000 })
        expect(link.failures).toEqual([{ ...FAILURE, at: clock.now() }])
        clock.advance(1000)
        const { leases } = await w.lease(9)
        expect(leases.map(addressOf)).toEqual(['a.test/equal', 'a.test/bad'])
        expect(leases[1]).toMatchObject({ attempt: 2, throttles: 0, link: { priority: -5 } })
      })

      it('goes no lower than −100', async () => {
        await crawlOf({ retryPriorityStep: 70 }, [linkTo('a.test/1', { priority: -50 })])
        await settle(await take(workerOf(frontier, 'w1')), retry(0))
        expect((await found('a.test/1')).link.priority).toBe(-100)
      })

      it('keeps priority and place when the retry costs no attempt', async () => {
        await crawlOf({}, numbers(3))
        const w = workerOf(frontier, 'w1')
        const throttled = { code: 'throttled', message: 'the server answered 429' } as const
        await settle(await take(w), retry(100, { countsAsAttempt: false, failure: throttled }))
        expect(await frontier.stats('c1')).toMatchObject({ delayed: 1, failed: 0, retried: 0, throttled: 1 })
        clock.advance(100)
        const { leases } = await w.lease(9)
        expect(leases.map(addressOf)).toEqual(['a.test/0', 'a.test/1', 'a.test/2'])
        expect(leases[0]).toMatchObject({ attempt: 1, throttles: 1 })
      })

      it('takes back what was not started, as it was', async () => {
        await crawlOf({}, numbers(3))
        const w = workerOf(frontier, 'w1')
        const [one, two] = (await w.lease(2)).leases
        if (one === undefined || two === undefined) throw new Error('too little was leased')
        await settle(one, { kind: 'back', afterMs: 0 })
        await settle(two, { kind: 'back', afterMs: 300 })
        expect(await frontier.stats('c1')).toMatchObject({ queued: 2, delayed: 1, failed: 0, retried: 0, throttled: 0 })
        expect(addresses(await workerOf(frontier, 'w2').lease(1))).toEqual(['a.test/0'])
        clock.advance(300)
        const { leases } = await w.lease(9)
        expect(leases.map(addressOf)).toEqual(['a.test/1', 'a.test/2'])
        expect(leases[0]).toMatchObject({ attempt: 1, throttles: 0 })
      })

      it('finishes exactly when nothing is left', async () => {
        await frontier.open(specOf())
        const w = workerOf(frontier, 'w1')
        await frontier.add('c1', numbers(1))
        await settle(await take(w), DONE)
        expect((await frontier.stats('c1')).state).toBe('running')
        await frontier.add('c1', [linkTo('b.test/1')])
        await frontier.seeded('c1')
        expect((await frontier.stats('c1')).state).toBe('running')
        const lease = await take(w)
        // A link in flight has not ended, whoever asks.
        expect((await w.lease()).leases).toEqual([])
        expect((await frontier.stats('c1')).state).toBe('running')
        await settle(lease, retry(1000))
        expect((await frontier.stats('c1')).state).toBe('running')
        clock.advance(1000)
        await settle(await take(w), done([linkTo('c.test/1')]))
        expect((await frontier.stats('c1')).state).toBe('running')
        clock.advance(1)
        await settle(await take(w), { kind: 'skipped', failure: FAILURE })
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', finishedAt: clock.now(), endedBy: null })
      })

      it('finishes an empty crawl as soon as it is seeded', async () => {
        await frontier.open(specOf())
        expect((await frontier.stats('c1')).state).toBe('running')
        await frontier.seeded('c1')
        await frontier.seeded('c1')
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', seeding: false, total: 0 })
        await expect(frontier.setState('c1', 'running')).rejects.toMatchObject({ code: 'crawl_ended' })
      })

      it('runs again when a finished crawl gets a link', async () => {
        await crawlOf({}, numbers(1))
        const w = workerOf(frontier, 'w1')
        await settle(await take(w), DONE)
        await frontier.add('c1', numbers(1))
        expect((await frontier.stats('c1')).state).toBe('finished')
        await frontier.add('c1', numbers(2))
        expect(await frontier.stats('c1')).toMatchObject({ state: 'running', finishedAt: null })
        await settle(await take(w), DONE)
        expect((await frontier.stats('c1')).state).toBe('finished')
      })
    })

    describe('links that kill their worker', () => {
      /** Lets `worker` die with everything it holds. */
      const die = (worker: string) => frontier.forfeit(worker)

      it('leases them alone after two deaths, and gives up after the third', async () => {
        await crawlOf({}, numbers(2))
        for (const name of ['w1', 'w2']) {
          expect(addresses(await workerOf(frontier, name).lease(9))).toEqual(['a.test/0', 'a.test/1'])
          await die(name)
        }
        const w3 = workerOf(frontier, 'w3')
        expect(addresses(await w3.lease(9))).toEqual(['a.test/0'])
        expect(await w3.lease(9)).toMatchObject({ leases: [], drain: true })
        await die('w3')
        const { link } = await found('a.test/0')
        expect(link).toMatchObject({ state: 'dead', reclaims: 3, attempts: 0 })
        expect(link.failures.map((failure) => failure.code)).toEqual(['poison'])
        // The innocent one gets its turn.
        const innocent = await take(workerOf(frontier, 'w4'))
        expect(addressOf(innocent)).toBe('a.test/1')
        expect(await settle(innocent, DONE)).toBe(true)
        expect(await frontier.stats('c1')).toMatchObject({
          state: 'finished',
          dead: 1,
          done: 1,
          failed: 0,
          reclaimed: 5,
        })
      })

      it('keeps what ended the worker, as it was said', async () => {
        await crawlOf({}, numbers(2))
        const cause = 'books.ts:12:9: 100 % "busy" \\ %d %s %%\n\u{1f4da} \0 for 35 s'
        for (const name of ['w1', 'w2', 'w3']) {
          await workerOf(frontier, name).lease(9)
          await frontier.forfeit(name, cause)
        }
        const { link } = await found('a.test/0')
        expect(link.failures).toMatchObject([{ code: 'poison', message: `${cause} (its worker ended 3 times)` }])
        // The other one was in flight with it twice, and is not blamed.
        expect((await found('a.test/1')).link).toMatchObject({ state: 'queued', failures: [] })
        expect(await frontier.deadByError('c1')).toMatchObject([{ code: 'poison', count: 1 }])
      })

      it('knows no cause of a lease that ran out', async () => {
        await crawlOf({ maxReclaims: 0, visibilityMs: 1000 }, numbers(1))
        await workerOf(frontier, 'w1').lease(1)
        await frontier.forfeit('w1', 'the thread ended')
        await workerOf(frontier, 'w2').lease(1)
        clock.advance(1000)
        await frontier.reap(10)
        expect((await found('a.test/0')).link.failures).toMatchObject([{ message: 'its lease ran out 2 times' }])
      })

      it('allows as many deaths alone as the spider says', async () => {
        await crawlOf({ maxReclaims: 2, visibilityMs: 1000 }, numbers(1))
        for (const name of ['w1', 'w2', 'w3', 'w4']) {
          expect((await found('a.test/0')).state).toBe('queued')
          await workerOf(frontier, name).lease(1)
          clock.advance(1000)
          await frontier.reap(10)
        }
        expect((await found('a.test/0')).state).toBe('dead')
        expect((await frontier.stats('c1')).state).toBe('finished')
      })

      it('asks a busy worker to drain, and skips only that lane', async () => {
        await crawlOf({}, [linkTo('bad.test/1', { priority: 5 }), linkTo('bad.test/2')])
        for (const name of ['w1', 'w2']) {
          await workerOf(frontier, name).lease(1)
          await die(name)
        }
        await frontier.add('c1', numbers(3, 'good.test'))
        const busy = workerOf(frontier, 'busy')
        await frontier.setHost('bad.test', { concurrency: 0 })
        const held = await take(busy)
        expect(addressOf(held)).toBe('good.test/0')
        await frontier.setHost('bad.test', { concurrency: null })
        const reply = await busy.lease(9)
        expect(addresses(reply)).toEqual(['good.test/1', 'good.test/2'])
        expect(reply.drain).toBe(true)
        for (const lease of [held, ...reply.leases]) await settle(lease, DONE)
        const alone = await busy.lease(9)
        expect(addresses(alone)).toEqual(['bad.test/1'])
        expect(alone.drain).toBe(false)
        // It ends well: the lane continues as before.
        await settle(alone.leases[0] as Lease, DONE)
        expect(await busy.lease(9)).toMatchObject({ leases: [{ link: { url: 'https://bad.test/2' } }], drain: false })
      })

      it('leases no other link in the same batch', async () => {
        await crawlOf({}, [linkTo('bad.test/1')])
        for (const name of ['w1', 'w2']) {
          await workerOf(frontier, name).lease(1)
          await die(name)
        }
        await frontier.add('c1', [linkTo('good.test/1', { priority: 50 })])
        const w = workerOf(frontier, 'w3')
        const first = await w.lease(9)
        if (frontier.can.priorities === 'approximate' && addresses(first)[0] === 'bad.test/1') {
          expect(first.leases).toHaveLength(1)
          expect(await w.lease(9)).toMatchObject({ leases: [], drain: true })
          return
        }
        expect(addresses(first)).toEqual(['good.test/1'])
        expect(first.drain).toBe(true)
        await settle(first.leases[0] as Lease, DONE)
        if (frontier.can.priorities === 'exact') await frontier.add('c1', [linkTo('good.test/2', { priority: -50 })])
        expect(addresses(await w.lease(9))).toEqual(['bad.test/1'])
      })

      it('is forgiven by a replay', async () => {
        await crawlOf({ maxReclaims: 0 }, numbers(1))
        for (const name of ['w1', 'w2']) {
          await workerOf(frontier, name).lease(1)
          await die(name)
        }
        expect((await found('a.test/0')).state).toBe('dead')
        expect(await frontier.replay('c1', { code: 'poison' })).toBe(1)
        await frontier.add('c1', [linkTo('b.test/1', { priority: 50 })])
        expectAddresses(await workerOf(frontier, 'w3').lease(9), ['b.test/1', 'a.test/0'])
        expect((await found('a.test/0')).link.reclaims).toBe(0)
      })
    })

    describe('pace (P1, P4)', () => {
      it('keeps the delay between starts over workers and crawls', async () => {
        const limits = { delayMs: 1000, concurrency: 10 }
        await crawlOf({ id: 'c1', limits }, numbers(5))
        await crawlOf({ id: 'c2', limits }, numbers(5))
        const workers = [workerOf(frontier, 'w1'), workerOf(frontier, 'w2')]
        const starts: number[] = []
        for (let t = 0; t < 4000; t += 100) {
          for (const w of workers) for (const _ of (await w.lease(5)).leases) starts.push(t)
          clock.advance(100)
        }
        expect(starts).toEqual([0, 1000, 2000, 3000])
      })

      it('counts the delay from the real dispatch when it was late', async () => {
        await crawlOf({ limits: { delayMs: 1000, concurrency: 10 } }, numbers(3))
        const w = workerOf(frontier, 'w1')
        const lease = await take(w)
        clock.advance(300)
        // Dispatched 200 ms after the permit, over in 100 ms.
        await release(lease, { elapsedMs: 100 })
        clock.advance(899)
        expect((await w.lease(1)).leases).toEqual([])
        clock.advance(1)
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('keeps the concurrency over workers and crawls, until release or settle', async () => {
        const limits = { delayMs: 0, concurrency: 3 }
        await crawlOf({ id: 'c1', limits }, numbers(5))
        await crawlOf({ id: 'c2', limits }, numbers(5))
        const w1 = workerOf(frontier, 'w1')
        const w2 = workerOf(frontier, 'w2')
        const [one, two] = (await w1.lease(2)).leases
        if (one === undefined || two === undefined) throw new Error('too little was leased')
        expect((await w2.lease(9)).leases).toHaveLength(1)
        expect((await w2.lease(9)).leases).toHaveLength(0)
        await release(one)
        await release(one)
        expect((await w2.lease(9)).leases).toHaveLength(1)
        await settle(one, DONE)
        expect((await w2.lease(9)).leases).toHaveLength(0)
        await settle(two, DONE)
        expect((await w2.lease(9)).leases).toHaveLength(1)
      })

      it('frees the slots of leases that ran out or were forfeited', async () => {
        await crawlOf({ limits: { delayMs: 0, concurrency: 1 }, visibilityMs: 1000 }, numbers(3))
        await workerOf(frontier, 'w1').lease(1)
        clock.advance(1000)
        const w2 = workerOf(frontier, 'w2')
        expect((await w2.lease(1)).leases).toEqual([])
        await frontier.reap(1)
        expect((await w2.lease(9)).leases).toHaveLength(1)
        await frontier.forfeit('w2')
        expect((await workerOf(frontier, 'w3').lease(9)).leases).toHaveLength(1)
      })

      it('does not let a lost lease free the slot of the one that has it', async () => {
        await crawlOf({ limits: { delayMs: 0, concurrency: 1 }, visibilityMs: 1000 }, numbers(2))
        const stale = await take(workerOf(frontier, 'frozen'))
        clock.advance(1000)
        await frontier.reap(1)
        const w = workerOf(frontier, 'w1')
        expect((await take(w)).link.url).toBe(stale.link.url)
        await release(stale, { report: { kind: 'throttled', retryAfterMs: 9000 } })
        expect(await settle(stale, DONE)).toBe(false)
        expect((await w.lease(1)).leases).toEqual([])
        expect((await frontier.hosts('c1', { limit: 1 }))[0]).toMatchObject({ inFlight: 1, blockedUntil: null })
      })

      it('keeps the rate, with its burst', async () => {
        // Six a minute and three at once.
        const rate = { count: 6, perMs: 60_000, burst: 3 }
        await crawlOf({ limits: { delayMs: 0, concurrency: 100, rate } }, numbers(30))
        const w = workerOf(frontier, 'w1')
        const starts: number[] = []
        for (let t = 0; t < 60_000; t += 1000) {
          for (const lease of (await w.lease(9)).leases) {
            starts.push(t)
            await release(lease)
          }
          clock.advance(1000)
        }
        expect(starts).toEqual([0, 0, 0, 10_000, 20_000, 30_000, 40_000, 50_000])
        // A rest fills the bucket again, and not more than full.
        clock.advance(600_000)
        expect((await w.lease(9)).leases).toHaveLength(3)
      })

      it('goes by the strictest of the crawls that have work there', async () => {
        await crawlOf({ id: 'fast', limits: { delayMs: 100, concurrency: 5 } }, numbers(9))
        await crawlOf({ id: 'slow', spider: 'films', limits: { delayMs: 1000, concurrency: 2 } }, numbers(1))
        const info = async () => (await frontier.hosts('fast', { limit: 1 }))[0]
        expect(await info()).toMatchObject({ delayMs: 1000, concurrency: 2 })
        const w = workerOf(frontier, 'w1')
        await w.lease(1)
        clock.advance(100)
        expect((await w.lease(1)).leases).toEqual([])
        await frontier.setState('slow', 'paused')
        expect(await info()).toMatchObject({ delayMs: 100, concurrency: 5 })
        expect((await w.lease(1)).leases).toHaveLength(1)
        await frontier.setState('slow', 'running')
        clock.advance(999)
        expect((await w.lease(1)).leases).toEqual([])
        clock.advance(1)
        const films = workerOf(frontier, 'w2', ['films'])
        expect((await films.lease(1)).leases).toEqual([])
        const fast = (await frontier.links({ crawl: 'fast', state: 'leased', limit: 1 }))[0]
        expect(fast).toBeDefined()
        await frontier.forfeit('w1')
        const last = await take(films)
        await settle(last, DONE)
        expect((await frontier.stats('slow')).state).toBe('finished')
        expect(await info()).toMatchObject({ delayMs: 100, concurrency: 5 })
      })

      it('applies the strictest limits to what a paused crawl still has in flight', async () => {
        await crawlOf({ id: 'c1' }, numbers(1))
        const lease = await take(workerOf(frontier, 'w1'))
        await crawlOf({ id: 'c2', spider: 'films', limits: { delayMs: 1000, concurrency: 9 } }, numbers(1))
        await frontier.setState('c1', 'paused')
        expect(await frontier.permit(lease, 'a.test')).toEqual({ ok: false, waitMs: 1000, lost: false })
      })

      it('goes by the own pace of a crawl as soon as the stricter one has ended there, slot freed before or not', async () => {
        await crawlOf({ id: 'fast', limits: { delayMs: 0, concurrency: 1 } }, numbers(1))
        await crawlOf({ id: 'slow', spider: 'films', limits: { delayMs: 1000, concurrency: 1 } }, numbers(1))
        const last = await take(workerOf(frontier, 'w2', ['films']))
        const w = workerOf(frontier, 'w1')
        expect((await w.lease(1)).leases).toEqual([])
        await frontier.release([{ lease: last, host: 'a.test', report: { kind: 'failed' }, elapsedMs: 0 }])
        expect((await w.lease(1)).leases).toEqual([])
        await settle(last, dead())
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('gives a paused crawl its turn after resuming, though its host was full when it was paused', async () => {
        const limits = { delayMs: 0, concurrency: 1 }
        await crawlOf({ id: 'a', limits }, numbers(1))
        await crawlOf({ id: 'b', spider: 'films', limits }, numbers(1))
        const held = await take(workerOf(frontier, 'w2', ['films']))
        const w = workerOf(frontier, 'w1')
        expect((await w.lease(1)).leases).toEqual([])
        await frontier.setState('a', 'paused')
        await settle(held, DONE)
        await frontier.setState('a', 'running')
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('serves the lanes of routes whose limits an edited spider no longer has', async () => {
        const limits = { delayMs: 0, concurrency: 1 }
        const links = [linkTo('a.test/1', { route: 'book' }), linkTo('a.test/2', { route: 'book' }), linkTo('a.test/3')]
        await crawlOf({ limits, routeLimits: { book: limits } }, links)
        await frontier.open(specOf({ limits, spiderHash: 'h2' }))
        const w = workerOf(frontier, 'w1')
        for (let left = links.length; left > 0; left--) await settle(await take(w), DONE)
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', done: 3 })
      })

      it('does not close a host for an hour when the clock steps back by one', async () => {
        await crawlOf({ limits: { delayMs: 500, concurrency: 9 } }, numbers(3))
        const w = workerOf(frontier, 'w1')
        await take(w)
        clock.advance(-3_600_000)
        await frontier.add('c1', [linkTo('a.test/new')])
        await w.lease(1)
        clock.advance(500)
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('says how long a permit is good for, by the host it is for', async () => {
        await crawlOf({ limits: { delayMs: 1_000, concurrency: 9 } }, numbers(1))
        const lease = await take(workerOf(frontier, 'w1'))
        await frontier.setHost('b.test', { delayMs: 100 })
        expect(await frontier.permit(lease, 'b.test')).toEqual({ ok: true, permitMs: 10 })
      })

      it('obeys what was set by hand, and robots.txt above all', async () => {
        await crawlOf({ limits: { delayMs: 1000, concurrency: 4 } }, numbers(9))
        const info = async () => (await frontier.hosts('c1', { limit: 1 }))[0]
        const w = workerOf(frontier, 'w1')
        await w.lease(1)
        await frontier.setHost('a.test', { delayMs: 200, concurrency: 2 })
        expect(await info()).toMatchObject({ delayMs: 200, concurrency: 2 })
        clock.advance(200)
        expect((await w.lease(1)).leases).toHaveLength(1)
        // A longer delay holds from the last start on.
        await frontier.setHost('a.test', { floorMs: 5000, concurrency: null })
        expect(await info()).toMatchObject({ delayMs: 5000, concurrency: 4 })
        clock.advance(4999)
        expect((await w.lease(1)).leases).toEqual([])
        clock.advance(1)
        expect((await w.lease(1)).leases).toHaveLength(1)
        await frontier.setHost('a.test', { delayMs: 9000 })
        expect(await info()).toMatchObject({ delayMs: 9000 })
        await frontier.setHost('a.test', { delayMs: null })
        expect(await info()).toMatchObject({ delayMs: 5000 })
        await frontier.setHost('a.test', { floorMs: null })
        expect(await info()).toMatchObject({ delayMs: 1000, concurrency: 4 })
      })

      it('takes settings for a host before anybody knows it', async () => {
        await frontier.setHost('a.test', { concurrency: 1 })
        await crawlOf({}, numbers(3))
        expect((await workerOf(frontier, 'w1').lease(9)).leases).toHaveLength(1)
      })

      it('asks for a permit by time while the slot is held', async () => {
        await crawlOf({ limits: { delayMs: 1000, concurrency: 1 } }, numbers(2))
        const w = workerOf(frontier, 'w1')
        const lease = await take(w)
        expect(await frontier.permit(lease, 'a.test')).toEqual({ ok: false, waitMs: 1000, lost: false })
        clock.advance(1000)
        expect(await frontier.permit(lease, 'a.test')).toMatchObject({ ok: true })
        expect((await frontier.hosts('c1', { limit: 1 }))[0]?.inFlight).toBe(1)
        // It was a start: the delay counts from it.
        await release(lease)
        clock.advance(989)
        expect((await w.lease(1)).leases).toEqual([])
        clock.advance(11)
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('needs a slot again after the release, and on other hosts', async () => {
        await crawlOf({ limits: { delayMs: 0, concurrency: 1 } }, [...numbers(3), ...numbers(1, 'b.test')])
        const w = workerOf(frontier, 'w1')
        const [a, b] = ordered((await w.lease(2)).leases)
        if (a === undefined || b === undefined) throw new Error('too little was leased')
        expect([a.link.host, b.link.host]).toEqual(['a.test', 'b.test'])
        const full = await frontier.permit(a, 'b.test')
        expect(full).toMatchObject({ ok: false, lost: false })
        expect(full.ok ? 0 : full.waitMs).toBeGreaterThan(0)
        await release(b)
        expect(await frontier.permit(a, 'b.test')).toMatchObject({ ok: true })
        expect(await frontier.permit(b, 'b.test')).toMatchObject({ ok: false, lost: false })
        await release(a, { host: 'b.test' })
        expect(await frontier.permit(b, 'b.test')).toMatchObject({ ok: true })
        // a still has its own slot; after its release another takes it.
        expect((await w.lease(1)).leases).toEqual([])
        await release(a)
        const other = await take(w)
        expect(await frontier.permit(a, 'a.test')).toMatchObject({ ok: false, lost: false })
        await settle(other, DONE)
        expect(await frontier.permit(a, 'a.test')).toMatchObject({ ok: true })
        await settle(a, DONE)
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('frees every slot with the settle, and with the loss', async () => {
        await crawlOf({ limits: { delayMs: 0, concurrency: 1 } }, [linkTo('a.test/1'), linkTo('a.test/2')])
        const w1 = workerOf(frontier, 'w1')
        const lease = await take(w1)
        expect(await frontier.permit(lease, 'far.test')).toMatchObject({ ok: true })
        await settle(lease, DONE)
        expect(await frontier.permit(lease, 'far.test')).toMatchObject({ ok: false, lost: true })
        const next = await take(w1)
        expect(await frontier.permit(next, 'far.test')).toMatchObject({ ok: true })
        await frontier.forfeit('w1')
        const last = await take(workerOf(frontier, 'w2'))
        expect(await frontier.permit(last, 'far.test')).toMatchObject({ ok: true })
      })

      it('learns nothing about a host from a slot that was never released', async () => {
        const far = ['far0.test', 'far1.test', 'far2.test', 'far3.test']
        await crawlOf({ limits: { delayMs: 100, concurrency: 1 } }, [
          ...numbers(2),
          ...far.map((host) => linkTo(`${host}/`, { delayMs: 60_000 })),
        ])
        const endings = [(lease: Lease) => settle(lease, DONE), () => frontier.forfeit('w1')]
        const w1 = workerOf(frontier, 'w1')
        for (const end of endings) {
          const lease = await take(w1)
          for (const host of far) expect(await frontier.permit(lease, host)).toMatchObject({ ok: true })
          const nextAt = clock.now() + 100
          clock.advance(40)
          await end(lease)
          for (const host of await frontier.hosts('c1', { limit: 9 }))
            expect(host).toMatchObject({ inFlight: 0, latencyMs: null, nextAt })
          clock.advance(60)
        }
      })

      it('goes by the limits of a pace key instead of those of the crawl', async () => {
        const keyLimits = { '@api': { delayMs: 0, concurrency: 2 }, 'slow.test': { delayMs: 5000, concurrency: 1 } }
        await crawlOf({ limits: { delayMs: 1000, concurrency: 1 }, keyLimits }, [
          ...Array.from({ length: 3 }, (_, i) => linkTo(`h${i}.test/`, { host: '@api' })),
          ...numbers(2, 'slow.test'),
          ...numbers(2, 'a.test'),
        ])
        const w = workerOf(frontier, 'w1')
        const { leases } = await w.lease(9)
        expect(leases.map((lease) => lease.link.host).sort()).toEqual(['@api', '@api', 'a.test', 'slow.test'])
        // A pace key and the hosts of its links are different things.
        const api = leases.find((lease) => lease.link.host === '@api')
        if (api === undefined) throw new Error('nothing was leased')
        expect(addressOf(api)).toBe('h0.test/')
        expect(await frontier.permit(api, 'h0.test')).toMatchObject({ ok: true, permitMs: 100 })
        for (const lease of leases) await settle(lease, DONE)
        clock.advance(1000)
        const next = await w.lease(9)
        expect(next.leases.map((lease) => lease.link.host).sort()).toEqual(['@api', 'a.test'])
        const infos = await frontier.hosts('c1', { limit: 9 })
        expect(infos.map(({ host, delayMs, concurrency }) => [host, delayMs, concurrency])).toEqual([
          ['@api', 0, 2],
          ['a.test', 1000, 1],
          ['slow.test', 5000, 1],
        ])
      })

      it('goes by the strictest of the crawls for a pace key too', async () => {
        const link = (address: string) => linkTo(address, { host: '@api' })
        const keyLimits = { '@api': { delayMs: 0, concurrency: 5 } }
        await crawlOf({ id: 'c1', keyLimits, limits: { delayMs: 9000, concurrency: 1 } }, [
          link('a.test/1'),
          link('b.test/1'),
        ])
        await crawlOf({ id: 'c2', spider: 'films', limits: { delayMs: 700, concurrency: 9 } }, [link('c.test/1')])
        expect((await frontier.hosts('c1', { limit: 1 }))[0]).toMatchObject({ delayMs: 700, concurrency: 5 })
        const w = workerOf(frontier, 'w1')
        await take(w)
        clock.advance(699)
        expect((await w.lease(1)).leases).toEqual([])
        clock.advance(1)
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('takes other limits of a pace key with the spec', async () => {
        const keyLimits = { '@api': { delayMs: 60_000, concurrency: 1 } }
        const links = [1, 2].map((i) => linkTo(`a.test/${i}`, { host: '@api' }))
        await crawlOf({ keyLimits }, links)
        const w = workerOf(frontier, 'w1')
        await take(w)
        clock.advance(10)
        expect((await w.lease(1)).leases).toEqual([])
        await frontier.open(specOf({ spiderHash: 'h2' }))
        expect((await w.lease(1)).leases).toHaveLength(1)
      })

      it('paces a host separately for each proxy', async () => {
        await crawlOf({ limits: { delayMs: 1000, concurrency: 9 } }, numbers(1))
        const lease = await take(workerOf(frontier, 'w1'))
        for (const key of ['a.test|203.0.113.7', 'a.test|203.0.113.8']) {
          expect(await frontier.permit(lease, key)).toMatchObject({ ok: true })
          expect(await frontier.permit(lease, key)).toEqual({ ok: false, waitMs: 1000, lost: false })
          await release(lease, { host: key, elapsedMs: 0 })
        }
      })

      it('asks the route too for another request to its own host', async () => {
        const routeLimits = { item: { delayMs: 1000, concurrency: 1 } }
        await crawlOf({ routeLimits }, [linkTo('a.test/1', { route: 'item' })])
        const lease = await take(workerOf(frontier, 'w1'))
        expect(await frontier.permit(lease, 'a.test')).toEqual({ ok: false, waitMs: 1000, lost: false })
        expect(await frontier.permit(lease, 'far.test')).toMatchObject({ ok: true })
      })

      it('paces hosts that only permits know, by the limits of the asking crawl', async () => {
        await crawlOf({ limits: { delayMs: 1000, concurrency: 4 } }, numbers(1))
        const lease = await take(workerOf(frontier, 'w1'))
        expect(await frontier.permit(lease, 'far.test')).toMatchObject({ ok: true })
        expect(await frontier.permit(lease, 'far.test')).toEqual({ ok: false, waitMs: 1000, lost: false })
      })

      it('blocks a host that throttles for everybody, as long as it says', async () => {
        await crawlOf({ id: 'c1' }, numbers(4))
        await crawlOf({ id: 'c2' }, numbers(1))
        const w = workerOf(frontier, 'w1')
        const lease = await take(w)
        await frontier.add('c1', numbers(1, 'b.test'))
        clock.advance(10)
        await release(lease, { report: { kind: 'throttled', retryAfterMs: 120_000 } })
        const until = clock.now() + 120_000
        expect((await frontier.hosts('c1', { limit: 1 }))[0]).toMatchObject({ blockedUntil: until, nextAt: until })
        expect(addresses(await workerOf(frontier, 'w2').lease(9))).toEqual(['b.test/0'])
        clock.advance(119_999)
        expect((await w.lease(9)).leases).toEqual([])
        clock.advance(1)
        expect((await w.lease(9)).leases).toHaveLength(4)
        expect((await frontier.hosts('c1', { limit: 1 }))[0]?.blockedUntil).toBeNull()
      })

      it('counts throttles of requests in flight together once', async () => {
        await crawlOf({}, numbers(9))
        const w = workerOf(frontier, 'w1')
        const { leases } = await w.lease(4)
        clock.advance(100)
        const report = { kind: 'throttled', retryAfterMs: null } as const
        await frontier.release(leases.map((lease) => ({ lease, host: 'a.test', elapsedMs: 100, report })))
        const blocked = async () => (await frontier.hosts('c1', { limit: 1 }))[0]?.blockedUntil
        expect(await blocked()).toBe(clock.now() + 5000)
        clock.advance(5000)
        const next = await take(w)
        clock.advance(1)
        await release(next, { report })
        expect(await blocked()).toBe(clock.now() + 10_000)
      })

      it('closes a host to which no way leads, for everybody, and takes it for no throttle', async () => {
        await crawlOf({ limits: { delayMs: 100, concurrency: 4 } }, numbers(4))
        const w = workerOf(frontier, 'w1')
        const lease = await take(w)
        await frontier.add('c1', numbers(1, 'b.test'))
        await release(lease, { elapsedMs: 30, report: { kind: 'wait', ms: 700 } })
        const until = clock.now() + 700
        const host = async () => (await frontier.hosts('c1', { limit: 1 }))[0]
        expect(await host()).toMatchObject({ blockedUntil: until, nextAt: until, latencyMs: null, inFlight: 0 })
        await settle(lease, { kind: 'back', afterMs: 0 })
        expect(addresses(await workerOf(frontier, 'w2').lease(9))).toEqual(['b.test/0'])
        clock.advance(699)
        expect((await w.lease(9)).leases).toEqual([])
        clock.advance(1)
        const next = await take(w)
        // A shorter wait opens nothing, and the backoff of the throttle begins at its first step.
        await release(next, { report: { kind: 'wait', ms: 1 } })
        clock.advance(100)
        const last = await take(w)
        clock.advance(1)
        await release(last, { report: { kind: 'throttled', retryAfterMs: null } })
        expect(await host()).toMatchObject({ blockedUntil: clock.now() + 5000, throttles: 1 })
      })

      describe('with an adaptive delay', () => {
        const limits = { delayMs: 100, concurrency: 4, adaptive: { target: 2, maxDelayMs: 1000 } }
        const pace = async (crawl = 'c1') => {
          const { delayMs, slowedFromMs, latencyMs } = (await frontier.hosts(crawl, { limit: 1 }))[0] ?? {}
          return { delayMs, slowedFromMs, latencyMs }
        }

        it('asks a slow host less often, and a fast one no faster than the delay', async () => {
          await crawlOf({ limits }, numbers(9))
          const w = workerOf(frontier, 'w1')
          expect(await pace()).toEqual({ delayMs: 100, slowedFromMs: null, latencyMs: null })
          const slow = await take(w)
          clock.advance(600)
          await release(slow, { elapsedMs: 600 })
          expect(await pace()).toEqual({ delayMs: 300, slowedFromMs: 100, latencyMs: 600 })
          const next = await take(w)
          expect(next.permitMs).toBe(30)
          expect(await frontier.permit(next, 'a.test')).toEqual({ ok: false, waitMs: 300, lost: false })
          expect((await w.lease(9)).leases).toEqual([])
          clock.advance(299)
          const w2 = workerOf(frontier, 'w2')
          expect((await w2.lease(9)).leases).toEqual([])
          clock.advance(1)
          const third = await take(w2)
          // A fast answer brings it nearer, also for those who wait already.
          await release(third, { elapsedMs: 0 })
          expect(await pace()).toEqual({ delayMs: 240, slowedFromMs: 100, latencyMs: 480 })
          clock.advance(239)
          expect((await w.lease(9)).leases).toEqual([])
          clock.advance(1)
          expect((await w.lease(9)).leases).toHaveLength(1)
        })

        it('is not slowed by the time that a response waited for us, which still counts for the next start', async () => {
          await crawlOf({ limits }, numbers(9))
          const w = workerOf(frontier, 'w1')
          const busy = await take(w)
          clock.advance(600)
          await release(busy, { elapsedMs: 50, latencyMs: 2 })
          expect(await pace()).toEqual({ delayMs: 100, slowedFromMs: null, latencyMs: 2 })
          // Dispatched 50 ms ago, whatever its latency.
          clock.advance(49)
          expect((await w.lease(9)).leases).toEqual([])
          clock.advance(1)
          await release(await take(w), { elapsedMs: 50, latencyMs: -1 })
          expect((await pace()).latencyMs).toBeCloseTo(1.6)
        })

        it('counts failures as slow answers, up to the longest delay, and recovers automatically', async () => {
          await crawlOf({ limits }, numbers(99))
          const w = workerOf(frontier, 'w1')
          const visit = async (report: HostReport) => {
            clock.advance(1000)
            await release(await take(w), { elapsedMs: 10, report })
          }
          await visit({ kind: 'ok' })
          await visit({ kind: 'failed' })
          expect((await pace()).latencyMs).toBe(208)
          for (let i = 0; i < 30; i++) await visit({ kind: 'failed' })
          expect(await pace()).toMatchObject({ delayMs: 1000, slowedFromMs: 100 })
          for (let i = 0; i < 40; i++) await visit({ kind: 'ok' })
          expect(await pace()).toMatchObject({ delayMs: 100, slowedFromMs: null })
        })

        it('is the strictest of the crawls there, and gives way to a hand', async () => {
          await crawlOf({ limits }, numbers(3))
          const other = { delayMs: 50, concurrency: 9, adaptive: { target: 4, maxDelayMs: 5000 } }
          await crawlOf({ id: 'c2', limits: other }, numbers(3))
          await release(await take(workerOf(frontier, 'w1')), { elapsedMs: 8000 })
          expect(await pace()).toMatchObject({ delayMs: 4000, slowedFromMs: 100 })
          await frontier.setHost('a.test', { floorMs: 4500 })
          expect(await pace()).toMatchObject({ delayMs: 4500, slowedFromMs: null })
          await frontier.setHost('a.test', { delayMs: 7, floorMs: null })
          expect(await pace('c2')).toMatchObject({ delayMs: 7, slowedFromMs: null })
          await frontier.setHost('a.test', { delayMs: null })
          await frontier.setState('c2', 'cancelled')
          expect(await pace()).toMatchObject({ delayMs: 1000, slowedFromMs: 100 })
        })

        it('counts for a pace key of its own', async () => {
          await crawlOf({ limits: { delayMs: 0, concurrency: 9 }, keyLimits: { 'a.test': limits } }, numbers(4))
          const w = workerOf(frontier, 'w1')
          await release(await take(w), { elapsedMs: 600 })
          expect(await pace()).toMatchObject({ delayMs: 300, slowedFromMs: 100 })
          clock.advance(299)
          expect((await w.lease(9)).leases).toEqual([])
          clock.advance(1)
          expect((await w.lease(9)).leases).toHaveLength(1)
        })
      })

      it('shows how a host does', async () => {
        await crawlOf({ limits: { delayMs: 0, concurrency: 8, rate: { count: 5, perMs: 1000, burst: 9 } } }, [
          ...numbers(4),
          linkTo('a.test/late', { delayMs: 60_000 }),
        ])
        const w = workerOf(frontier, 'w1')
        const [one, two, three] = (await w.lease(3)).leases
        if (one === undefined || two === undefined || three === undefined) throw new Error('too little was leased')
        await release(one, { elapsedMs: 100 })
        await release(two, { elapsedMs: 200 })
        await settle(one, DONE)
        await settle(two, dead())
        expect((await frontier.hosts('c1', { limit: 9 }))[0]).toMatchObject({
          host: 'a.test',
          pending: 2,
          inFlight: 1,
          done: 1,
          failed: 1,
          dead: 1,
          delayMs: 0,
          concurrency: 8,
          ratePerSecond: 5,
          blockedUntil: null,
          latencyMs: 120,
        })
      })

      it('lists the hosts with most pending links first when asked to', async () => {
        await crawlOf({}, [...numbers(1, 'a.test'), ...numbers(3, 'b.test'), ...numbers(2, 'c.test')])
        const hosts = await frontier.hosts('c1', { limit: 2, busiest: true })
        expect(hosts.map(({ host, pending }) => [host, pending])).toEqual([
          ['b.test', 3],
          ['c.test', 2],
        ])
      })

      it('lists hosts by name, page by page', async () => {
        await crawlOf(
          { id: 'c1' },
          ['c.test', 'a.test', 'b.test:8080'].map((host) => linkTo(`${host}/`)),
        )
        await crawlOf({ id: 'c2' }, [linkTo('z.test/')])
        const names = async (page: { limit: number; after?: string }) =>
          (await frontier.hosts('c1', page)).map((host) => host.host)
        expect(await names({ limit: 2 })).toEqual(['a.test', 'b.test:8080'])
        expect(await names({ limit: 2, after: 'b.test:8080' })).toEqual(['c.test'])
        expect((await frontier.hosts('c2', { limit: 1 }))[0]?.latencyMs).toBeNull()
      })
    })

    describe('budgets (P6)', () => {
      it('stops leasing when the bytes are spent, and ends with what is in flight', async () => {
        await crawlOf({ budget: { bytes: 1000 } }, numbers(5))
        const w = workerOf(frontier, 'w1')
        const [one, two] = (await w.lease(2)).leases
        if (one === undefined || two === undefined) throw new Error('too little was leased')
        await settle(one, done([linkTo('a.test/found')], 1000))
        expect((await w.lease(9)).leases).toEqual([])
        expect((await frontier.stats('c1')).state).toBe('running')
        expect(await settle(two, done([], 5))).toBe(true)
        expect(await frontier.stats('c1')).toMatchObject({
          state: 'finished',
          endedBy: 'budget_bytes',
          queued: 4,
          bytes: 1005,
        })
        expect(await found('a.test/4')).toMatchObject({ state: 'queued', crawlState: 'finished' })
      })

      it('stops when the time is over, counted from the first lease', async () => {
        await crawlOf({ budget: { ms: 5000 } }, numbers(5))
        clock.advance(60_000)
        const w = workerOf(frontier, 'w1')
        await settle(await take(w), DONE)
        clock.advance(4999)
        await settle(await take(w), DONE)
        clock.advance(1)
        expect((await w.lease(9)).leases).toEqual([])
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', endedBy: 'budget_time', queued: 3 })
      })

      it('says nothing of a budget when the work was done', async () => {
        await crawlOf({ budget: { bytes: 10 } }, numbers(1))
        await settle(await take(workerOf(frontier, 'w1')), done([], 10))
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', endedBy: null })
      })
    })

    describe('dead letters (Q6)', () => {
      const failure = (code: 'http_error' | 'timeout' | 'server_error') => ({ code, message: `it was ${code}` })

      beforeEach(async () => {
        await crawlOf({}, [...numbers(3, 'a.test'), ...numbers(2, 'b.test')])
        const { leases } = await workerOf(frontier, 'w0').lease(9)
        for (const lease of leases.sort((x, y) => (addressOf(x) < addressOf(y) ? -1 : 1))) {
          const address = addressOf(lease)
          if (address === 'b.test/1') await settle(lease, DONE)
          else await settle(lease, dead(failure(address === 'a.test/0' ? 'timeout' : 'http_error')))
        }
      })

      it('keeps them with their error', async () => {
        expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', dead: 4, done: 1, failed: 4, retried: 0 })
        expect(await found('a.test/0')).toMatchObject({
          state: 'dead',
          link: {
            attempts: 1,
            endedAt: clock.now(),
            failures: [{ code: 'timeout', message: 'it was timeout', at: clock.now() }],
          },
        })
      })

      it('groups them by error', async () => {
        const groups = await frontier.deadByError('c1')
        expect(groups).toMatchObject([
          { code: 'http_error', count: 3 },
          { code: 'timeout', count: 1, sample: 'https://a.test/0' },
        ])
        const oldest = ['https://a.test/1']
        const samples = frontier.can.ended === 'kept' ? oldest : [...oldest, 'https://a.test/2', 'https://b.test/0']
        expect(samples).toContain(groups[0]?.sample)
      })

      it('lists them by error and host', async () => {
        const list = async (query: object) =>
          listed(await frontier.links({ crawl: 'c1', state: 'dead', limit: 9, ...query }))
        expect(await list({})).toEqual(['a.test/0', 'a.test/1', 'a.test/2', 'b.test/0'])
        expect(await list({ code: 'http_error' })).toEqual(['a.test/1', 'a.test/2', 'b.test/0'])
        expect(await list({ code: 'http_error', host: 'b.test' })).toEqual(['b.test/0'])
        expect(await list({ code: 'poison' })).toEqual([])
      })

      it('replays one, some or all, with nothing used up', async () => {
        expect(await frontier.replay('c1', { fp: linkTo('b.test/1').fp })).toBe(0)
        expect((await frontier.stats('c1')).state).toBe('finished')
        expect(await frontier.replay('c1', { fp: linkTo('a.test/0').fp })).toBe(1)
        expect(await frontier.stats('c1')).toMatchObject({
          state: 'running',
          finishedAt: null,
          queued: 1,
          dead: 3,
          failed: 4,
        })
        expect((await found('a.test/0')).link).toMatchObject({
          attempts: 0,
          throttles: 0,
          endedAt: null,
          state: 'queued',
        })
        const w = workerOf(frontier, 'w1')
        expect(await take(w)).toMatchObject({ attempt: 1, bypassFresh: true, link: { url: 'https://a.test/0' } })
        await frontier.forfeit('w1')
        const again = await take(workerOf(frontier, 'w2'))
        expect(again).toMatchObject({ attempt: 1, bypassFresh: true })
        await settle(again, DONE)
        expect(await frontier.replay('c1', { code: 'http_error', host: 'a.test' })).toBe(2)
        expect(await frontier.replay('c1', {})).toBe(1)
        clock.advance(1)
        expectAddresses(await workerOf(frontier, 'w3').lease(9), ['a.test/1', 'b.test/0', 'a.test/2'])
      })

      it('purges for good', async () => {
        expect(await frontier.purge('c1', { code: 'timeout' })).toBe(1)
        expect(await frontier.purge('c1', { host: 'a.test' })).toBe(2)
        expect(await frontier.stats('c1')).toMatchObject({ dead: 1, skipped: 3, total: 5, state: 'finished' })
        expect(await frontier.replay('c1', { host: 'a.test' })).toBe(0)
        expect(await frontier.add('c1', numbers(3))).toMatchObject({ known: 3 })
        expect(await frontier.deadByError('c1')).toEqual([{ code: 'http_error', count: 1, sample: 'https://b.test/0' }])
      })

      it('keeps the newest failures of a long history', async () => {
        await frontier.replay('c1', { fp: linkTo('a.test/0').fp })
        const w = workerOf(frontier, 'w1')
        for (let i = 0; i < FAILURES_KEPT + 5; i++) {
          await settle(await take(w), retry(0, { failure: { code: 'server_error', message: `no ${i}` } }))
        }
        const { failures } = (await found('a.test/0')).link
        expect(failures).toHaveLength(FAILURES_KEPT)
        expect(failures.at(-1)?.message).toBe(`no ${FAILURES_KEPT + 4}`)
        expect(failures[0]?.message).toBe('no 5')
      })
    })

    describe('looking', () => {
      it('explains a link in every state', async () => {
        await crawlOf({}, [
          linkTo('a.test/done', { priority: 9 }),
          linkTo('a.test/dead', { priority: 8 }),
          linkTo('a.test/skipped', { priority: 7 }),
          linkTo('a.test/leased', { priority: 6 }),
          linkTo('a.test/first', { priority: 5 }),
          linkTo('a.test/second'),
          linkTo('a.test/late', { delayMs: 1000 }),
        ])
        const w = workerOf(frontier, 'w1')
        await settle(await take(w), DONE)
        await settle(await take(w), dead())
        await settle(await take(w), { kind: 'skipped', failure: { code: 'robots_disallowed', message: 'forbidden' } })
        clock.advance(10)
        await take(w)
        await expectDone('a.test/done', { attempts: 1 })
        expect(await found('a.test/dead')).toMatchObject({ state: 'dead', position: null })
        expect(await found('a.test/skipped')).toMatchObject({
          state: 'skipped',
          link: { attempts: 0, failures: [{ code: 'robots_disallowed' }] },
        })
        expect(await found('a.test/leased')).toMatchObject({
          state: 'leased',
          position: null,
          link: { worker: 'w1', leasedAt: clock.now(), attempts: 0 },
        })
        expect(await found('a.test/first')).toMatchObject({
          state: 'queued',
          position: 0,
          crawlState: 'running',
          host: { host: 'a.test', pending: 3 },
        })
        expect(await found('a.test/second')).toMatchObject({ state: 'queued', position: 1 })
        expect(await found('a.test/late')).toMatchObject({
          state: 'delayed',
          position: null,
          link: { dueAt: clock.now() + 990, worker: null, leasedAt: null, endedAt: null },
        })
        expect(await frontier.explain('c1', linkTo('a.test/never').fp)).toEqual({ state: 'unknown' })
      })

      it('lists links in the order they came, page by page', async () => {
        await crawlOf({}, [...numbers(5), ...numbers(2, 'b.test')])
        const w = workerOf(frontier, 'w1')
        await settle((await w.lease(1)).leases[0] as Lease, retry(0))
        const all = await scan(frontier, 'c1', 3)
        expect(await scan(frontier, 'c1', 2)).toEqual(all)
        expect(listed(all)).toEqual([
          'a.test/0',
          'a.test/1',
          'a.test/2',
          'a.test/3',
          'a.test/4',
          'b.test/0',
          'b.test/1',
        ])
        expect(all.find((link) => addressOf(link) === 'a.test/1')).toMatchObject({
          fp: linkTo('a.test/1').fp,
          host: 'a.test',
          route: 'page',
          state: 'queued',
          depth: 0,
          priority: 0,
          attempts: 0,
          throttles: 0,
          reclaims: 0,
          addedAt: clock.now(),
          dueAt: null,
          worker: null,
          leasedAt: null,
          endedAt: null,
          failures: [],
        })
        const onB = await frontier.links({ crawl: 'c1', host: 'b.test', state: 'queued', limit: 1 })
        const rest = await frontier.links({
          crawl: 'c1',
          host: 'b.test',
          state: 'queued',
          limit: 9,
          after: onB[0]?.cursor,
        })
        expect(rest).toHaveLength(1)
        expect(listed([...onB, ...rest])).toEqual(['b.test/0', 'b.test/1'])
        expect(await frontier.links({ crawl: 'c1', state: 'leased', limit: 9 })).toEqual([])
      })

      it('knows its workers', async () => {
        await crawlOf({}, numbers(6))
        const w2 = workerOf(frontier, 'w2')
        const startedAt = clock.now()
        const { leases } = await w2.lease(4)
        clock.advance(100)
        await workerOf(frontier, 'w1').lease(1)
        const [one, two, three] = leases
        if (one === undefined || two === undefined || three === undefined) throw new Error('too little was leased')
        await settle(one, DONE)
        await settle(two, dead())
        await settle(three, retry(1000))
        await w2.lease(0)
        const now = clock.now()
        const never = { beatAt: null, lostAt: null }
        const nowhere = { progressAt: null, about: null, ...never }
        expect(await frontier.workers()).toEqual([
          { worker: 'w1', inFlight: 1, done: 0, failed: 0, startedAt: now, seenAt: now, ...nowhere },
          {
            worker: 'w2',
            inFlight: 1,
            done: 1,
            failed: 2,
            startedAt,
            seenAt: now,
            progressAt: now,
            about: null,
            ...never,
          },
        ])
        await frontier.forfeit('w2')
        expect((await frontier.workers()).map((worker) => worker.worker)).toEqual(['w1'])
      })

      it('knows where its workers run, and when they last got anywhere', async () => {
        await crawlOf({}, numbers(3))
        const worker = 'w1'
        const about = { machine: 'm1', pid: 7, version: '1.2.3' }
        const ask = (seq: number, where?: typeof about) =>
          frontier.lease({ worker, seq, want: 1, spiders: ['books'], ...(where === undefined ? {} : { about: where }) })
        const info = async () => (await frontier.workers())[0]
        const [one] = (await ask(1, about)).leases
        const [two] = (await ask(2)).leases
        if (one === undefined || two === undefined) throw new Error('too little was leased')
        expect(await info()).toMatchObject({ about, progressAt: null })
        clock.advance(100)
        await settle(one, { kind: 'skipped', failure: FAILURE })
        const progressAt = clock.now()
        clock.advance(100)
        await settle(two, retry(1000))
        await ask(3, { ...about, pid: 8 })
        expect(await info()).toMatchObject({ about: { ...about, pid: 8 }, progressAt, seenAt: clock.now() })
      })

      describe('the rate', () => {
        const rate = async () => (await frontier.stats('c1')).rate
        const endOneEvery = async (ms: number, count: number) => {
          const w = workerOf(frontier, 'w1')
          for (let i = 0; i < count; i++) {
            await settle(await take(w), DONE)
            clock.advance(ms)
          }
        }

        it('is that of the last ten seconds, or since the start, and 0 when it has stalled', async () => {
          await crawlOf({}, numbers(60))
          await endOneEvery(1_000, 4)
          expect(await rate()).toBeCloseTo(1, 1)
          await endOneEvery(1_000, 16)
          expect(await rate()).toBeCloseTo(1, 1)
          await endOneEvery(250, 40)
          expect(await rate()).toBeCloseTo(4, 0)
          clock.advance(10_000)
          expect(await rate()).toBe(0)
        })

        it('leaves out the time of a pause', async () => {
          await crawlOf({}, numbers(60))
          await endOneEvery(500, 20)
          await frontier.setState('c1', 'paused')
          clock.advance(300_000)
          await frontier.setState('c1', 'running')
          await endOneEvery(500, 6)
          expect(await rate()).toBeGreaterThan(1.6)
          expect(await rate()).toBeLessThan(2.4)
        })

        it('leaves out time in which nobody watched the queue: no worker ran, or it was down', async () => {
          await crawlOf({}, numbers(60))
          await frontier.reap(9)
          await endOneEvery(500, 20)
          clock.advance(300_000)
          await frontier.reap(9)
          await endOneEvery(500, 6)
          await frontier.reap(9)
          expect(await rate()).toBeGreaterThan(1.6)
          expect(await rate()).toBeLessThan(2.4)
        })

        it('does not flicker when pages are rare', async () => {
          await crawlOf({}, numbers(60))
          await endOneEvery(15_000, 5)
          await endOneEvery(0, 1)
          for (let second = 0; second < 14; second++) {
            expect(await rate()).toBeCloseTo(1 / 15, 2)
            clock.advance(1_000)
          }
          clock.advance(45_000)
          expect(await rate()).toBe(0)
        })
      })

      it('keeps its counters true through a long mixed crawl', async () => {
        await crawlOf({ limits: { delayMs: 0, concurrency: 3 }, visibilityMs: 5000 }, [
          ...numbers(20, 'a.test'),
          ...numbers(20, 'b.test'),
        ])
        const w = workerOf(frontier, 'w1')
        for (let round = 0; (await frontier.stats('c1')).state === 'running'; round++) {
          if (round > 500) throw new Error('the crawl does not end')
          for (const [i, lease] of (await w.lease(4)).leases.entries()) {
            const turn = (round + i) % 7
            if (turn === 0) continue
            if (turn === 1) await settle(lease, { kind: 'back', afterMs: 100 })
            else if (turn === 2 && lease.attempt < 3) await settle(lease, retry(500))
            else if (turn === 3) await settle(lease, dead())
            else if (turn === 4) await settle(lease, { kind: 'skipped', failure: FAILURE })
            else await settle(lease, done([linkTo(`c.test/${lease.link.fp}`)], 10))
          }
          clock.advance(700)
          await frontier.reap(100)
          expect(await faultsOf('c1')).toEqual([])
        }
        const stats = await frontier.stats('c1')
        expect(stats.done + stats.dead + stats.skipped).toBe(stats.total)
        for (const host of await frontier.hosts('c1', { limit: 9 }))
          expect(host).toMatchObject({ inFlight: 0, pending: 0 })
      })

      it('does not mind being open to anything', async () => {
        expect(frontier.can.priorities).toMatch(/^(exact|approximate)$/)
        expect(await frontier.reap(10)).toBe(0)
        expect(await frontier.forfeit('nobody')).toBe(0)
        expect(await frontier.settle([])).toEqual([])
        expect(await frontier.extend('nobody', [])).toEqual([])
        await frontier.release([])
        expect(await frontier.workers()).toEqual([])
        await crawlOf({ limits: OPEN }, [])
      })
    })
  })

  frontierEntryContract(name, makeDriver)
  frontierSteerContract(name, makeDriver)
  frontierLivenessContract(name, makeDriver)
  frontierTurnsContract(name, makeDriver)
  frontierPermitlessContract(name, makeDriver)
}
