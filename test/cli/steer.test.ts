import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isAskedToDrain } from '../../src/observe/drain.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { fingerprint } from '../../src/url/fingerprint.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { shoal } from './cli.js'
import { CRAWL, seedDatabase, url } from './seeded-database.js'

const dirs: string[] = []
const newDir = () => {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-steer-'))
  dirs.push(dir)
  return dir
}
const seed = newDir()

beforeAll(() => seedDatabase(join(seed, 'shoal.db')))
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
})

/** Each test has a database of its own. */
function database() {
  const dir = newDir()
  cpSync(seed, dir, { recursive: true })
  const file = join(dir, 'shoal.db')
  const address = `sqlite:${file}`
  const call = (...args: string[]) => shoal([...args, '--queue', address], { cwd: dir })
  const json = async (...args: string[]) => JSON.parse((await call(...args, '--json')).out) as unknown
  const look = async <Answer>(at: (backends: Backends) => Promise<Answer>): Promise<Answer> => {
    const backends = await openBackends({ queue: address, store: address })
    return at(backends).finally(() => backends.close())
  }
  return { call, json, look, file }
}

describe('links', () => {
  it('are promoted, retried and removed, and the audit log knows', async () => {
    const { call, json, look } = database()
    const [promoted, retried, replayed, removed] = await Promise.all([
      call('links', 'promote', url('queued-later')),
      call('links', 'retry', url('delayed')),
      json('links', 'retry', url('dead'), '--crawl', 'shop'),
      call('links', 'remove', url('queued')),
    ])
    expect(promoted.out).toBe(`${url('queued-later')} is next for its host (crawl ${CRAWL})\n`)
    expect(retried.out).toContain('is due now')
    expect(replayed).toEqual({ crawl: CRAWL, url: url('dead'), order: 'retry', steered: 'ok' })
    expect(removed.out).toContain('is removed')
    await look(async ({ frontier, store }) => {
      expect(await frontier.stats(CRAWL)).toMatchObject({ queued: 3, delayed: 0, dead: 0, skipped: 2 })
      expect(await frontier.explain(CRAWL, fingerprint(url('queued-later')))).toMatchObject({ position: 0 })
      const { entries } = await store.audit.entries({ limit: 9 })
      expect(entries.map(({ action }) => action).sort()).toEqual([
        'link.promote',
        'link.remove',
        'link.retry',
        'link.retry',
      ])
    })
  })

  it('that cannot be steered say why', async () => {
    const { call, look } = database()
    const before = await look(({ frontier }) => frontier.stats(CRAWL))
    const cases = [
      ['promote', url('leased'), 2, 'is in flight'],
      ['remove', url('done'), 2, 'has already ended'],
      ['promote', url('dead'), 2, 'shoal links retry <url>'],
      ['remove', url('never-seen'), 5, 'no crawl has'],
      ['remove', 'not a url', 2, 'is not a URL'],
    ] as const
    const answers = await Promise.all(cases.map(([order, address]) => call('links', order, address)))
    for (const [nth, [order, address, code, message]] of cases.entries()) {
      const answer = answers[nth]
      expect(answer?.code, `${order} ${address}`).toBe(code)
      expect(answer?.err).toContain(message)
      expect(answer?.err).not.toContain('    at ')
    }
    const { queued, delayed, dead, skipped } = before
    expect(await look(({ frontier }) => frontier.stats(CRAWL))).toMatchObject({ queued, delayed, dead, skipped })
  })
})

describe('hosts set', () => {
  it('closes a host, says so, and opens it again', async () => {
    const { call, json, look } = database()
    expect((await call('hosts', 'set', 'shop.example', '--block')).out).toContain('shop.example: blocked manually')
    const [hosts, explained, both] = await Promise.all([
      call('hosts'),
      call('explain', url('queued')),
      call('hosts', 'set', 'shop.example', '--block', '--unblock'),
    ])
    expect(hosts.out).toContain('blocked manually')
    expect(explained.out).toContain('blocked manually')
    expect(both.code).toBe(2)
    const set = () => look(async ({ frontier }) => (await frontier.hosts(CRAWL, { limit: 1 }))[0]?.set)
    expect(await set()).toMatchObject({ blocked: true })
    expect(await json('hosts', 'set', 'shop.example', '--unblock')).toEqual({ host: 'shop.example', blocked: false })
    expect(await set()).toBeNull()
  })
})

describe('workers drain', () => {
  it('leaves word for the worker, by its name or the beginning of it', async () => {
    const { call, json, look } = database()
    const [named, begun, nobody] = await Promise.all([
      json('workers', 'drain', 'w1'),
      call('workers', 'drain', 'w'),
      call('workers', 'drain', 'x9'),
    ])
    expect(named).toEqual({ worker: 'w1', inFlight: 1, draining: true })
    expect(begun.out).toContain('w1 is finishing 1 page in flight and will stop')
    expect(nobody).toMatchObject({ code: 5, err: expect.stringContaining('there is no worker x9') })
    expect(await look(({ notes }) => isAskedToDrain(notes, 'w1'))).toBe(true)
  })

  it('promises nothing of a worker that nobody hears of', async () => {
    const { call, file } = database()
    const db = new SqliteDb(file)
    db.exec('UPDATE workers SET seen_at = seen_at - 120000')
    db.close()
    const { out } = await call('workers', 'drain', 'w1')
    expect(out).toContain('was last seen 2 min')
    expect(out).not.toContain('within seconds')
  })
})
