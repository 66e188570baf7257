import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { ProxyAsk } from '../../src/proxy/proxy-ledger.js'
import { type BackendAddresses, type Backends, backendsFromPorts, openBackends } from '../../src/wire/backends.js'
import { tempDir } from '../support/cli.js'
import { redisForTest } from '../support/redis-opened.js'

/** What one process writes down, another one reads: processes are played by several backends. */
const toClose: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close()
})

async function backends(addresses: BackendAddresses): Promise<Backends> {
  const opened = await openBackends(addresses)
  toClose.push(() => opened.close())
  return opened
}

function askOf(ask: string): ProxyAsk {
  const limits = { delayMs: 0, concurrency: 1 }
  return { ask, pool: 'p', proxies: ['x'], host: 'a.test', site: 'a.test', limits, holdMs: 60_000 }
}

async function shareOneState(one: Backends, other: Backends): Promise<void> {
  expect(await one.proxies.grant([askOf('1')])).toMatchObject([{ ok: true, proxy: 'x' }])
  expect(await other.proxies.grant([askOf('2')])).toEqual([{ ok: false, waitMs: 100, why: 'paced' }])
  expect(await other.proxies.scores('p', { limit: 10 })).toMatchObject([{ site: '' }, { site: 'a.test', inFlight: 1 }])
  expect(await one.notes.claim('k', 'one', 60_000, 60_000)).toMatchObject({ kind: 'yours' })
  expect(await other.notes.claim('k', 'other', 60_000, 60_000)).toMatchObject({ kind: 'taken' })
  expect(await one.notes.post('k', 'one', 'text', 60_000)).toBe(true)
  expect(await other.notes.claim('k', 'other', 60_000, 60_000)).toMatchObject({ kind: 'note', note: { text: 'text' } })
}

describe('what the fleet shares', () => {
  it('is in the database file, for processes and threads', async () => {
    const dir = tempDir('shared')
    toClose.push(() => dir.remove())
    const address = `sqlite:${join(dir.path, 'shoal.db')}`
    const one = await backends({ queue: address, store: address })
    await shareOneState(one, await backends({ queue: address, store: address }))
    const ports = one.connect()
    if (ports === null) throw new Error('a backends on a file has ports')
    const thread = await backendsFromPorts(ports)
    expect(await thread.notes.read('k')).toMatchObject({ text: 'text' })
    expect(await thread.proxies.scoresOn('p', 'a.test')).toMatchObject([{ proxy: 'x', inFlight: 1 }])
    await thread.close()
  })

  it('is in Redis', async () => {
    const { url } = await redisForTest()
    const dir = tempDir('shared')
    toClose.push(() => dir.remove())
    const store = `sqlite:${join(dir.path, 'shoal.db')}`
    await shareOneState(await backends({ queue: url, store }), await backends({ queue: url, store }))
  })

  it('is in memory for one process', async () => {
    const one = await backends({ queue: 'memory:', store: 'memory:' })
    await shareOneState(one, one)
  })
})
