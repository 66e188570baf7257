import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock.js'
import { createLog } from '../../src/log.js'
import { startWorker } from '../../src/run/workers/start-worker.js'
import type { StoredRecord } from '../../src/store/record-store.js'
import { tempDir } from '../support/cli.js'
import { startPostgres } from '../support/postgres-server.js'
import { startRedis } from '../support/redis-server.js'
import { until } from '../support/server-process.js'
import { forkTypeScript } from './children.js'
import { readHistory } from './history.js'
import { SITE_DEFAULTS } from './site.js'
import { startSite } from './start-site.js'
import type { ChaosWorkerOrder } from './worker.js'
import { openQueue, openWorldCrawl, writeSpider } from './world.js'

const LEASE_MS = 1_500
/** A process that loads TypeScript takes its time on a busy machine. */
const PATIENCE_MS = 60_000
const PACE = { delayMs: 10, leaseMs: LEASE_MS, retries: 3 }
/** One page that says how often it was fetched. */
const ONE_PAGE = { ...SITE_DEFAULTS, pages: 1, hosts: 1, failsOnce: 0, alwaysFails: 0, throttles: 0, moved: 0 }

const toEnd: (() => unknown)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

it(
  'a worker that was stopped past its lease, between fetch and write, cannot overwrite the newer record',
  async () => {
    const dir = tempDir('stale-writer')
    toEnd.push(() => dir.remove())
    const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
    toEnd.push(
      () => redis.stop(),
      () => postgres.end(),
    )
    const site = await startSite(ONE_PAGE, join(dir.path, 'access.log'))
    toEnd.push(() => site.stop())
    const addresses = { queue: redis.url, store: await postgres.createDatabase() }
    const file = writeSpider(dir.path, site.site, PACE)
    const backends = await openQueue(addresses.queue, addresses.store)
    toEnd.push(() => backends.close())
    const { spider, crawl } = await openWorldCrawl(backends, file)
    const records = async () => {
      const found: StoredRecord[] = []
      for await (const record of backends.store.records.scan({})) found.push(record)
      return found
    }

    const order: ChaosWorkerOrder = {
      ...addresses,
      ...{ id: 'stale', spider: file, dir: dir.path, concurrency: 1, freezeBefore: 'write', storeOfSources: true },
    }
    const stale = forkTypeScript('./worker.ts', order, { stderr: openSync(join(dir.path, 'stale.log'), 'a') })
    toEnd.push(() => stale.kill('SIGKILL'))
    const staleDid = () => readHistory(dir.path).filter(({ phase }) => phase !== 'invoke')
    await until('the worker has read the page and stands still', async () => isStopped(stale), PATIENCE_MS)
    expect(await records()).toEqual([])

    const log = createLog('silent', systemClock, () => {})
    const parts = {
      id: 'second',
      backends,
      spiders: [spider],
      concurrency: 1,
      clock: systemClock,
      random: systemRandom,
      log,
    }
    const second = startWorker(parts)
    await until(
      'another worker has done the page',
      async () => (await backends.frontier.stats(crawl)).state === 'finished',
      PATIENCE_MS,
    )
    await second.stop(1_000)
    const newer = await records()
    expect(newer).toMatchObject([{ key: '0', data: { id: '0', n: '2' } }])

    stale.kill('SIGCONT')
    await until(
      'the first worker has tried to write',
      async () => staleDid().some(({ op }) => op === 'write'),
      PATIENCE_MS,
    )
    const ended = once(stale, 'exit')
    stale.kill('SIGTERM')
    await ended
    expect(staleDid().filter(({ op }) => op === 'write')).toMatchObject([{ phase: 'ok', status: 'fenced' }])
    expect(staleDid().filter(({ op, phase }) => op === 'settle' && phase === 'ok')).toEqual([])
    expect(await records()).toEqual(newer)
  },
  3 * PATIENCE_MS,
)

function isStopped({ pid }: ChildProcess): boolean {
  return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('T')
}
