import { setTimeout as sleep } from 'node:timers/promises'
import { launchShop } from '../../src/demo/launch.js'
import { createShop, SHOP_DEFAULTS } from '../../src/demo/shop.js'
import { type AccessEntry, checkFetches, checkPoliteness, readAccessLog } from '../support/access-log.js'
import { startPostgres } from '../support/postgres-server.js'
import { startRedis, until } from '../support/redis-server.js'
import { type Ended, spiderFile, start, type Version, type VersionProcess } from './version-process.js'

/**
 * A fleet of three workers on one Redis and one Postgres, upgraded under load: one after another, half-way back, forward again, with a worker killed and
 * Redis restarted while both versions run. Judged by the site's log and by the records, dead letters and exit codes.
 */
export interface UpgradeOptions {
  readonly old: Version
  readonly fresh: Version
  readonly dir: string
  /** Product pages of the shop: the demo's pace allows 50 requests a second. */
  readonly pages: number
  readonly stepMs: number
  readonly say: (line: string) => void
}

export interface UpgradeReport {
  readonly requests: number
  readonly extra: number
  readonly minGapMs: number
  readonly records: number
  readonly dead: number
  readonly starts: number
  readonly violations: readonly string[]
}

/** As in the demo's spider. */
const PACE = { delayMs: 20, concurrency: 8 }
const RETRIES = 3
/** From the last byte of a page to its acknowledgement, on a busy machine. */
const SETTLE_MS = 250
const DRAIN_MS = 30_000
const FINISH_MS = 240_000
const TOKEN = 'a-token-for-both-versions'

export async function rollingUpgrade(options: UpgradeOptions): Promise<UpgradeReport> {
  const { old, fresh, dir, pages, stepMs, say } = options
  const shopOptions = { ...SHOP_DEFAULTS, pages }
  const redis = await startRedis({ aof: 'always' })
  const postgres = await startPostgres()
  const shop = await launchShop({ dir, options: shopOptions })
  const violations: string[] = []
  let starts = 0
  let inFlightAtKills = 0
  const alive: VersionProcess[] = []
  try {
    const env = { SHOAL_QUEUE: redis.url, SHOAL_STORE: await postgres.createDatabase(), SHOAL_TOKEN: TOKEN }
    const spiders = { old: spiderFile(old, dir, shop.origin), new: spiderFile(fresh, dir, shop.origin) }
    const begin = (version: Version, ...args: string[]) => {
      const begun = start(version, args, { cwd: dir, env })
      alive.push(begun)
      return begun
    }
    const run = (version: Version, ...args: string[]) => start(version, args, { cwd: dir, env }).ended
    const startWorker = (version: Version): VersionProcess => {
      starts += 1
      return begin(version, 'worker', spiders[version.name], '--log-level', 'info')
    }
    const stopped = async (one: VersionProcess) => {
      one.child.kill('SIGTERM')
      const end = await within(one.ended, DRAIN_MS)
      if (end === null) violations.push(`${one.version.name} worker: did not drain within ${DRAIN_MS / 1000} s`)
      else if (end.code !== 0) violations.push(`${one.version.name} worker: exit code ${end.code}: ${tail(end)}`)
    }
    const replaced = async (one: VersionProcess, version: Version) => {
      await sleep(stepMs)
      if (one.child.exitCode !== null)
        violations.push(`${one.version.name} worker: ended early: ${tail(await one.ended)}`)
      await stopped(one)
      say(`${one.version.name} worker drained, ${version.name} worker started`)
      return startWorker(version)
    }
    const look = async (version: Version) => {
      for (const command of ['status', 'workers']) {
        const { code, stderr } = await run(version, command, '--json')
        if (code !== 0) violations.push(`${version.name} ${command}: exit code ${code}: ${stderr.slice(-300)}`)
      }
    }

    const opened = await run(old, 'start', spiders.old)
    if (opened.code !== 0) throw new Error(`the old version could not start the crawl: ${tail(opened)}`)
    let [a, b, c] = [startWorker(old), startWorker(old), startWorker(old)]
    const dashboards = [
      begin(old, 'dashboard', '--port', '0', '--json'),
      begin(fresh, 'dashboard', '--port', '0', '--json'),
    ]
    say('3 old workers; a dashboard of each version')
    a = await replaced(a, fresh)
    b = await replaced(b, fresh)
    await Promise.all([look(old), look(fresh)])
    await sleep(stepMs)
    await redis.restart()
    say('Redis killed and restarted with 1 old and 2 new workers')
    b = await replaced(b, old)
    say('rolled back half-way: 2 old, 1 new')
    await sleep(stepMs)
    inFlightAtKills += inFlight(readAccessLog(shop.accessLog))
    c.child.kill('SIGKILL')
    await c.ended
    say('an old worker killed')
    c = startWorker(fresh)
    b = await replaced(b, fresh)
    const before = readAccessLog(shop.accessLog).length
    for (const one of dashboards) violations.push(...(await dashboardFaults(one)))
    say(`all new after ${before} requests`)

    const finished = async () => {
      const { stdout } = await run(fresh, 'status', '--json')
      return stdout.includes('"state":"finished"')
    }
    if (await finished()) violations.push('invalid: the crawl had finished before the upgrade had; use more --pages')
    await until('the crawl to finish', finished, FINISH_MS)
    await Promise.all([a, b, c].map(stopped))
    await Promise.all([look(old), look(fresh)])

    const site = createShop(shopOptions).siteMap()
    const entries = readAccessLog(shop.accessLog)
    const fetches = checkFetches(entries, site, { retries: RETRIES, inFlightAtKills })
    const politeness = checkPoliteness(entries, PACE)
    violations.push(...fetches.violations, ...politeness.violations)
    const counts: Record<string, number> = {}
    // What one version wrote, both must be able to read.
    for (const version of [old, fresh]) {
      const records = jsonLines(await run(version, 'records', 'list', '--limit', '1000000', '--json'))
      const wanted = site.flatMap(({ product, alwaysFails }) =>
        product !== undefined && !alwaysFails ? [product.sku] : [],
      )
      violations.push(
        ...differences(
          `record (read by ${version.name})`,
          records.map(({ key }) => String(key)),
          wanted,
        ),
      )
      const dead = jsonLines(await run(version, 'dead', 'list', '--limit', '1000000', '--json'))
      const paths = dead.map(({ url }) => new URL(String(url)).pathname)
      const failing = site.filter(({ alwaysFails }) => alwaysFails).map(({ path }) => path)
      violations.push(...differences(`dead letter (read by ${version.name})`, paths, failing))
      Object.assign(counts, { records: records.length, dead: dead.length })
    }
    return {
      ...{ requests: entries.length, extra: fetches.extra, minGapMs: politeness.minGapMs, starts, violations },
      ...{ records: counts.records ?? 0, dead: counts.dead ?? 0 },
    }
  } finally {
    for (const { child } of alive) child.kill('SIGKILL')
    await shop.close()
    await redis.stop()
    await postgres.end()
  }
}

async function dashboardFaults(one: VersionProcess): Promise<string[]> {
  const port = /"port":(\d+)/.exec(one.printed())?.[1]
  if (port === undefined) return [`${one.version.name} dashboard: did not start: ${one.printed().slice(-300)}`]
  const faults: string[] = []
  for (const path of ['/api/overview', '/metrics', '/healthz']) {
    const { status } = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
    if (status !== 200) faults.push(`${one.version.name} dashboard: ${path} answered ${status}`)
  }
  return faults
}

async function within<Value>(promise: Promise<Value>, ms: number): Promise<Value | null> {
  const late = new AbortController()
  try {
    return await Promise.race([promise, sleep(ms, null, { signal: late.signal })])
  } finally {
    late.abort()
  }
}

/** Each once, none missing, none that should not be there. */
function differences(what: string, found: readonly string[], wanted: readonly string[]): string[] {
  const [there, expected] = [new Set(found), new Set(wanted)]
  return [
    ...wanted.filter((item) => !there.has(item)).map((item) => `${what} missing: ${item}`),
    ...found.filter((item) => !expected.has(item)).map((item) => `${what} too many: ${item}`),
    ...(there.size < found.length ? [`${what}: ${found.length - there.size} twice`] : []),
  ].slice(0, 10)
}

/** Requests that a kill at this moment may cause to be made again. */
function inFlight(entries: readonly AccessEntry[]): number {
  const last = Math.max(0, ...entries.map(({ t }) => t))
  return entries.filter(({ end }) => (end ?? Number.POSITIVE_INFINITY) >= last - SETTLE_MS).length
}

function jsonLines({ stdout }: Ended): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

function tail({ stderr }: Ended): string {
  return stderr.slice(-300)
}
