import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { shoal } from './cli.js'
import { CRAWL, seedDatabase, url } from './seeded-database.js'

const seed = mkdtempSync(join(tmpdir(), 'shoal-cli-'))

beforeAll(() => seedDatabase(join(seed, 'shoal.db')))

/** Each test has a database of its own. */
function database() {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-cli-'))
  cpSync(seed, dir, { recursive: true })
  const call = (...args: string[]) => shoal([...args, '--queue', `sqlite:${join(dir, 'shoal.db')}`], { cwd: dir })
  const json = async (...args: string[]) => {
    const { code, out, err } = await call(...args, '--json')
    expect(err).toBe('')
    return {
      code,
      rows: out
        .trimEnd()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    }
  }
  return { dir, call, json }
}

describe('status', () => {
  it('tells programs what was promised', async () => {
    const { code, rows } = await database().json('status')
    expect(code).toBe(0)
    expect(Object.keys(rows[0] ?? {}).slice(0, 13)).toEqual(
      'state startedAt total queued delayed leased done failed retried dead rate etaSeconds decidedBy'.split(' '),
    )
    expect(rows[0]).toMatchObject({
      state: 'running',
      total: 7,
      queued: 2,
      delayed: 1,
      leased: 1,
      done: 1,
      dead: 1,
      crawl: CRAWL,
    })
  })

  it('tells people the same, without colours on a pipe', async () => {
    const { out } = await database().call('status')
    expect(out).toContain(`shop  crawl ${CRAWL}  running`)
    expect(out).toMatch(/2 queued +1 delayed +1 in flight/)
    expect(out).not.toContain('\x1b')
  })

  it('takes an id, its beginning, or a spider, and knows when there is none', async () => {
    const { call } = database()
    for (const word of [CRAWL, 'shop-', 'shop']) expect((await call('status', word)).code).toBe(0)
    const missing = await call('status', 'nobody')
    expect(missing.code).toBe(5)
    expect(missing.err).toContain("error not_found: there is no crawl 'nobody'")
  })
})

describe('explain', () => {
  it.each(['queued', 'delayed', 'leased', 'done', 'dead', 'skipped'])('knows a link that is %s', async (state) => {
    const { code, rows } = await database().json('explain', `${url(state)}?utm_source=mail#top`)
    expect(code).toBe(0)
    expect(rows[0]).toMatchObject({ state, url: url(state), crawl: CRAWL, spider: 'shop' })
  })

  it('says why, with the evidence', async () => {
    const { call, json } = database()
    expect((await call('explain', url('queued'))).out).toContain('next slot of shop.example')
    expect((await call('explain', url('queued-later'))).out).toContain('1 link of its host is ahead of it')
    expect((await call('explain', url('delayed'))).out).toMatch(/due in 59 min[\s\S]*attempt 1 ended with timeout/)
    expect((await call('explain', url('leased'))).out).toContain('in flight on worker w1')
    expect((await call('explain', url('skipped'))).out).toContain('robots_disallowed')
    const dead = (await call('explain', url('dead'))).out
    expect(dead).toContain('server_error: status 500')
    expect(dead).toContain(`dead replay ${url('dead')} --crawl ${CRAWL}`)
    const done = (await json('explain', url('done'))).rows[0]
    expect(done).toMatchObject({ fetches: [{ status: 200, bytes: 1234 }], records: [{ kind: 'product', key: 'p1' }] })
  })

  it('tells never seen from out of scope by the spider', async () => {
    const { call, json, dir } = database()
    const never = await call('explain', url('nowhere'))
    expect(never.code).toBe(5)
    expect(never.out).toContain('never seen')

    const spider = join(dir, 'shop.ts')
    writeFileSync(
      spider,
      `import { defineSpider } from 'shoal'
       export default defineSpider({ name: 'shop', start: ['https://shop.example/'], routes: { product: { match: '/**', handler() {} } } })`,
    )
    const outside = await json('explain', 'https://elsewhere.example/', '--spider', spider)
    expect(outside.rows[0]).toMatchObject({ state: 'rejected', code: 'out_of_scope' })
    const inside = await json('explain', url('nowhere'), '--spider', spider)
    expect(inside).toMatchObject({ code: 5, rows: [{ state: 'never_seen', inScope: true }] })
  })
})

describe('dead letters', () => {
  it('are listed, shown, replayed and given up', async () => {
    const { call, json } = database()
    expect((await json('dead', 'list')).rows).toMatchObject([{ url: url('dead'), state: 'dead' }])
    expect((await json('dead', 'list', '--code', 'timeout')).rows).toEqual([])
    expect((await json('dead', 'show', url('dead'))).rows[0]).toMatchObject({ fetches: [{ status: 500 }] })
    expect((await call('dead', 'show', url('done'))).code).toBe(5)

    const asked = await call('dead', 'replay', '--all')
    expect(asked.code).toBe(2)
    expect(asked.err).toContain('--yes')
    expect((await json('dead', 'replay', url('dead'))).rows).toEqual([{ crawl: CRAWL, replayed: 1 }])
    expect((await json('dead', 'purge', '--all', '--yes')).rows).toEqual([{ crawl: CRAWL, purged: 0 }])
    expect((await json('explain', url('dead'))).rows[0]).toMatchObject({ state: 'queued' })
  })
})

describe('dead letters of one crawl of several', () => {
  /** An older crawl that has not ended, and a newer one that has: which one a command means must be said or asked. */
  async function twoCrawls() {
    const { dir, call, json } = database()
    const file = join(dir, 'shoal.db')
    await seedDatabase(file, { id: 'books-2', spider: 'books' })
    return { call, json }
  }

  it('are listed with their message', async () => {
    const { call } = await twoCrawls()
    const { out } = await call('dead', 'list', '--crawl', 'shop')
    expect(out).toMatch(/server_error +https:\/\/shop\.example\/dead +1 +.* ago +status 500\n/)
    const shown = await call('dead', 'show', url('dead'), '--crawl', 'shop')
    expect(shown.out).toContain('server_error: status 500')
    expect((await call('explain', url('dead'))).out).toContain('server_error: status 500')
  })

  it.each([[['--crawl', 'shop']], [['--crawl', 'shop-1']], [['shop']], [['shop-1']]])(
    'are replayed with --all %j, and those of no other crawl',
    async (which) => {
      const { json } = await twoCrawls()
      expect((await json('dead', 'replay', '--all', '--yes', ...which)).rows).toEqual([{ crawl: CRAWL, replayed: 1 }])
      expect((await json('dead', 'list', '--crawl', 'books')).rows).toHaveLength(1)
    },
  )

  it('are those of the newest unfinished crawl without a word, and another that has some is named', async () => {
    const { call, json } = await twoCrawls()
    expect((await json('dead', 'replay', '--all', '--yes')).rows).toEqual([{ crawl: 'books-2', replayed: 1 }])
    for (const verb of ['list', 'replay --all', 'purge --all']) {
      const { code, err } = await call('dead', ...verb.split(' '), ...(verb === 'list' ? [] : ['--yes']))
      expect(code).toBe(0)
      expect(err).toContain(
        `crawl books-2 of books has no dead letters; crawl ${CRAWL} has 1: shoal dead ${verb} --crawl ${CRAWL}`,
      )
    }
    expect((await call('dead', 'list', '--crawl', 'books')).err).toBe('crawl books-2 of books has no dead letters\n')
    expect((await call('dead', 'list', '--crawl', 'shop', '--code', 'timeout')).err).toContain(
      `crawl ${CRAWL} has dead letters, but none that match; see them: shoal dead list --crawl ${CRAWL}`,
    )
  })

  it('are refused with what to do for a wrong crawl, a URL or nothing', async () => {
    const { call } = await twoCrawls()
    const wrong = await call('dead', 'replay', '--all', 'nobody', '--yes')
    expect([wrong.code, wrong.err]).toEqual([5, expect.stringContaining("there is no crawl 'nobody'")])
    for (const args of [['--all', url('dead')], ['--all', '--code', 'timeout'], []])
      expect((await call('dead', 'replay', ...args)).code).toBe(2)
  })
})

describe('the life of a crawl', () => {
  it('goes from pause to resume to cancel to delete', async () => {
    const { call, json } = database()
    expect((await json('pause')).rows[0]).toMatchObject({ crawl: CRAWL, state: 'paused' })
    expect((await json('status')).rows[0]).toMatchObject({ state: 'paused', etaSeconds: null })
    expect((await json('resume')).rows[0]).toMatchObject({ state: 'running' })
    const early = await call('crawls', 'delete', CRAWL, '--yes')
    expect(early.code).toBe(2)
    expect((await json('cancel', 'shop')).rows[0]).toMatchObject({ state: 'cancelled' })
    const late = await call('pause')
    expect(late.code).toBe(5)
    expect(late.err).toContain('error crawl_ended')
    expect((await json('crawls', 'delete', CRAWL, '--yes')).rows[0]).toMatchObject({ deleted: true })
    expect((await json('crawls', 'list')).rows).toEqual([])
    expect((await json('records', 'list')).rows).toHaveLength(1)
  })
})

describe('links and records', () => {
  it('are listed with worker, age and attempt', async () => {
    const { call, json } = database()
    expect((await json('links', 'list')).rows).toHaveLength(7)
    expect((await call('links', 'list', '--state', 'active')).out).toMatch(/leased.*product +10 +1 +w1, for/)
  })

  it('are found by URL, or not', async () => {
    const { call, json } = database()
    expect((await json('records', 'get', '--url', url('done'))).rows[0]).toMatchObject({
      key: 'p1',
      data: { title: '=Lamp' },
    })
    expect((await call('records', 'get', '--url', url('dead'))).code).toBe(5)
    // By its key or its page alone; with a filter; and with a typing mistake.
    const [record] = (await json('records', 'list')).rows as { key: string; kind: string; url: string }[]
    if (record === undefined) throw new Error('there is a record')
    for (const word of [record.key, record.url])
      expect((await json('records', 'get', word, '--spider', 'shop', '--kind', record.kind)).rows).toMatchObject([
        record,
      ])
    const typo = await call('records', 'get', `${record.key.slice(0, -1)}_`)
    expect({ code: typo.code, err: typo.err }).toEqual({
      code: 5,
      err: expect.stringContaining(`did you mean ${record.key}?`),
    })
    expect((await call('records', 'get', record.key, '--spider', 'other')).err).toContain(
      'of spider other with the key',
    )
    expect((await json('records', 'rejected')).rows[0]).toMatchObject({ issues: [{ field: 'price' }] })
  })

  it('are exported, harmless for a spreadsheet', async () => {
    const { call, dir } = database()
    expect(JSON.parse((await call('export')).out)).toMatchObject({ key: 'p1', data: { title: '=Lamp' } })
    expect((await call('export', '--format', 'csv')).out).toContain("'=Lamp")
    expect((await call('export', '--since', '2030-01-01')).out).toBe('')
    const unwritable = await call('export', '--out', join(dir, 'shoal.db', 'x.csv'))
    expect(unwritable.code).toBe(4)
    expect(unwritable.err).toContain('error out_unwritable')
  })
})

describe('doctor', () => {
  it('finds a sound database', async () => {
    const { call, json } = database()
    // No worker is running for it: running, it would be ill once the test has taken fifteen seconds.
    await call('pause')
    const { code, rows } = await json('doctor')
    expect(code).toBe(0)
    expect(rows[0]).toMatchObject({ ok: true })
  })

  it('finds a corrupt one, and so does every other command, in one line', async () => {
    const { call, dir } = database()
    writeFileSync(join(dir, 'bad.db'), 'this is no database, and it is long enough to be one'.repeat(100))
    const bad = await shoal(['doctor', '--queue', `sqlite:${join(dir, 'bad.db')}`])
    expect(bad.code).toBe(4)
    expect(bad.out).toContain('db_corrupt')
    const status = await shoal(['status', '--queue', `sqlite:${join(dir, 'bad.db')}`])
    expect(status.code).toBe(4)
    expect(status.err).toMatch(/^error db_corrupt: [^\n]+\n {2}→ [^\n]+\n$/)
    await call('pause')
    expect((await call('doctor')).code).toBe(0)
  })
})
