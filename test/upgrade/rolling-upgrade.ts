import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemRandom } from '../../src/clock.js'
import { loadSpider } from '../../src/spider/load.js'
import type { QueueScan } from '../chaos/checker.js'
import { SITE_DEFAULTS } from '../chaos/site.js'
import { startSite } from '../chaos/start-site.js'
import { storedRows } from '../chaos/stored-rows.js'
import { openQueue, scanQueue, waitFor, writeSpider } from '../chaos/world.js'
import type { SeenAccess } from '../support/access-log.js'
import { startPostgres } from '../support/postgres-server.js'
import { startRedis } from '../support/redis-server.js'
import { judge, type UpgradeReport } from './judge.js'
import { type Ended, startVersion, type Version, type VersionProcess } from './version-process.js'

/**
 * A fleet of three workers on one Redis and one Postgres, upgraded under load: one after another, half-way back, forward again, with a worker killed and
 * Redis restarted while both versions run.
 */
export interface UpgradeOptions {
  readonly old: Version
  readonly fresh: Version
  readonly dir: string
  readonly pages: number
  /** How long each mix of versions works together. */
  readonly stepMs: number
  readonly say: (line: string) => void
}

/** A request every 20 ms over all: the delay of each host is long enough to tell a violation from a busy machine. */
const HOSTS = 10
const PACE = { delayMs: 200, leaseMs: 20_000, retries: 3 }
/** From the last byte of a page to its acknowledgement, on a busy machine. */
const SETTLE_MS = 1_000
const START_MS = 60_000
const DRAIN_MS = 30_000
const FINISH_MS = 180_000
const TOKEN = 'a-token-for-both-versions'

export async function rollingUpgrade(options: UpgradeOptions): Promise<UpgradeReport> {
  const { old, fresh, dir, pages, stepMs, say } = options
  // A page that always failed would hide one that a version gave up: no dead letter is expected.
  const site = await startSite({ ...SITE_DEFAULTS, alwaysFails: 0, hosts: HOSTS, pages }, join(dir, 'access.log'))
  const redis = await startRedis({ aof: 'always' })
  const postgres = await startPostgres()
  const faults: string[] = []
  const running: VersionProcess[] = []
  try {
    const store = await postgres.createDatabase()
    const env = { SHOAL_QUEUE: redis.url, SHOAL_STORE: store, SHOAL_TOKEN: TOKEN }
    const spiderFile = writeSpider(dir, site.site, PACE)
    const begin = (version: Version, ...args: string[]) => {
      const begun = startVersion(version, args, { cwd: dir, env })
      running.push(begun)
      return begun
    }
    const run = (version: Version, ...args: string[]) => begin(version, ...args).ended
    const startWorker = async (version: Version): Promise<VersionProcess> => {
      const worker = begin(version, 'worker', spiderFile, '--log-level', 'info')
      // A signal that comes before a process handles signals ends it: that says nothing of the upgrade.
      const up = () => worker.printed().includes('working on') || worker.child.exitCode !== null
      if (!(await waitFor(up, START_MS))) faults.push(`${version.name} worker: not up after ${START_MS / 1000} s`)
      return worker
    }
    const stop = async (worker: VersionProcess) => {
      const { name } = worker.version
      if (worker.child.exitCode !== null) faults.push(`${name} worker: ended although nobody stopped it`)
      worker.child.kill('SIGTERM')
      const end = await Promise.race([worker.ended, sleep(DRAIN_MS, null, { ref: false })])
      if (end === null) faults.push(`${name} worker: did not drain within ${DRAIN_MS / 1000} s`)
      else if (end.code !== 0) faults.push(`${name} worker: exit code ${end.code}: ${tail(end)}`)
    }
    const replace = async (worker: VersionProcess, version: Version) => {
      await sleep(stepMs)
      await stop(worker)
      const successor = await startWorker(version)
      say(`${worker.version.name} worker drained, ${version.name} worker up; ${site.served} pages served`)
      return successor
    }
    /** Each version reads what both have written. */
    const look = async (version: Version) => {
      for (const command of [['workers'], ['hosts'], ['records', 'list', '--limit', '1000000']]) {
        const end = await run(version, ...command, '--json')
        if (end.code !== 0) faults.push(`${version.name} ${command[0]}: exit code ${end.code}: ${tail(end)}`)
        if (command[0] === 'records') say(`${version.name} reads ${lines(end)} records`)
      }
    }

    const opened = await run(old, 'start', spiderFile)
    if (opened.code !== 0) throw new Error(`the old version could not start the crawl: ${tail(opened)}`)
    const backends = await openQueue(redis.url, 'memory:')
    const { frontier } = backends
    const crawl = (await frontier.crawls())[0]?.id
    if (crawl === undefined) throw new Error('the new version does not see the crawl of the old one')
    const state = async () => (await frontier.stats(crawl).catch(() => null))?.state ?? 'unknown'

    let [a, b, c] = await Promise.all([startWorker(old), startWorker(old), startWorker(old)])
    const dashboards = [old, fresh].map((version) => begin(version, 'dashboard', '--port', '0', '--json'))
    say('3 old workers up; a dashboard of each version started')
    a = await replace(a, fresh)
    b = await replace(b, fresh)
    await sleep(stepMs)
    await redis.restart()
    say('Redis killed and restarted with 1 old and 2 new workers')
    b = await replace(b, old)
    say('rolled back half-way: 2 old workers, 1 new')
    await sleep(stepMs)
    const mayComeAgain = underWay(await site.accesses())
    c.child.kill('SIGKILL')
    await c.ended
    say('an old worker killed')
    c = await startWorker(fresh)
    b = await replace(b, fresh)
    for (const dashboard of dashboards) faults.push(...(await dashboardFaults(dashboard)))
    // By the site, which needs nothing of Shoal.
    const upgradedUnderLoad = site.served < pages
    say(`all new; ${site.served} of ${pages} pages served`)

    const finished = await waitFor(async () => (await state()) === 'finished', FINISH_MS, 250)
    say(finished ? 'the crawl has finished' : `the crawl is ${await state()} after ${FINISH_MS / 1000} s`)
    await Promise.all([a, b, c].map(stop))
    await Promise.all([old, fresh].map(look))
    const spider = await loadSpider(spiderFile)
    const queue: QueueScan = await scanQueue({ backends, crawl, spider, site, random: systemRandom })
    await backends.close()
    return judge({
      ...{ site: site.site, pace: PACE, accesses: await site.accesses(), queue, records: await storedRows(store) },
      ...{ faults, upgradedUnderLoad, mayComeAgain },
    })
  } finally {
    for (const { child } of running) child.kill('SIGKILL')
    site.stop()
    await redis.stop()
    await postgres.end()
  }
}

async function dashboardFaults({ version, printed }: VersionProcess): Promise<string[]> {
  const port = /"port":(\d+)/.exec(printed())?.[1]
  if (port === undefined) return [`${version.name} dashboard: did not start: ${printed().slice(-300)}`]
  const faults: string[] = []
  for (const path of ['/api/overview', '/metrics', '/healthz']) {
    const { status } = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
    if (status !== 200) faults.push(`${version.name} dashboard: ${path} answered ${status}`)
  }
  return faults
}

/** Requests whose pages a kill at this moment gives back to the queue, to be made again. */
function underWay(accesses: readonly SeenAccess[]): number {
  const last = Math.max(0, ...accesses.map(({ t }) => t))
  return accesses.filter(({ end }) => (end ?? Number.POSITIVE_INFINITY) >= last - SETTLE_MS).length
}

function lines({ stdout }: Ended): number {
  return stdout.split('\n').filter((line) => line.trim() !== '').length
}

function tail({ stderr }: Ended): string {
  return stderr.trim().slice(-300)
}
