import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { loadConfig } from '../../src/config.js'
import { silentLog } from '../../src/log.js'
import { clearTrouble, readTrouble } from '../../src/observe/trouble.js'
import { type CrawlStarter, createCrawlStarter } from '../../src/run/crawl-starter.js'
import { type OpenedForWork, openForWork } from '../../src/run/open-for-work.js'
import { tempDir } from '../support/cli.js'
import { type RedisServer, startRedis, until } from '../support/redis-server.js'

const dir = tempDir('crawl-starter')
const over = new AbortController()
let server: RedisServer
let opened: OpenedForWork
let starter: CrawlStarter

function spiderFile(name: string, more = ''): { kind: 'file'; path: string } {
  const path = join(dir.path, `${name}.ts`)
  const body = `name: '${name}', start: ['http://${name}.example/'], routes: { page: { match: '/**' } }, ${more}`
  writeFileSync(path, `import { defineSpider } from 'shoal'\nexport default defineSpider({ ${body} })`)
  return { kind: 'file', path }
}

beforeAll(async () => {
  server = await startRedis({ aof: 'always' })
  const sources = [spiderFile('shop'), spiderFile('broken', "async *seeds() { throw new Error('no list today') }")]
  const flags = { queue: server.url, store: `sqlite:${join(dir.path, 'records.db')}` }
  const settings = loadConfig({ flags, env: {} })
  opened = await openForWork(sources, settings, over.signal, systemClock, silentLog)
  starter = createCrawlStarter(opened, { settings, clock: systemClock, log: silentLog })
})

afterAll(async () => {
  over.abort()
  await starter?.stop()
  await opened?.direct.close()
  await server?.stop()
  dir.remove()
})

describe('orders to a fleet', () => {
  it('that were refused because the queue was away are not carried out when it is back; work goes on', async () => {
    const { backends, direct } = opened
    const { crawl } = await starter.start('shop', false)
    await server.kill()
    const waiting = backends.frontier.stats(crawl)
    await expect(direct.frontier.setState(crawl, 'cancelled')).rejects.toMatchObject({ code: 'queue_down' })
    await expect(starter.start('shop', true)).rejects.toMatchObject({ code: 'queue_down' })
    await server.restart()
    expect(await waiting).toMatchObject({ id: crawl, state: 'running' })
    expect((await backends.frontier.crawls()).map(({ id, state }) => [id, state])).toEqual([[crawl, 'running']])
  })

  it('whose start URLs fail later are told of where the crawl is looked at, and in the audit log', async () => {
    const { notes, store } = opened.backends
    const { crawl } = await starter.start('broken', false)
    await until('it is noted', async () => (await store.audit.entries({ limit: 1 })).entries.length > 0)
    const trouble = await readTrouble(notes, crawl)
    expect(trouble?.message).toContain('no list today')
    expect((await store.audit.entries({ limit: 1 })).entries).toMatchObject([
      { action: 'crawl.seed', target: crawl, result: trouble?.code, details: { spider: 'broken' } },
    ])
    await clearTrouble(notes, crawl)
    await until('it is forgotten', async () => (await readTrouble(notes, crawl)) === null)
  })
})
