import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { Frontier, Seen, SeenMode } from '../../src/frontier/frontier.js'
import {
  addresses,
  counterFaults,
  DONE,
  linkTo,
  type MakeFrontier,
  scan,
  specOf,
  workerOf,
} from './frontier-fixtures.js'

const MODES: readonly SeenMode[] = ['exact', 'bloom', 'set']
const TTL_MS = 3_600_000

/** What "seen" means, for engines that know every way of remembering it (`can.seen`). */
export function frontierSeenContract(name: string, makeDriver: MakeFrontier): void {
  describe(`what was seen: ${name}`, () => {
    let clock: ManualClock
    let frontier: Frontier
    let close: () => Promise<void>

    beforeEach(async () => {
      clock = new ManualClock()
      const made = await makeDriver(clock)
      frontier = made.frontier
      close = () => made.close()
    })

    afterEach(async () => {
      for (const { id } of await frontier.crawls()) {
        const stats = await frontier.stats(id)
        const faults = counterFaults(stats, await scan(frontier, id, 1000), { done: stats.done, can: frontier.can })
        expect(faults).toEqual([])
      }
      await close()
    })

    const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, i) => linkTo(`a.test/${from + i}`))
    const open = (id: string, spider: string, seen: Partial<Seen>) =>
      frontier.open(
        specOf({ id, spider, seen: { mode: 'exact', scope: 'crawl', ttlMs: null, errorRate: 0.001, ...seen } }),
      )

    async function visitAll(spider: string): Promise<string[]> {
      const worker = workerOf(frontier, `worker of ${spider}`, [spider])
      const visited: string[] = []
      for (;;) {
        const reply = await worker.lease(100)
        if (reply.leases.length === 0) return visited
        visited.push(...addresses(reply))
        await frontier.settle(reply.leases.map((lease) => ({ lease, outcome: DONE })))
      }
    }

    describe.each(MODES)('%s', (mode) => {
      it('knows a link in every state, once', async () => {
        await open('c1', 'books', { mode })
        expect(await frontier.add('c1', [...numbers(3), ...numbers(2)])).toMatchObject({ added: 3, known: 2 })
        expect(await visitAll('books')).toHaveLength(3)
        expect(await frontier.add('c1', numbers(5))).toMatchObject({ added: 2, known: 3 })
        expect(await frontier.explain('c1', linkTo('a.test/0').fp)).toMatchObject({ state: 'done' })
        expect(await frontier.explain('c1', linkTo('a.test/99').fp)).toEqual({ state: 'unknown' })
      })

      it.each([
        ['crawl', { again: 3, other: 3 }],
        ['spider', { again: 0, other: 3 }],
        ['site', { again: 0, other: 0 }],
      ] as const)('is shared as far as its scope: %s', async (scope, { again, other }) => {
        await open('c1', 'books', { mode, scope })
        await frontier.add('c1', numbers(3))
        await open('c2', 'books', { mode, scope })
        expect(await frontier.add('c2', numbers(3))).toMatchObject({ added: again, known: 3 - again })
        await open('c3', 'films', { mode, scope })
        expect(await frontier.add('c3', numbers(3))).toMatchObject({ added: other, known: 3 - other })
        await frontier.seeded('c3')
        expect(await visitAll('films')).toHaveLength(other)
        expect((await frontier.stats('c3')).state).toBe('finished')
      })

      it('is forgotten with its crawl, unless others share it', async () => {
        for (const scope of ['crawl', 'spider'] as const) {
          await open(scope, scope, { mode, scope })
          await frontier.add(scope, numbers(2))
          await frontier.setState(scope, 'cancelled')
          await frontier.remove(scope)
          await open(scope, scope, { mode, scope })
          const kept = scope === 'crawl' ? 0 : 2
          expect(await frontier.add(scope, numbers(2))).toMatchObject({ known: kept, added: 2 - kept })
        }
      })

      it('is forgotten after its time, not before, and visited again', async () => {
        await open('c1', 'books', { mode, ttlMs: TTL_MS })
        await frontier.add('c1', numbers(2))
        await frontier.seeded('c1')
        expect(await visitAll('books')).toHaveLength(2)
        clock.advance(TTL_MS - 1)
        expect(await frontier.add('c1', numbers(2))).toMatchObject({ added: 0, known: 2 })
        clock.advance(TTL_MS + 1)
        expect(await frontier.add('c1', numbers(2))).toMatchObject({ added: 2, known: 0 })
        expect((await frontier.stats('c1')).state).toBe('running')
        expect(await visitAll('books')).toHaveLength(2)
        expect((await frontier.stats('c1')).state).toBe('finished')
      })

      it('loses no link that it forgets while the link waits', async () => {
        await open('c1', 'books', { mode, ttlMs: TTL_MS })
        await frontier.add('c1', numbers(1))
        clock.advance(2 * TTL_MS)
        await frontier.add('c1', numbers(1))
        // An engine that does not find waiting links by their fingerprint may visit it twice.
        expect(new Set(await visitAll('books'))).toEqual(new Set(['a.test/0']))
      })
    })

    it('bloom takes no more for known than it may, and forgets nothing', async () => {
      const count = 5_000
      await open('c1', 'books', { mode: 'bloom', errorRate: 0.01 })
      let added = 0
      for (let from = 0; from < count; from += 1000) added += (await frontier.add('c1', numbers(1000, from))).added
      expect(count - added).toBeLessThanOrEqual(count * 0.01 * 2)
      for (let from = 0; from < count; from += 1000)
        expect(await frontier.add('c1', numbers(1000, from))).toMatchObject({ added: 0, known: 1000 })
    })

    it('exact knows every one of many', async () => {
      const count = 20_000
      await open('c1', 'books', {})
      let added = 0
      for (let from = 0; from < count; from += 2000) added += (await frontier.add('c1', numbers(2000, from))).added
      expect(added).toBe(count)
      for (let from = 0; from < count; from += 2000)
        expect(await frontier.add('c1', numbers(2000, from))).toMatchObject({ added: 0, known: 2000 })
    })
  })
}
