import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '../../src/clock.js'
import { createShop, SHOP_DEFAULTS } from '../../src/demo/shop.js'
import { type AccessEntry, checkFetches, readAccessLog } from '../support/access-log.js'
import { type CliResult, lastJson, runCli, startCli } from '../support/cli.js'

/** The promise under kill -9: the demo is killed again and again, run again each time, and then compared with the site itself. */
export interface KillReport {
  readonly kills: number
  readonly inFlightAtKills: number
  readonly requests: number
  readonly needed: number
  readonly extra: number
  readonly records: number
  readonly dead: number
  readonly violations: string[]
}

export interface KillOptions {
  readonly dir: string
  readonly pages: number
  readonly kills: number
  readonly seed: number
  /** Each run may go on for this long at most before it is killed. */
  readonly killWithinMs: number
}

const RETRIES = 3

export async function killDemo({ dir, pages, kills, seed, killWithinMs }: KillOptions): Promise<KillReport> {
  const random = seededRandom(seed)
  const args = ['demo', '--products', String(pages), '--json', '--dir', dir]
  const log = join(dir, 'access.log')
  let killed = 0
  let inFlightAtKills = 0
  for (let kill = 0; kill < kills; kill++) {
    const { child, result } = startCli(args)
    const before = sizeOf(log)
    await untilGrown(log, before, result)
    await sleep(random() * killWithinMs)
    if (child.exitCode !== null) break
    child.kill('SIGKILL')
    await result
    killed++
    // The site notices that its parent is gone, answers what is under way, and ends.
    await sleep(1500)
    inFlightAtKills += inFlightWhenKilled(readAccessLog(log))
  }
  const last = await runCli(args)
  return report(dir, pages, last, killed, inFlightAtKills)
}

async function report(
  dir: string,
  pages: number,
  last: CliResult,
  kills: number,
  inFlightAtKills: number,
): Promise<KillReport> {
  const violations: string[] = []
  // A run that injected nothing proves nothing.
  if (kills === 0) violations.push('invalid: the demo ended before it could be killed')
  if (last.code !== 0) violations.push(`the last run ended with ${last.code}: ${last.stderr.slice(-500)}`)
  const summary = lastJson(last.stdout)
  if (summary.state !== 'finished') violations.push(`the drain was not reached: ${String(summary.state)}`)

  const site = createShop({ ...SHOP_DEFAULTS, pages }).siteMap()
  const entries = readAccessLog(join(dir, 'access.log'))
  const fetches = checkFetches(entries, site, { retries: RETRIES, inFlightAtKills })
  violations.push(...fetches.violations)

  const queue = ['--queue', `sqlite:${join(dir, 'shoal.db')}`, '--json']
  const records = jsonLines((await runCli(['records', 'list', '--limit', '1000000', ...queue])).stdout)
  const keys = records.map((record) => String(record.key)).sort()
  const wanted = site
    .flatMap((page) => (page.product !== undefined && !page.alwaysFails ? [page.product.sku] : []))
    .sort()
  compareSets('record', keys, wanted, violations)

  const dead = jsonLines((await runCli(['dead', 'list', '--limit', '1000000', ...queue])).stdout)
  const deadPaths = dead.map((letter) => new URL(String(letter.url)).pathname).sort()
  compareSets(
    'dead letter',
    deadPaths,
    site
      .filter((page) => page.alwaysFails)
      .map((page) => page.path)
      .sort(),
    violations,
  )
  return {
    kills,
    inFlightAtKills,
    requests: entries.length,
    needed: fetches.needed,
    extra: fetches.extra,
    records: keys.length,
    dead: deadPaths.length,
    violations,
  }
}

/** Both sorted. Each once, none missing, none that should not be there. */
function compareSets(what: string, found: readonly string[], wanted: readonly string[], violations: string[]): void {
  const missing = wanted.filter((item) => !found.includes(item))
  const extra = found.filter((item, index) => !wanted.includes(item) || found[index - 1] === item)
  for (const item of missing.slice(0, 5)) violations.push(`${what} missing: ${item}`)
  for (const item of extra.slice(0, 5)) violations.push(`${what} too many: ${item}`)
}

/** Leases in hand at the kill: those whose answer had not arrived, and those whose answer was not yet settled. */
function inFlightWhenKilled(entries: readonly AccessEntry[]): number {
  const last = Math.max(0, ...entries.map((entry) => entry.t))
  return entries.filter((entry) => (entry.end ?? Number.POSITIVE_INFINITY) >= last - SETTLE_MS).length
}

/** From the last byte of a page to its acknowledgement, on a busy machine. */
const SETTLE_MS = 250

function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

function sizeOf(file: string): number {
  try {
    return readFileSync(file).length
  } catch {
    return 0
  }
}

/** The crawl has begun: the site has seen a request of this run. */
async function untilGrown(file: string, before: number, ended: Promise<unknown>): Promise<void> {
  let over = false
  void ended.then(() => {
    over = true
  })
  while (!over && sizeOf(file) <= before) await sleep(20)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
