import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { openAs } from '../../src/coordinator/crawls.js'
import { moveCrawl } from '../../src/coordinator/move.js'
import type { Frontier } from '../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { SqliteFrontierEngine } from '../../src/frontier/sqlite/sqlite-engine.js'
import { SqliteFrontier } from '../../src/frontier/sqlite/sqlite-frontier.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { DONE, dead, FAILURE, linkTo, retry, scan, specOf, workerOf } from '../contract/frontier-fixtures.js'

let clock: ManualClock
let from: Frontier
let to: Frontier
let store: RecordStore
let directory: string

beforeEach(async () => {
  clock = new ManualClock()
  directory = mkdtempSync(join(tmpdir(), 'shoal-move-'))
  const db = new SqliteDb(join(directory, 'shoal.db'))
  SqliteFrontierEngine.migrate(db)
  from = new SqliteFrontier(callDirectly(db, new SqliteFrontierEngine(db, clock)), async () => db.close())
  to = new MemoryFrontier({ clock })
  store = memoryRecordStore()
  const gen = await store.generations.of(await from.identity())
  await openAs({ frontier: from, store, queueAddress: 'sqlite:x' }, specOf({ gen }), clock.now())
})

afterEach(async () => {
  await from.close()
  rmSync(directory, { recursive: true })
})

const move = () => moveCrawl({ from, to, store, toAddress: 'redis://x:6379', now: clock.now() }, 'c1')

/** One link in each state. */
async function fill(): Promise<void> {
  const worker = workerOf(from, 'w1')
  await from.add(
    'c1',
    [1, 2, 3, 4].map((n) => linkTo(`a.test/${n}`)),
  )
  const { leases } = await worker.lease(4)
  const outcomes = [DONE, dead(), { kind: 'skipped', failure: FAILURE } as const, retry(60_000)]
  await from.settle(leases.map((lease, index) => ({ lease, outcome: outcomes[index] ?? DONE })))
  await from.add('c1', [linkTo('b.test/5', { priority: 9, data: { n: 5 } })])
  await from.seeded('c1')
}

describe('moving a crawl', () => {
  it('takes every link along, as it was', async () => {
    await fill()
    await from.setState('c1', 'paused')
    const before = await scan(from, 'c1')
    expect(await move()).toEqual({ crawl: 'c1', pending: 2, dead: 1, skipped: 1, done: 1 })
    const shown = ({ cursor: _c, addedAt: _a, endedAt: _e, failures, ...link }: (typeof before)[number]) => ({
      ...link,
      failures: link.state === 'done' ? [] : failures,
    })
    expect((await scan(to, 'c1')).map(shown)).toEqual(before.map(shown))
    expect(await to.stats('c1')).toMatchObject({ state: 'running', seeding: false, total: 5 })
    expect(await from.stats('c1')).toMatchObject({ state: 'cancelled' })
    expect(await store.crawls.notes()).toMatchObject([
      { crawl: 'c1', queue: 'redis://x:6379', queueIdentity: await to.identity(), spec: { gen: 2 } },
    ])
    const { leases } = await workerOf(to, 'w1').lease(9)
    expect(leases).toMatchObject([{ gen: 2, link: { url: 'https://b.test/5', data: { n: 5 } } }])
  })

  it('can be repeated after it was interrupted', async () => {
    await fill()
    await from.setState('c1', 'paused')
    const restore = to.restore.bind(to)
    to.restore = async (crawl, links) => {
      await restore(crawl, links.slice(0, 2))
      throw new Error('the machine went down')
    }
    await expect(move()).rejects.toThrow('went down')
    expect(await from.stats('c1')).toMatchObject({ state: 'paused' })
    to.restore = restore
    await move()
    expect(await to.stats('c1')).toMatchObject({ total: 5, state: 'running' })
  })

  it('refuses a crawl that runs, has ended or is in somebody’s hands', async () => {
    await fill()
    await expect(move()).rejects.toMatchObject({ code: 'usage', hint: expect.stringContaining('shoal pause c1') })
    await workerOf(from, 'w2').lease(1)
    await from.setState('c1', 'paused')
    await expect(move()).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('still in flight') })
    await from.setState('c1', 'cancelled')
    await expect(move()).rejects.toMatchObject({ code: 'usage' })
    await expect(to.stats('c1')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('moves thousands, page by page', async () => {
    await from.add(
      'c1',
      Array.from({ length: 2_500 }, (_, n) => linkTo(`h${n % 7}.test/${n}`)),
    )
    await from.setState('c1', 'paused')
    const seen: number[] = []
    const now = clock.now()
    await moveCrawl({ from, to, store, toAddress: '', now, onProgress: (links) => seen.push(links) }, 'c1')
    expect(seen).toEqual([1_000, 2_000, 2_500])
    expect(await to.stats('c1')).toMatchObject({ queued: 2_500, seeding: true })
  })
})
