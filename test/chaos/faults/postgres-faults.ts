import { spawnSync } from 'node:child_process'
import { chownSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { PostgresServer } from '../../support/postgres-server.js'
import { burnedAttempts, type Violation } from '../checker.js'
import { deliveriesOf } from '../deliveries.js'
import { type Outage, outagesOf } from '../outages.js'
import type { Scenario } from '../run-scenario.js'
import { storedRows } from '../stored-rows.js'
import { fault, healed, type World } from '../world.js'
import { smallDisk } from './data-faults.js'
import { moments } from './worker-faults.js'

/** What happens to the Postgres that keeps the records. */

export function postgresOf(world: World): PostgresServer {
  if (world.postgres === null) throw new Error('this fault needs a Postgres')
  return world.postgres
}

/** A session of the injector in the workers' database. */
export async function inStore<Result>(world: World, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: world.store })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

type HowToStop = 'immediate stop' | 'kill -9'

/** Without a word, and started again at once: what was under way may or may not have been committed. */
export async function crash(world: World, how: HowToStop): Promise<void> {
  const server = postgresOf(world)
  fault(world, `postgres ${how}`)
  if (how === 'kill -9') await server.kill()
  else await server.stop('immediate')
  await server.start()
  healed(world)
  world.count(how)
}

const SETTLED_MS = 1_000

export async function away(world: World, ms: number): Promise<void> {
  const server = postgresOf(world)
  // From a moment on at which all have started: what loading the code took is not asked for.
  world.memory.most()
  await sleep(SETTLED_MS)
  const before = world.memory.most()
  fault(world, 'postgres away')
  await server.stop('fast')
  await sleep(ms)
  world.figure('worker memory before and in the outage, MB', `${before}, ${world.memory.most()}`)
  await server.start()
  healed(world)
  world.count('outage')
}

const OUTAGE_FIGURES: Readonly<Record<string, (outage: Outage) => number | null>> = {
  'away, ms': ({ awayMs }) => awayMs,
  'pages fetched while away': ({ fetched }) => fetched,
  'pages that waited for the heal': ({ waiting }) => waiting,
  'heal to first commit, ms': ({ firstCommitMs }) => firstCommitMs,
  'heal to all that waited settled, ms': ({ caughtUpMs }) => caughtUpMs,
}

/** What an outage may not do, beyond the invariants, and what it cost. */
export const judgeOutages: NonNullable<Scenario['judge']> = async (world, { history, accesses }) => {
  const outages = outagesOf(history, accesses)
  const { all, byId } = deliveriesOf(history)
  for (const [name, show] of Object.entries(OUTAGE_FIGURES))
    world.figure(name, outages.map((outage) => String(Math.round(show(outage) ?? Number.NaN))).join(', '))
  const burned = burnedAttempts(world.site.site, world.pace.retries, byId)
  world.figure('attempts burned', burned.length)
  const kept = all.filter(({ accepted, killedAt }) => accepted === null && killedAt === null)
  world.figure('leases lost, of workers that lived', kept.length)
  world.figure('rows', await compareRows(world))
  world.figure('lines of the fetch log kept twice', await linesTwice(world))
  return endedWorkers(world)
}

/** For the eye; the judge counts them too. */
async function compareRows({ store, site: { site } }: World): Promise<string> {
  const keys = (await storedRows(store)).map(({ key }) => Number(key))
  const found = new Set(keys)
  const pages = new Set<number>()
  for (const { page, end } of site.urls.values()) if (end === 'record') pages.add(page)
  const missing = [...pages].filter((page) => !found.has(page)).length
  const unknown = [...found].filter((page) => !pages.has(page)).length
  return `${keys.length} of ${pages.size} pages: ${missing} missing, ${unknown} unknown`
}

async function linesTwice(world: World): Promise<number> {
  const lines = 'SELECT 1 FROM shoal.fetches GROUP BY fp, gen, epoch, at, url, status, attempt HAVING count(*) > 1'
  const [row] = await inStore(world, async (client) => {
    return (await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM (${lines}) AS twice`)).rows
  })
  return row?.n ?? 0
}

/** Workers wait for their store; none ends because of it, but for those that were killed. */
function endedWorkers({ fleet }: World): Violation[] {
  const ended = fleet.started - fleet.size - fleet.killed - fleet.refused
  return ended > 0 ? [{ invariant: 'I11', detail: `${ended} workers did not wait, but ended` }] : []
}

const CRASHED: Scenario = {
  id: 'X26',
  title: 'Postgres stopped without a checkpoint, and killed',
  needsRedis: true,
  needsPostgres: true,
  injects: ['immediate stop', 'kill -9'],
  rules: { resumeWithinMs: 5_000 },
  async inject(world) {
    for (const [index, moment] of moments(world.random, 6).entries()) {
      await world.until(moment)
      await crash(world, index % 2 === 0 ? 'immediate stop' : 'kill -9')
      await sleep(500)
    }
  },
  judge: judgeOutages,
}

const AWAY_MS = 300_000

const AWAY: Scenario = {
  id: 'X27',
  title: 'Postgres down (5 min, or --down-s)',
  needsRedis: true,
  needsPostgres: true,
  injects: ['outage'],
  rules: { resumeWithinMs: 5_000 },
  async inject(world) {
    await world.until(0.4)
    await away(world, world.awayMs ?? AWAY_MS)
  },
  judge: judgeOutages,
}

const LOCK_MS = 30_000
const STATEMENT_TIMEOUT = '3s'

/** Nobody can write records meanwhile, and nobody is told. */
async function lockRecords(world: World, ms: number): Promise<void> {
  await inStore(world, async (client) => {
    await client.query('BEGIN')
    await client.query('SET LOCAL statement_timeout = 0')
    await client.query('LOCK TABLE shoal.records IN ACCESS EXCLUSIVE MODE')
    fault(world, 'postgres locked')
    await sleep(ms)
    await client.query('COMMIT')
    healed(world)
  })
}

const LOCKED: Scenario = {
  id: 'X28',
  title: 'the table of records is locked for 30 s (--down-s), without and with a statement_timeout',
  needsRedis: true,
  needsPostgres: true,
  injects: ['lock', 'lock with statement_timeout'],
  rules: { resumeWithinMs: 5_000 },
  async inject(world) {
    const ms = world.awayMs ?? LOCK_MS
    await world.until(0.2)
    await lockRecords(world, ms)
    world.count('lock')
    await world.until(0.5)
    await inStore(world, async (client) => {
      await client.query(
        `ALTER DATABASE ${new URL(world.store).pathname.slice(1)} SET statement_timeout = '${STATEMENT_TIMEOUT}'`,
      )
      // Sessions know it from their start on.
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
    })
    await lockRecords(world, ms)
    world.count('lock with statement_timeout')
  },
  judge(world, evidence) {
    const statuses = evidence.history.filter(({ op, phase }) => op === 'write' && phase === 'ok')
    world.figure('writes fenced', statuses.filter(({ status }) => status === 'fenced').length)
    return judgeOutages(world, evidence)
  },
}

const CONNECTIONS = 24

/** All that the server has are taken, those of the workers too, which are cut off. */
async function takeConnections(world: World, ms: number): Promise<void> {
  const taken: Client[] = []
  const take = async () => {
    const client = new Client({ connectionString: world.store })
    client.on('error', () => {})
    await client.connect()
    taken.push(client)
    await client.query("SET application_name = 'hog'")
  }
  await take()
  fault(world, 'postgres without connections')
  for (let refused = 0; refused < 3; ) {
    await taken[0]?.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'hog'",
    )
    await Promise.all(Array.from({ length: CONNECTIONS }, take)).catch((error: { code?: unknown }) => {
      if (error.code !== '53300') throw error
      refused++
    })
  }
  await sleep(ms)
  await Promise.all(taken.map((client) => client.end()))
  healed(world)
  world.count('no connection left')
}

const DISK_MB = 256

const WITHOUT_ROOM: Scenario = {
  id: 'X31',
  title: 'Postgres has no connection left, then no room on its disk',
  needsRedis: true,
  needsPostgres: true,
  postgres: { settings: { max_connections: String(CONNECTIONS) } },
  injects: ['no connection left', 'full disk'],
  rules: { resumeWithinMs: 5_000 },
  /** Only the tables are on the small disk: with a full disk under its log the server would end, which is X26. */
  async createDatabase(server) {
    const disk = smallDisk(DISK_MB)
    const { uid, gid } = statSync(join(server.dir, 'data'))
    chownSync(disk, uid, gid)
    await server.query(`CREATE TABLESPACE small LOCATION '${disk}'`)
    await server.query('CREATE DATABASE small TEMPLATE template0 TABLESPACE small')
    return server.address('small')
  },
  async inject(world) {
    const ms = world.awayMs ?? 10_000
    await world.until(0.1)
    await takeConnections(world, ms)
    await world.until(0.5)
    const filler = join(await placeOfSmall(world), 'filler')
    fault(world, 'postgres disk full')
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'], { stdio: 'ignore' })
    const refused = await inStore(world, (client) =>
      client.query('CREATE TABLE more AS SELECT generate_series(1, 100000)'),
    )
      .then(() => false)
      .catch((error: { code?: unknown }) => error.code === '53100')
    await sleep(ms)
    rmSync(filler)
    healed(world)
    world.count('full disk', refused ? 1 : 0)
  },
  judge: judgeOutages,
}

async function placeOfSmall(world: World): Promise<string> {
  const sql = "SELECT pg_tablespace_location(oid) AS dir FROM pg_tablespace WHERE spcname = 'small'"
  return String((await postgresOf(world).query(sql))[0]?.dir)
}

export const POSTGRES_FAULTS: readonly Scenario[] = [CRASHED, AWAY, LOCKED, WITHOUT_ROOM]
