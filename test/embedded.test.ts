import { spawnSync } from 'node:child_process'
import { readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../src/clock.js'
import type { Lease } from '../src/frontier/frontier.js'
import { type Backends, openBackends } from '../src/wire/backends.js'
import { linkTo, specOf } from './contract/frontier-fixtures.js'
import { tempDir } from './support/cli.js'

/** The product's own backends: SQLite in a thread, several processes on one file. Processes are played by several backends. */
let dir: ReturnType<typeof tempDir>
const opened: Backends[] = []

async function backends(): Promise<Backends> {
  const queue = `sqlite:${join(dir.path, 'shoal.db')}`
  const one = await openBackends({ queue, store: queue })
  opened.push(one)
  return one
}

beforeEach(() => {
  dir = tempDir('embedded')
})

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
  dir.remove()
})

describe('the database thread', () => {
  it('answers calls of one turn together, each with its own error', async () => {
    const { frontier } = await backends()
    await frontier.open(specOf())
    const [added, missing, stats] = await Promise.allSettled([
      frontier.add('c1', [linkTo('a.test/1')]),
      frontier.add('nobody', [linkTo('a.test/2')]),
      frontier.stats('c1'),
    ])
    expect(added).toMatchObject({ status: 'fulfilled', value: { added: 1 } })
    expect(missing).toMatchObject({ status: 'rejected', reason: { code: 'not_found' } })
    expect(stats).toMatchObject({ status: 'fulfilled', value: { total: 1 } })
  })

  it('fails a call that cannot be sent, and no other of its turn', async () => {
    const { frontier } = await backends()
    await frontier.open(specOf())
    const [added, unsendable, stats] = await Promise.allSettled([
      frontier.add('c1', [linkTo('a.test/1')]),
      frontier.add('c1', [{ ...linkTo('a.test/2'), data: (() => {}) as never }]),
      frontier.stats('c1'),
    ])
    expect(added).toMatchObject({ status: 'fulfilled', value: { added: 1 } })
    expect(unsendable).toMatchObject({ status: 'rejected', reason: { code: 'internal' } })
    expect(stats).toMatchObject({ status: 'fulfilled', value: { total: 1 } })
  })

  it('lets its process exit in the middle of its work', async () => {
    const wire = new URL('../dist/wire/backends.js', import.meta.url).href
    const address = `sqlite:${join(dir.path, 'busy.db')}`
    const script = join(dir.path, 'busy.mjs')
    writeFileSync(
      script,
      `import { openBackends } from ${JSON.stringify(wire)}
       const { store } = await openBackends({ queue: ${JSON.stringify(address)}, store: ${JSON.stringify(address)} })
       for (let n = 0; n < 5000; n++) store.records.counts({})
       setTimeout(() => process.exit(3), Number(process.argv[2]))`,
    )
    for (const afterMs of [10, 15, 20, 30]) {
      const { status, signal, stderr } = spawnSync(process.execPath, [script, `${afterMs}`])
      expect({ status, signal, stderr: String(stderr) }).toEqual({ status: 3, signal: null, stderr: '' })
    }
  })

  it('leases no link twice to two processes that ask at the same time', async () => {
    const all = await Promise.all([backends(), backends(), backends()])
    const first = all[0] as Backends
    await first.frontier.open(specOf())
    await first.frontier.add(
      'c1',
      Array.from({ length: 500 }, (_, index) => linkTo(`h${index % 50}.test/${index}`)),
    )
    await first.frontier.seeded('c1')
    const seen: string[] = []
    await Promise.all(
      all.map(async ({ frontier }, index) => {
        for (let seq = 1; ; seq++) {
          const { leases } = await frontier.lease({ worker: `w${index}`, seq, want: 7, spiders: ['books'] })
          if (leases.length === 0) return
          seen.push(...leases.map((lease) => lease.link.url))
          await frontier.settle(leases.map((lease) => ({ lease, outcome: { kind: 'done', links: [], bytes: 1 } })))
        }
      }),
    )
    expect(seen.length).toBe(500)
    expect(new Set(seen).size).toBe(500)
    expect(await first.frontier.stats('c1')).toMatchObject({ state: 'finished', done: 500 })
  })

  it('sees what another process has changed', async () => {
    const [one, two] = await Promise.all([backends(), backends()])
    await one.frontier.open(specOf({ limits: { delayMs: 60_000, concurrency: 1 } }))
    await one.frontier.add('c1', [linkTo('a.test/1'), linkTo('a.test/2'), linkTo('b.test/1')])
    const lease = (of: Backends, worker: string, seq: number) =>
      of.frontier.lease({ worker, seq, want: 1, spiders: ['books'] }).then(({ leases }) => leases[0]?.link.host)
    expect(await lease(one, 'w1', 1)).toBe('a.test')
    expect(await lease(two, 'w2', 1)).toBe('b.test')
    expect(await lease(one, 'w1', 2)).toBe(undefined)
    await two.frontier.setHost('a.test', { delayMs: 0, concurrency: 9 })
    expect(await lease(one, 'w1', 3)).toBe('a.test')
  })

  it('keeps leases alive off the event loop, and tells of those that are lost', async () => {
    const { frontier, keep } = await backends()
    await frontier.open(specOf({ visibilityMs: 1_200 }))
    await frontier.add('c1', [linkTo('a.test/1'), linkTo('b.test/1')])
    const lost: string[] = []
    keep?.({
      worker: 'w1',
      lostAfterMs: 10_000,
      heartbeatMs: 300,
      holdMs: 60_000,
      held: () => [],
      onLost: (tokens) => lost.push(...tokens),
    })
    const { leases } = await frontier.lease({ worker: 'w1', seq: 1, want: 2, spiders: ['books'] })
    const [kept, taken] = leases as [Lease, Lease]
    // A handler that burns CPU: nothing on this thread runs meanwhile.
    const until = performance.now() + 2_500
    while (performance.now() < until);
    expect(await frontier.settle([{ lease: kept, outcome: { kind: 'done', links: [], bytes: 0 } }])).toEqual([true])
    // Another process takes this worker for dead.
    const other = await backends()
    await other.frontier.forfeit('w1')
    await expect.poll(() => lost, { timeout: 10_000 }).toEqual([taken.token])
  })

  it('beats for a worker, so that others take over when its process is gone, long before its leases run out', async () => {
    const [one, two] = await Promise.all([backends(), backends()])
    const keeping = { lostAfterMs: 2_000, heartbeatMs: 10_000, holdMs: 60_000, held: () => [], onLost: () => {} }
    await one.frontier.open(specOf({ visibilityMs: 60_000 }))
    await one.frontier.add('c1', [linkTo('a.test/1'), linkTo('b.test/1')])
    one.keep?.({ worker: 'w1', ...keeping })
    two.keep?.({ worker: 'w2', ...keeping })
    for (const [of, worker] of [
      [one, 'w1'],
      [two, 'w2'],
    ] as const)
      await of.frontier.lease({ worker, seq: 1, want: 1, spiders: ['books'] })
    await systemClock.sleep(3_000)
    expect(await two.frontier.stats('c1')).toMatchObject({ leased: 2, reclaimed: 0 })
    await one.close()
    await expect.poll(async () => (await two.frontier.stats('c1')).reclaimed, { timeout: 10_000 }).toBe(1)
    expect((await two.frontier.workers()).map(({ inFlight, lostAt }) => [inFlight, lostAt === null])).toEqual([
      [0, true],
      [1, false],
    ])
  })

  it('does not keep a lease for ever', async () => {
    const { frontier, keep } = await backends()
    await frontier.open(specOf({ visibilityMs: 600 }))
    await frontier.add('c1', [linkTo('a.test/1')])
    keep?.({ worker: 'w1', lostAfterMs: 10_000, heartbeatMs: 200, holdMs: 500, held: () => [], onLost: () => {} })
    await frontier.lease({ worker: 'w1', seq: 1, want: 1, spiders: ['books'] })
    await expect.poll(async () => (await frontier.stats('c1')).queued, { timeout: 10_000 }).toBe(1)
    expect(await frontier.stats('c1')).toMatchObject({ reclaimed: 1 })
  })

  it('keeps a lease that waits for a store that is away, however long', async () => {
    const { frontier, keep } = await backends()
    await frontier.open(specOf({ visibilityMs: 1_500 }))
    await frontier.add('c1', [linkTo('a.test/1')])
    let waiting: Lease[] = []
    const held = () => waiting.map(({ token, epoch }) => ({ token, epoch, settling: false, waiting: true }))
    const kept = keep?.({ worker: 'w1', lostAfterMs: 10_000, heartbeatMs: 200, holdMs: 1_600, held, onLost: () => {} })
    waiting = (await frontier.lease({ worker: 'w1', seq: 1, want: 1, spiders: ['books'] })).leases as Lease[]
    await systemClock.sleep(4_500)
    expect(await frontier.stats('c1')).toMatchObject({ leased: 1, reclaimed: 0 })
    waiting = []
    await expect.poll(async () => (await frontier.stats('c1')).queued, { timeout: 10_000 }).toBe(1)
    kept?.stop()
  })
})

describe('a database file that is not the one that was opened', () => {
  const remove =
    (...ends: string[]) =>
    (file: string) => {
      for (const end of ends) rmSync(`${file}${end}`)
    }
  const replace = (file: string) => {
    renameSync(file, `${file}.moved`)
    writeFileSync(file, '')
  }

  it.each([
    ['deleted', 'deleted', remove('')],
    ['deleted with its log', 'deleted', remove('', '-wal', '-shm')],
    ['without its log', 'deleted', remove('-wal')],
    ['replaced', 'replaced', replace],
    ['in a folder that is deleted', 'deleted', (file: string) => rmSync(dirname(file), { recursive: true })],
  ] as const)('%s is reported at the latest when it is closed, and its content is saved', async (_, change, harm) => {
    const file = join(dir.path, 'data', 'shoal.db')
    const lost = await openBackends({ queue: `sqlite:${file}`, store: `sqlite:${file}` })
    await lost.frontier.open(specOf())
    await lost.frontier.add('c1', [linkTo('a.test/1')])
    harm(file)
    await expect(lost.close()).rejects.toMatchObject({
      code: 'db_lost',
      message: expect.stringMatching(
        new RegExp(
          `shoal\\.db(-wal)? was ${change} .*\\(0 pages done, 0 records\\) is saved in .*-rescued-${process.pid}\\.db$`,
        ),
      ),
    })
    const rescued = `sqlite:${join(dirname(file), `shoal-rescued-${process.pid}.db`)}`
    const saved = await openBackends({ queue: rescued, store: rescued })
    expect(await saved.frontier.stats('c1')).toMatchObject({ total: 1 })
    await saved.close()
  })

  it('fails every call from then on, and is saved once', async () => {
    const file = join(dir.path, 'a.db')
    const one = await openBackends({ queue: `sqlite:${file}`, store: `sqlite:${file}` })
    await one.frontier.open(specOf())
    rmSync(file)
    const code = () =>
      one.frontier.stats('c1').then(
        () => 'none',
        (error: { code: string }) => error.code,
      )
    await expect.poll(code, { timeout: 10_000 }).toBe('db_lost')
    await expect(one.frontier.add('c1', [linkTo('a.test/1')])).rejects.toMatchObject({ code: 'db_lost' })
    await expect(one.close()).rejects.toMatchObject({ code: 'db_lost' })
    expect(readdirSync(dir.path).filter((name) => name.includes('rescued'))).toHaveLength(1)
  })

  it('says so when its content is gone as well', async () => {
    const file = join(dir.path, 'b.db')
    const before = await openBackends({ queue: `sqlite:${file}`, store: `sqlite:${file}` })
    await before.frontier.open(specOf())
    await before.close()
    const one = await openBackends({ queue: `sqlite:${file}`, store: `sqlite:${file}` })
    truncateSync(file)
    await expect(one.close()).rejects.toMatchObject({
      code: 'db_lost',
      message: expect.stringContaining('was emptied while it was in use'),
    })
  })
})
