import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCli } from '../../support/cli.js'
import type { Violation } from '../checker.js'
import type { Scenario } from '../run-scenario.js'
import { fault, healed, type World, waitFor } from '../world.js'
import { redisOf } from './redis-faults.js'

/** What happens to the data of Redis: a power cut, an empty server, a full disk. The workers are the product's own. */

/** The newest part of the append-only file. */
function aofFile(world: World): string {
  const dir = join(redisOf(world).server.dir, 'appendonlydir')
  const parts = readdirSync(dir).filter((name) => name.endsWith('.incr.aof'))
  return join(dir, parts.sort().at(-1) ?? '')
}

/** Until some process has noticed that the queue is not what it was, and said so; then `shoal recover`. */
async function recover(world: World, since: number): Promise<void> {
  const noticed = await waitFor(async () => (await lostCrawls(world)) > 0, 60_000, 200)
  world.figure('noticed after, ms', noticed ? Math.round(performance.now() - since) : 'never')
  if (!noticed) return
  const { server } = redisOf(world)
  const args = ['recover', world.crawl, '--refetch', '--spider', world.spiderFile]
  const { code, stdout, stderr } = await runCli([...args, '--queue', server.url, '--store', world.store, '--json'])
  if (code !== 0) throw new Error(`shoal recover ended with ${code}: ${stderr}`)
  const { queued } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as { queued?: number }
  world.figure('known pages queued again', queued ?? 0)
  healed(world)
}

async function lostCrawls(world: World): Promise<number> {
  return (await world.backends.store.crawls.notes()).filter(({ state }) => state === 'lost').length
}

const POWER_CUT: Scenario = {
  id: 'X12',
  title: 'power cut: the last second of the append-only file is lost',
  needsRedis: true,
  fleet: 'product',
  injects: ['power cut'],
  rules: { queueMayGoBack: true },
  async inject(world) {
    const { server } = redisOf(world)
    await world.until(0.4)
    const file = aofFile(world)
    const durable = statSync(file).size
    await sleep(1_000)
    fault(world, 'power cut')
    const cutAt = performance.now()
    await server.kill()
    world.figure('bytes lost', statSync(file).size - durable)
    truncateSync(file, durable)
    await server.restart()
    world.count('power cut')
    await recover(world, cutAt)
  },
}

const EMPTY: Scenario = {
  id: 'X14',
  title: 'Redis comes back empty',
  needsRedis: true,
  fleet: 'product',
  injects: ['empty Redis'],
  rules: { queueMayGoBack: true },
  async inject(world) {
    const { server } = redisOf(world)
    await world.until(0.4)
    fault(world, 'empty redis')
    const cutAt = performance.now()
    await server.kill()
    rmSync(join(server.dir, 'appendonlydir'), { recursive: true })
    await server.restart()
    world.count('empty Redis')
    await recover(world, cutAt)
  },
}

/** A file system of its own that can be filled and made larger; needs root. */
export function smallDisk(megabytes: number): string {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-small-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dir])
  process.on('exit', () => {
    try {
      execFileSync('umount', ['-l', dir], { stdio: 'ignore' })
      rmSync(dir, { recursive: true, force: true })
    } catch {}
  })
  return dir
}

const DISK_FULL: Scenario = {
  id: 'X21',
  title: "Redis's disk is full",
  needsRedis: true,
  pages: 10_000,
  injects: ['full disk'],
  get redis() {
    // No rewrite: it would need the room a second time.
    return { dir: smallDisk(6), args: ['--auto-aof-rewrite-percentage', '0'] }
  },
  rules: { resumeWithinMs: 5_000 },
  async inject(world) {
    const { server, cli } = redisOf(world)
    const isFull = async () => /aof_last_write_status:err/.test(await cli('INFO', 'persistence'))
    const full = await waitFor(isFull, 180_000, 100)
    if (full) {
      fault(world, 'disk full')
      world.count('full disk')
      const refused = async () =>
        Number(/errorstat_MISCONF:count=(\d+)/.exec(await cli('INFO', 'errorstats'))?.[1] ?? 0)
      await waitFor(async () => (await refused()) > 0, 10_000, 20)
      await sleep(5_000)
      world.figure('calls refused', await refused())
    }
    execFileSync('mount', ['-o', 'remount,size=1g', server.dir])
    await waitFor(async () => !(await isFull()), 10_000, 50)
    if (full) healed(world)
  },
}

const EXPIRED = 1_000_000
const EXPIRED_HOSTS = 5_000
const SCRIPT_MS = 20

const MANY_EXPIRED: Scenario = {
  id: 'X23',
  title: 'a million leases expire at once',
  needsRedis: true,
  pages: 3_000,
  redis: { args: ['--slowlog-log-slower-than', '5000', '--slowlog-max-len', '1000'] },
  injects: ['expired lease'],
  async inject(world) {
    const { cli } = redisOf(world)
    world.count('expired lease', await expireAtOnce(world))
    await cli('SLOWLOG', 'RESET')
    await cli('CONFIG', 'RESETSTAT')
    const before = performance.now()
    const left = async () => (await world.backends.frontier.stats('expired').catch(() => null))?.leased ?? 1
    await waitFor(async () => (await left()) === 0, 300_000, 200)
    world.figure('all reaped after, ms', Math.round(performance.now() - before))
    world.figure('slowest script, ms', slowest(await cli('SLOWLOG', 'GET', '1000')))
    const micros = Number(/cmdstat_evalsha:.*?usec_per_call=([\d.]+)/.exec(await cli('INFO', 'commandstats'))?.[1] ?? 0)
    world.figure('mean script, ms', Math.round(micros / 100) / 10)
    await world.backends.frontier.setState('expired', 'cancelled')
  },
  judge(world): Violation[] {
    // On a busy machine this is also how long Redis waited for a core; the mean beside it tells the two apart.
    const ms = world.figures()['slowest script, ms']
    return typeof ms === 'number' && ms > SCRIPT_MS ? [{ invariant: 'I11', detail: `a script ran for ${ms} ms` }] : []
  },
}

/** Leased by one worker that is never heard of again; the crawl's spider has no other worker. */
async function expireAtOnce({ backends: { frontier } }: World): Promise<number> {
  const limits = { delayMs: 0, concurrency: 1_000 }
  await frontier.open({
    id: 'expired',
    spider: 'nobody',
    spiderHash: '',
    order: 'fifo',
    limits,
    routeLimits: {},
    visibilityMs: 60_000,
    retryPriorityStep: 0,
    agingMs: 10_000,
    maxReclaims: 1,
    maxPending: 2 * EXPIRED,
    overflow: 'keep',
    budget: {},
    gen: 1,
  })
  for (let from = 0; from < EXPIRED; from += 5_000) {
    const links = Array.from({ length: 5_000 }, (_, index) => {
      const page = from + index
      const host = `h${page % EXPIRED_HOSTS}.example`
      return {
        fp: (page + 1).toString(16).padStart(16, '0'),
        url: `http://${host}/p/${page}`,
        host,
        route: 'page',
        depth: 0,
        priority: 0,
      }
    })
    await frontier.add('expired', links as Parameters<typeof frontier.add>[1])
  }
  let leased = 0
  for (let seq = 1; leased < EXPIRED; seq++) {
    const { leases } = await frontier.lease({ worker: 'nobody', seq, want: 1_000, spiders: ['nobody'] })
    if (leases.length === 0) break
    leased += leases.length
  }
  return leased
}

/** Microseconds stand behind the time and the number of each entry. */
function slowest(slowlog: string): number {
  const micros = [...slowlog.matchAll(/^\d+\n\d{9,}\n(\d+)\n(?:EVAL|EVALSHA|evalsha|eval)/gm)].map(([, us]) =>
    Number(us),
  )
  return Math.round(Math.max(0, ...micros) / 1000)
}

export const DATA_FAULTS: readonly Scenario[] = [POWER_CUT, EMPTY, DISK_FULL, MANY_EXPIRED]
