import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { openBackends } from '../../src/wire/backends.js'
import { tempDir } from '../support/cli.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { shoal } from './cli.js'
import { CRAWL, seedBackends, url } from './seeded-database.js'

vi.setConfig({ testTimeout: 60_000 })
const CANARY = 'canary-pa55'
const dir = tempDir('postgres-cli')
let server: PostgresServer
let store: string
const queue = `sqlite:${join(dir.path, 'queue.db')}`

beforeAll(async () => {
  server = await startPostgres({ password: CANARY })
  store = await server.createDatabase()
})
afterAll(async () => {
  await server.end()
  dir.remove()
})

const call = async (...args: string[]) => {
  const done = await shoal([...args, '--queue', queue, '--store', store], { cwd: dir.path })
  expect(`${done.out}${done.err}`).not.toContain(CANARY)
  return done
}
const json = async (...args: string[]) => JSON.parse((await call(...args, '--json')).out) as Record<string, unknown>

describe('tables in Postgres', () => {
  it('are not made by a command that looks, shown by a dry run, made by migrate, once', async () => {
    const looking = await call('records', 'list')
    expect(looking).toMatchObject({ code: 5, err: expect.stringContaining('no tables of Shoal') })
    expect(await json('migrate', '--dry-run')).toMatchObject({
      dryRun: true,
      migrations: [
        { number: 1, name: 'results', breaking: false, sql: expect.stringContaining('CREATE TABLE shoal.records') },
        { number: 2, name: 'match-stats', breaking: false },
      ],
    })
    expect((await call('records', 'list')).code).toBe(5)
    expect((await call('migrate')).out).toContain('0001 results')
    expect((await call('migrate')).out).toBe('tables are up to date\n')
  })

  it('hold what a crawl writes, and every command finds it', async () => {
    const backends = await openBackends({ queue, store })
    await seedBackends(backends.frontier, backends.store)
    await backends.close()
    expect(await json('records', 'list')).toMatchObject({ kind: 'product', key: 'p1', data: { title: '=Lamp' } })
    expect(await json('records', 'rejected')).toMatchObject({ key: 'p2', reason: 'invalid' })
    expect(await json('explain', url('done'))).toMatchObject({ state: 'done', crawl: CRAWL, records: [{ key: 'p1' }] })
    expect((await call('export', '--format', 'csv')).out).toContain("'=Lamp")
    expect((await call('doctor')).out).toMatch(/store tables +up to date/)
  })

  it('are for a store in Postgres only', async () => {
    const done = await shoal(['migrate', '--store', `sqlite:${join(dir.path, 'x.db')}`], { cwd: dir.path })
    expect(done).toMatchObject({ code: 2, err: expect.stringContaining('SQLite needs no maintenance') })
  })
})

describe('retention', () => {
  it('shows, sets and applies a rule', async () => {
    expect((await call('retention', 'show')).out).toContain('keep fetches: forever')
    expect((await call('retention', 'set')).code).toBe(2)
    expect((await call('retention', 'set', '--fetches', '3 weeks')).err).toContain('Expected a duration like 90d')
    expect((await call('retention', 'set', '--archive', 'ftp://x')).err).toContain('pages_address')
    const archive = join(dir.path, 'archive')
    await call('retention', 'set', '--fetches', '30d', '--partition', 'week', '--archive', `files:${archive}`)
    expect(await json('retention', 'show')).toMatchObject({
      rule: { unit: 'week', fetchesMs: 30 * 86_400_000, versionsMs: null, archive: `files:${archive}` },
    })
    expect((await call('retention', 'apply', '--dry-run')).out).toBe('nothing has expired\n')

    const backends = await openBackends({ queue, store })
    const at = systemClock.now() - 90 * 86_400_000
    const [row] = await backends.store.fetches.of({
      fp: (await backends.frontier.links({ crawl: CRAWL, state: 'dead', limit: 1 }))[0]?.fp ?? '',
      limit: 1,
    })
    if (row === undefined) throw new Error('the seeded crawl has a dead link with a fetch')
    await backends.store.records.write({ records: [], rejected: [], fetches: [{ ...row, at }] })
    await backends.close()

    const [due] = (await call('retention', 'apply', '--dry-run')).out.split(':')
    expect(due).toMatch(/^fetches_\d{8}$/)
    expect(await call('retention', 'apply')).toMatchObject({ code: 2, err: expect.stringContaining('Pass --yes') })
    expect(await json('retention', 'apply', '--yes')).toMatchObject({ done: true, retired: [{ name: due }] })
    const [file = ''] = readdirSync(archive)
    expect(file.startsWith(`${due}-`)).toBe(true)
    expect(readFileSync(join(archive, file)).subarray(0, 4).toString()).toBe('PAR1')
    expect((await call('retention', 'apply', '--yes')).out).toBe('nothing has expired\n')
  })
})

it('says in one line what is wrong with the store', async () => {
  for (const [address, code] of [
    [store.replace(CANARY, `${CANARY}x`), 'store_auth'],
    [store.replace(/\/[^/]*$/, '/nowhere'), 'store_missing'],
    ['postgres://127.0.0.1:1/db', 'store_unreachable'],
    ['postgres://127.0.0.1:1', 'store_address'],
    ['mysql://127.0.0.1/db', 'queue_unknown'],
  ] as const) {
    const done = await shoal(['records', 'list', '--queue', queue, '--store', address], { cwd: dir.path })
    expect(done.err.trim().split('\n')).toHaveLength(2)
    expect(done.err).toContain(`error ${code}: `)
    expect(done.err).not.toContain(CANARY)
  }
})
