import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { ExitAsk } from '../../src/proxy/proxy-ledger.js'
import { openPlant, type Plant, type PlantAddresses, plantFromPorts } from '../../src/wire/backends.js'
import { tempDir } from '../support/cli.js'
import { redisForTest } from '../support/redis-opened.js'

/** What one process writes down, another one reads: processes are played by several plants. */
const toClose: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close()
})

async function plant(addresses: PlantAddresses): Promise<Plant> {
  const opened = await openPlant(addresses)
  toClose.push(() => opened.close())
  return opened
}

function askOf(ask: string): ExitAsk {
  const limits = { delayMs: 0, concurrency: 1 }
  return { ask, pool: 'p', exits: ['x'], host: 'a.test', site: 'a.test', limits, holdMs: 60_000 }
}

async function shareOneState(one: Plant, other: Plant): Promise<void> {
  expect(await one.exits.grant([askOf('1')])).toMatchObject([{ ok: true, exit: 'x' }])
  expect(await other.exits.grant([askOf('2')])).toEqual([{ ok: false, waitMs: 100, why: 'paced' }])
  expect(await other.exits.scores('p', { limit: 10 })).toMatchObject([{ site: '' }, { site: 'a.test', inFlight: 1 }])
  expect(await one.board.claim('k', 'one', 60_000, 60_000)).toMatchObject({ kind: 'yours' })
  expect(await other.board.claim('k', 'other', 60_000, 60_000)).toMatchObject({ kind: 'taken' })
  expect(await one.board.post('k', 'one', 'text', 60_000)).toBe(true)
  expect(await other.board.claim('k', 'other', 60_000, 60_000)).toMatchObject({ kind: 'note', note: { text: 'text' } })
}

describe('what the fleet shares', () => {
  it('stands in the database file, for processes and threads', async () => {
    const dir = tempDir('shared')
    toClose.push(() => dir.remove())
    const address = `sqlite:${join(dir.path, 'shoal.db')}`
    const one = await plant({ queue: address, store: address })
    await shareOneState(one, await plant({ queue: address, store: address }))
    const ports = one.connect()
    if (ports === null) throw new Error('a plant on a file has ports')
    const thread = await plantFromPorts(ports)
    expect(await thread.board.read('k')).toMatchObject({ text: 'text' })
    expect(await thread.exits.scoresOn('p', 'a.test')).toMatchObject([{ exit: 'x', inFlight: 1 }])
    await thread.close()
  })

  it('stands in Redis', async () => {
    const { url } = await redisForTest()
    const dir = tempDir('shared')
    toClose.push(() => dir.remove())
    const store = `sqlite:${join(dir.path, 'shoal.db')}`
    await shareOneState(await plant({ queue: url, store }), await plant({ queue: url, store }))
  })

  it('stands in memory for one process', async () => {
    const one = await plant({ queue: 'memory:', store: 'memory:' })
    await shareOneState(one, one)
  })
})
