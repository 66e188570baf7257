import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../src/clock.js'
import { SOLO_AFTER } from '../../src/frontier/frontier.js'
import { LOST_AFTER_MS } from '../../src/frontier/liveness.js'
import type { SeenAccess } from '../support/access-log.js'
import type { Place } from '../support/place.js'
import { type PostgresServer, type PostgresServerOptions, startPostgres } from '../support/postgres-server.js'
import type { RedisServerOptions } from '../support/redis-server.js'
import { type CheckRules, check, type Verdict, type Violation } from './checker.js'
import { Fleet, type ShutDown } from './fleet.js'
import { type HistoryEvent, openRecorder, readHistory } from './history.js'
import { watchMemory } from './memory.js'
import { type Redis, startChaosRedis } from './redis.js'
import { SITE_DEFAULTS, type SiteOptions } from './site.js'
import { startSite } from './start-site.js'
import { storedRows } from './stored-rows.js'
import type { ChaosWorkerOrder } from './worker.js'
import { type MoreRecords, openQueue, openWorldCrawl, scanQueue, type World, writeSpider } from './world.js'

/** One fault of the matrix, or a mix of them. */
export interface Scenario {
  readonly id: string
  readonly title: string
  /** Only a server can have it. */
  readonly needsRedis?: boolean
  /** The records are in Postgres, whatever the run was told. */
  readonly needsPostgres?: boolean
  readonly pages?: number
  /** In place of what the run was told. */
  readonly leaseMs?: number
  readonly site?: Partial<SiteOptions>
  readonly redis?: RedisServerOptions
  readonly postgres?: PostgresServerOptions
  /** Where the database is made; the server's own place when left out. */
  createDatabase?(server: PostgresServer): Promise<string>
  readonly more?: MoreRecords
  readonly proxied?: boolean
  /** `product`: `shoal worker` as users start it, without a history. */
  readonly fleet?: 'recorded' | 'product'
  readonly execArgv?: readonly string[]
  /** File descriptors that a worker may open once it works. */
  readonly spareFiles?: number
  /** What a worker is told beside the usual when it starts. */
  order?(moment: StartMoment): Partial<ChaosWorkerOrder>
  readonly rules?: Partial<CheckRules>
  /** Names of what is injected: one that stays at zero makes the run invalid. */
  readonly injects: readonly string[]
  inject(world: World): Promise<void>
  /** What the matrix asks for beyond the invariants. */
  judge?(world: World, evidence: ScenarioEvidence): Promise<Violation[]> | Violation[]
}

interface ScenarioEvidence {
  readonly accesses: readonly SeenAccess[]
  readonly history: readonly HistoryEvent[]
  /** How each worker ended after the crawl. */
  readonly ends: readonly ShutDown[]
}

export interface StartMoment {
  readonly random: () => number
  /** Of the site that was fetched so far. */
  readonly share: number
  /** Which of the workers it is, from 0 on. */
  readonly slot: number
  /** Workers that ended by SIGKILL so far. */
  readonly killed: number
  /** Address of the record store. */
  readonly store: string
}

/** The hosts of a run whose parts are on different ones (test/fleet). */
export interface Places {
  /** Its hosts are `<network>.1`, `<network>.2` … */
  readonly site: Pick<Place, 'within'> & Pick<SiteOptions, 'network'>
  readonly queue: Place
  readonly store: Place
  worker(slot: number): Place
}

export interface RunOptions {
  /** Everything on loopback when left out. */
  readonly places?: Places
  readonly queue: 'redis' | 'sqlite'
  readonly store: 'sqlite' | 'postgres'
  readonly seed: number
  readonly pages: number | null
  readonly workers: number
  readonly hosts: number
  readonly delayMs: number
  readonly leaseMs: number
  /** Over this long the drain counts as not reached. */
  readonly minutes: number
  readonly awayMs: number | null
  readonly keep: boolean
  readonly onProgress?: (line: string) => void
}

export interface ScenarioResult extends Verdict {
  readonly fault: string
  readonly title: string
  readonly seed: number
  readonly seconds: number
  readonly injected: Readonly<Record<string, number>>
  readonly special: Readonly<Record<string, number | string>>
  readonly dir: string
}

const RETRIES = 3
/** As the coordinator sets it. */
const MAX_RECLAIMS = 1
const DEFAULT_PAGES = 6_000
const CONCURRENCY = 24
/** The grace of a worker, 8 s for a queue that is unreachable at that moment, and what a busy machine needs. */
const SHUT_DOWN_MS = 40_000

export async function runScenario(scenario: Scenario, options: RunOptions): Promise<ScenarioResult> {
  const began = performance.now()
  const random = seededRandom(options.seed)
  const { places } = options
  const dir = mkdtempSync(join(tmpdir(), 'shoal-chaos-'))
  const pages = options.pages ?? scenario.pages ?? DEFAULT_PAGES
  const injected: Record<string, number> = Object.fromEntries(scenario.injects.map((name) => [name, 0]))
  const special: Record<string, number | string> = {}
  const pace = { delayMs: options.delayMs, leaseMs: scenario.leaseMs ?? options.leaseMs, retries: RETRIES }
  const site = await startSite(
    {
      ...SITE_DEFAULTS,
      hosts: options.hosts,
      ...(places && { network: places.site.network }),
      ...scenario.site,
      pages,
    },
    join(dir, 'access.log'),
    places?.site,
  )
  let redis: Redis | null = null
  let postgres: PostgresServer | null = null
  let fleet: Fleet | null = null
  const memory = watchMemory(() => fleet?.pids() ?? [])
  try {
    if (options.queue === 'redis')
      redis = await startChaosRedis(
        { ...(places && { place: places.queue }), ...scenario.redis },
        scenario.proxied ? options.workers : 0,
      )
    if (options.store === 'postgres' || scenario.needsPostgres)
      postgres = await startPostgres({ durable: true, ...(places && { place: places.store }), ...scenario.postgres })
    const file = `sqlite:${join(dir, 'records.db')}`
    const store = postgres === null ? file : await (scenario.createDatabase?.(postgres) ?? postgres.createDatabase())
    const queue = redis === null ? file : redis.server.url
    const spiderFile = writeSpider(dir, site.site, pace, scenario.more)
    const backends = await openQueue(queue, store)
    const { spider, crawl } = await openWorldCrawl(backends, spiderFile)
    const injector = openRecorder(dir, 'injector')
    const share = () => site.served / pages
    fleet = new Fleet({
      size: options.workers,
      dir,
      injector,
      kind: scenario.fleet ?? 'recorded',
      ...(places && { place: (slot: number) => places.worker(slot) }),
      ...(scenario.execArgv !== undefined && { execArgv: scenario.execArgv }),
      ...(scenario.spareFiles !== undefined && { spareFiles: scenario.spareFiles }),
      order: (slot) => ({
        queue: redis?.proxies[slot] === undefined ? queue : `redis://127.0.0.1:${redis.proxies[slot].port}`,
        store,
        spider: spiderFile,
        concurrency: CONCURRENCY,
        ...scenario.order?.({ random, share: share(), slot, killed: fleet?.killed ?? 0, store }),
      }),
    })
    const made: World = {
      random,
      dir,
      pace,
      site,
      fleet,
      redis,
      postgres,
      backends,
      store,
      spider,
      spiderFile,
      crawl,
      injector,
      memory,
      awayMs: options.awayMs,
      count: (name, times = 1) => {
        injected[name] = (injected[name] ?? 0) + times
      },
      figures: () => special,
      figure: (name, value) => {
        special[name] = value
      },
      share,
      async until(wanted) {
        for (let looks = 1; share() < wanted && performance.now() - began < options.minutes * 60_000; looks++) {
          await sleep(20)
          // Whatever the site says: a crawl that is over gets no further.
          if (looks % 50 === 0 && (await made.stats())?.state === 'finished') return
        }
      },
      stats: () => backends.frontier.stats(crawl).catch(() => null),
    }
    fleet.start()
    const progress = setInterval(() => {
      const seconds = Math.round((performance.now() - began) / 1000)
      const faults = Object.entries(injected).map(([name, times]) => `${name} ${times}`)
      options.onProgress?.(`${scenario.id} ${seconds} s · ${site.served} of ${pages} pages · ${faults.join(', ')}`)
    }, 1_000)
    try {
      await scenario.inject(made)
      await drained(made, began + options.minutes * 60_000)
    } finally {
      clearInterval(progress)
    }
    const queueScan = await scanQueue(made)
    const extra = await fleetEnd(made)
    special['peak worker memory, MB'] = memory.peak()
    const ends = await fleet.shutDown(SHUT_DOWN_MS)
    const accesses = await site.accesses()
    const history = readHistory(dir)
    const verdict = check({
      site: site.site,
      accesses,
      history: scenario.fleet === 'product' ? null : history,
      queue: queueScan,
      records: await storedRows(store),
      injected,
      rules: {
        delayMs: options.delayMs,
        concurrency: 1,
        retries: RETRIES,
        maxReclaims: SOLO_AFTER + MAX_RECLAIMS,
        reclaimWithinMs: null,
        lostAfterMs: LOST_AFTER_MS,
        resumeWithinMs: null,
        queueMayGoBack: false,
        ...scenario.rules,
      },
    })
    const more = [...extra, ...((await scenario.judge?.(made, { accesses, history, ends })) ?? [])]
    await backends.close()
    const violations = [...verdict.violations, ...more]
    return {
      ...verdict,
      violations,
      verdict: violations.length > 0 ? 'violated' : verdict.verdict,
      fault: scenario.id,
      title: scenario.title,
      seed: options.seed,
      seconds: Math.round((performance.now() - began) / 1000),
      injected,
      special,
      dir,
    }
  } finally {
    await fleet?.close()
    site.stop()
    memory.stop()
    await redis?.close()
    await postgres?.end()
    if (!options.keep) rmSync(dir, { recursive: true, force: true })
  }
}

/** Until the crawl has ended, or time is up: then the scan says so. */
async function drained(world: World, giveUpAt: number): Promise<void> {
  while (performance.now() < giveUpAt) {
    const stats = await world.stats()
    if (stats !== null && (stats.state === 'finished' || stats.state === 'cancelled')) return
    await sleep(100)
  }
}

/** Workers do not end by themselves, whatever is done to their backends. */
async function fleetEnd({ fleet, dir }: World): Promise<Violation[]> {
  return fleet.crashes
    .filter((crash) => !crash.includes('SIGABRT'))
    .map((crash) => ({
      invariant: 'I11',
      detail: `a worker ended by itself, ${crash}: ${lastLine(join(dir, 'workers.log'))}`,
    }))
}

function lastLine(file: string): string {
  if (!existsSync(file)) return ''
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.filter((line) => line.includes('ended')).at(-1) ?? lines.at(-1) ?? ''
}
