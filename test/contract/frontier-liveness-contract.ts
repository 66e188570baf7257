import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { Frontier, Lease } from '../../src/frontier/frontier.js'
import { LOST_AFTER_MS, WATCH_GAP_MS } from '../../src/frontier/liveness.js'
import {
  addressOf,
  counterFaults,
  DONE,
  linkTo,
  type MakeFrontier,
  scan,
  specOf,
  workerOf,
} from './frontier-fixtures.js'

/** How often the processes of a fleet reap, and the keeper of a worker beats. */
const REAP_MS = 1_000
const BEAT_MS = LOST_AFTER_MS / 4

/** A worker that no longer beats is lost: what it holds is handed out again, long before its leases run out. */
export function frontierLivenessContract(name: string, makeDriver: MakeFrontier): void {
  describe(`frontier liveness: ${name}`, () => {
    let clock: ManualClock
    let frontier: Frontier
    let close: () => Promise<void>
    let asked: Map<string, ReturnType<typeof workerOf>>

    beforeEach(async () => {
      clock = new ManualClock()
      ;({ frontier, close } = await makeDriver(clock))
      asked = new Map()
      await frontier.open(specOf({ limits: { delayMs: 0, concurrency: 2 } }))
    })

    afterEach(async () => {
      const found = counterFaults(await frontier.stats('c1'), await scan(frontier, 'c1'))
      expect(found.filter((fault) => frontier.can.ended === 'kept' || !fault.startsWith('done:'))).toEqual([])
      await close()
    })

    const add = (...paths: readonly string[]) =>
      frontier.add(
        'c1',
        paths.map((path) => linkTo(path)),
      )
    const leased = async (worker: string, want = 9): Promise<Lease[]> => {
      const asking = asked.get(worker) ?? workerOf(frontier, worker)
      asked.set(worker, asking)
      return (await asking.lease(want)).leases
    }
    const names = (leases: readonly Lease[]) => leases.map(addressOf).sort()
    const livenessOf = async (worker: string) => {
      const info = (await frontier.workers()).find((one) => one.worker === worker)
      return { inFlight: info?.inFlight, beatAt: info?.beatAt, lostAt: info?.lostAt }
    }

    /** The fleet reaps every second, and those of `alive` beat. Answers how many links were returned. */
    async function watch(ms: number, alive: readonly string[] = [], limit = 100): Promise<number> {
      let reaped = 0
      for (let passed = 0; passed < ms; passed += REAP_MS) {
        clock.advance(Math.min(REAP_MS, ms - passed))
        if ((passed + REAP_MS) % BEAT_MS < REAP_MS)
          for (const worker of alive) await frontier.beat(worker, LOST_AFTER_MS)
        reaped += await frontier.reap(limit)
      }
      return reaped
    }

    it('hands out again what a silent worker holds, and its slots, after the time that it asked for', async () => {
      await add('a.test/1', 'a.test/2', 'a.test/3')
      await frontier.reap(1)
      await frontier.beat('dead', LOST_AFTER_MS)
      const held = await leased('dead')
      expect(held).toHaveLength(2)
      expect(await watch(LOST_AFTER_MS - 1)).toBe(0)
      expect(await leased('w2')).toEqual([])
      expect(await watch(1)).toBe(2)
      const [first, second] = held
      const again = await leased('w2')
      expect(names(again)).toEqual(['a.test/1', 'a.test/2'])
      // It was only frozen: it is fenced.
      if (first === undefined || second === undefined) throw new Error('too little was leased')
      expect(await frontier.settle([{ lease: first, outcome: DONE }])).toEqual([false])
      expect(await frontier.permit(second, 'a.test')).toMatchObject({ ok: false, lost: true })
      expect(await frontier.extend('dead', [first.token])).toEqual([first.token])
      expect(await frontier.stats('c1')).toMatchObject({ leased: 2, queued: 1, reclaimed: 2 })
      expect((await scan(frontier, 'c1')).map(({ reclaims }) => reclaims).sort()).toEqual([0, 1, 1])
      expect(await frontier.settle(again.map((lease) => ({ lease, outcome: DONE })))).toEqual([true, true])
    })

    it('says whether a beat was expected', async () => {
      expect(await frontier.beat('w1', LOST_AFTER_MS)).toBe(false)
      expect(await frontier.beat('w1', LOST_AFTER_MS)).toBe(true)
      await frontier.reap(1)
      await watch(LOST_AFTER_MS)
      expect(await frontier.beat('w1', LOST_AFTER_MS)).toBe(false)
      await frontier.forfeit('w1')
      expect(await frontier.beat('w1', LOST_AFTER_MS)).toBe(false)
    })

    it('takes nothing from a worker that beats, or that never did', async () => {
      await add('a.test/1', 'b.test/1')
      await frontier.reap(1)
      await frontier.beat('well', LOST_AFTER_MS)
      const [own] = await leased('well', 1)
      const [other] = await leased('old', 1)
      expect(await watch(5 * LOST_AFTER_MS, ['well'])).toBe(0)
      if (own === undefined || other === undefined) throw new Error('too little was leased')
      expect(await frontier.extend('well', [own.token])).toEqual([])
      expect(await frontier.extend('old', [other.token])).toEqual([])
    })

    it('starts again when nobody has watched, and when the clock was set back', async () => {
      await add('a.test/1')
      await frontier.reap(1)
      await frontier.beat('w1', LOST_AFTER_MS)
      await leased('w1')
      // The queue was down, or every machine slept: all beats are old, and nobody is lost.
      clock.advance(LOST_AFTER_MS + WATCH_GAP_MS)
      expect(await frontier.reap(100)).toBe(0)
      expect(await livenessOf('w1')).toMatchObject({ lostAt: clock.now() + LOST_AFTER_MS })
      expect(await watch(LOST_AFTER_MS - 1)).toBe(0)
      // A gap that is just short enough is one reaper that was late.
      expect(await frontier.beat('w1', LOST_AFTER_MS)).toBe(true)
      expect(await watch(LOST_AFTER_MS - WATCH_GAP_MS)).toBe(0)
      clock.advance(WATCH_GAP_MS)
      expect(await frontier.reap(100)).toBe(1)
    })

    it('shows the last beat, and when the links return', async () => {
      await add('a.test/1', 'b.test/1')
      await frontier.reap(1)
      await leased('old', 1)
      expect(await livenessOf('old')).toEqual({ inFlight: 1, beatAt: null, lostAt: null })
      await frontier.beat('w1', 4_000)
      await leased('w1', 1)
      const beatAt = clock.now()
      await watch(3_000)
      expect(await livenessOf('w1')).toEqual({ inFlight: 1, beatAt, lostAt: beatAt + 4_000 })
      await watch(1_000)
      expect(await livenessOf('w1')).toEqual({ inFlight: 0, beatAt: null, lostAt: null })
    })

    it('returns at most as many links as asked, and the rest with the next call', async () => {
      await frontier.open(specOf())
      await add('a.test/1', 'a.test/2', 'a.test/3', 'b.test/1')
      await frontier.reap(1)
      await frontier.beat('w1', LOST_AFTER_MS)
      // Over several shards a call need not ask all of them.
      while ((await frontier.stats('c1')).queued > 0) await leased('w1')
      await watch(LOST_AFTER_MS - 1)
      clock.advance(1)
      expect(await frontier.reap(2)).toBe(2)
      expect(await frontier.reap(0)).toBe(0)
      expect(await frontier.reap(2)).toBe(2)
      expect(await frontier.reap(2)).toBe(0)
      expect(await frontier.stats('c1')).toMatchObject({ queued: 4, leased: 0, reclaimed: 4 })
    })

    it('counts a lease once that ran out while its worker was lost', async () => {
      await frontier.open(specOf({ visibilityMs: LOST_AFTER_MS }))
      await add('a.test/1')
      await frontier.reap(1)
      await frontier.beat('w1', LOST_AFTER_MS)
      await leased('w1')
      expect(await watch(LOST_AFTER_MS)).toBe(1)
      expect(await frontier.stats('c1')).toMatchObject({ queued: 1, leased: 0, reclaimed: 1 })
    })

    it('makes a link that loses workers again and again a dead letter, as with leases that run out', async () => {
      await add('a.test/1')
      await frontier.seeded('c1')
      await frontier.reap(1)
      for (const worker of ['w1', 'w2', 'w3']) {
        await frontier.beat(worker, LOST_AFTER_MS)
        expect(await leased(worker)).toHaveLength(1)
        expect(await watch(LOST_AFTER_MS)).toBe(1)
      }
      expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', dead: 1, reclaimed: 3 })
      expect(await frontier.deadByError('c1')).toMatchObject([{ code: 'poison', count: 1 }])
    })

    it('frees slots on hosts other than the own', async () => {
      await frontier.open(specOf({ limits: { delayMs: 0, concurrency: 1 } }))
      await add('a.test/1', 'b.test/1')
      await frontier.reap(1)
      await frontier.beat('w1', LOST_AFTER_MS)
      const held = (await leased('w1')).find(({ link }) => link.host === 'a.test')
      const other = 'far.test'
      if (held === undefined) throw new Error('too little was leased')
      expect(await frontier.permit(held, other)).toMatchObject({ ok: true })
      await watch(LOST_AFTER_MS)
      const again = (await leased('w2')).find(({ link }) => link.host === 'a.test')
      if (again === undefined) throw new Error('too little was leased')
      expect(await frontier.permit(again, other)).toMatchObject({ ok: true })
    })
  })
}
