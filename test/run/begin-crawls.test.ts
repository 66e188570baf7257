import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { silentLog } from '../../src/log.js'
import { type Beginner, beginCrawls } from '../../src/run/begin-crawls.js'
import { type OpenedForWork, openForWork } from '../../src/run/open-for-work.js'
import { tempDir } from '../support/cli.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

const dir = tempDir('begin-crawls')
const over = new AbortController()
let server: RedisServer
let opened: OpenedForWork
let beginner: Beginner

function spiderFile(name: string, more = ''): { kind: 'file'; path: string } {
  const path = join(dir.path, `${name}.ts`)
  const body = `name: '${name}', start: ['http://${name}.example/'], routes: { page: { match: '/**' } }, ${more}`
  writeFileSync(path, `import { defineSpider } from 'shoal'\nexport default defineSpider({ ${body} })`)
  return { kind: 'file', path }
}

beforeAll(async () => {
  server = await startRedis({ aof: 'always' })
  const addresses = { queue: server.url, store: `sqlite:${join(dir.path, 'records.db')}` }
  opened = await openForWork([spiderFile('shop')], addresses, over.signal, systemClock, silentLog)
  beginner = beginCrawls(opened, { clock: systemClock, log: silentLog })
})

afterAll(async () => {
  over.abort()
  await beginner?.stop()
  await opened?.direct.close()
  await server?.stop()
  dir.remove()
})

describe('orders to a fleet', () => {
  it('that were refused because the queue was away are not carried out when it is back; work goes on', async () => {
    const { plant, direct } = opened
    const { crawl } = await beginner.begin('shop', false)
    await server.kill()
    const waiting = plant.frontier.stats(crawl)
    await expect(direct.frontier.setState(crawl, 'cancelled')).rejects.toMatchObject({ code: 'queue_away' })
    await expect(beginner.begin('shop', true)).rejects.toMatchObject({ code: 'queue_away' })
    await server.restart()
    expect(await waiting).toMatchObject({ id: crawl, state: 'running' })
    expect((await plant.frontier.crawls()).map(({ id, state }) => [id, state])).toEqual([[crawl, 'running']])
  })
})
