import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openBackends } from '../../src/wire/backends.js'
import { tempDir } from '../support/cli.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { shoal } from './cli.js'
import { CRAWL, seedBackends, url } from './seeded-database.js'

/** The commands on a queue that only counts what is done: the rest comes from the store. */
vi.setConfig({ testTimeout: 60_000 })
const dir = tempDir('redis-states')
let server: RedisServer
let backendsAt: string[]

beforeAll(async () => {
  server = await startRedis()
  const store = `sqlite:${join(dir.path, 'shoal.db')}`
  backendsAt = ['--queue', server.url, '--store', store]
  const backends = await openBackends({ queue: server.url, store })
  await seedBackends(backends.frontier, backends.store)
  await backends.close()
})

afterAll(async () => {
  await server.stop()
  dir.remove()
})

const call = (...args: string[]) => shoal([...args, ...backendsAt], { cwd: dir.path })
const json = async (...args: string[]) => {
  const { out } = await call(...args, '--json')
  return out
    .trimEnd()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('on Redis', () => {
  it.each(['queued', 'delayed', 'leased', 'done', 'dead', 'skipped'])(
    'explain knows a link that is %s',
    async (state) => {
      expect((await json('explain', `${url(state)}?utm_source=mail#top`))[0]).toMatchObject({
        state,
        url: url(state),
        crawl: CRAWL,
        spider: 'shop',
      })
    },
  )

  it('explain tells of a page that is done what the store knows', async () => {
    expect((await json('explain', url('done')))[0]).toMatchObject({
      fetches: [{ status: 200, bytes: 1234 }],
      records: [{ kind: 'product', key: 'p1' }],
    })
    const { code, out } = await call('explain', url('done'))
    expect(code).toBe(0)
    expect(out).toMatch(/^done {2}https:\/\/shop\.example\/done\n {2}status 200, 1\.2 kB in 56 ms/)
    expect(out).toContain('1 record: product p1')
    expect(out).toContain(`crawl ${CRAWL} of shop (running)\n`)
  })

  it('status, links and hosts see the crawl', async () => {
    expect((await json('status'))[0]).toMatchObject({ total: 7, queued: 2, delayed: 1, leased: 1, done: 1, dead: 1 })
    const links = await json('links', 'list')
    expect(links.map((link) => link.state).sort()).toEqual(['dead', 'delayed', 'leased', 'queued', 'queued', 'skipped'])
    expect((await json('hosts'))[0]).toMatchObject({ host: 'shop.example' })
  })

  it('pages says that no page was kept', async () => {
    const { code, err } = await call('pages', 'get', url('done'))
    expect(code).toBe(5)
    expect(err).toContain('no raw page of')
  })

  it('dead letters are listed, shown, replayed and given up', async () => {
    expect(await json('dead', 'list')).toMatchObject([{ url: url('dead'), state: 'dead' }])
    expect((await json('dead', 'show', url('dead')))[0]).toMatchObject({ fetches: [{ status: 500 }], attempts: 1 })
    expect((await call('dead', 'show', url('done'))).code).toBe(5)
    expect(await json('dead', 'replay', url('dead'))).toEqual([{ crawl: CRAWL, replayed: 1 }])
    expect((await json('explain', url('dead')))[0]).toMatchObject({ state: 'queued' })
  })

  it('a crawl is paused, resumed, cancelled and deleted', async () => {
    expect((await json('pause'))[0]).toMatchObject({ state: 'paused' })
    expect((await json('resume'))[0]).toMatchObject({ state: 'running' })
    expect((await json('cancel'))[0]).toMatchObject({ state: 'cancelled' })
    expect((await call('crawls', 'delete', CRAWL, '--yes')).code).toBe(0)
    expect((await call('explain', url('done'))).code).toBe(5)
  })
})
