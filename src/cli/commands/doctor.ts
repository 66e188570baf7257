import { accessSync, constants, existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { isOnServer } from '../../config.js'
import { asShoalError, EXIT } from '../../errors.js'
import type { CrawlInfo, Frontier, WorkerInfo } from '../../frontier/frontier.js'
import { healthOf, STALLED_MS, spiderHolders, workerState } from '../../observe/snapshots/health.js'
import { type MissingWorker, missingText, missingWorkers } from '../../observe/snapshots/waits.js'
import { recordsStayHere } from '../../run/setup-warnings.js'
import type { Backends } from '../../wire/backends.js'
import { cacheCheck } from '../checks/cache-check.js'
import { type Check, serverStoreChecks } from '../checks/store-checks.js'
import { crawlsNewestFirst, hasEnded } from '../crawl-choice.js'
import { guide } from '../help.js'
import { acts, fileOf, type Session } from '../session.js'
import { clean } from '../terminal/clean.js'
import { bytes, count, duration, plural } from '../terminal/format.js'

const NODE_WANTED = [20, 19] as const
const DISK_FAIL_BYTES = 50e6
const DISK_WARN_BYTES = 1e9
const FILES_WANTED = 1_024
/** A log this large was never checkpointed: some process keeps a read transaction open. */
const WAL_WARN_BYTES = 256e6
/** This version did not exist before then, so an earlier time is wrong. */
const CLOCK_FLOOR = Date.UTC(2026, 0, 1)
const CLOCK_SLACK_MS = 60_000
/** The only check that makes health red. */
const PROGRESS = 'progress'

export function doctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('check this machine, the backends and the crawls')
    .action(
      acts(async (session) => {
        const checks = [
          ...[nodeCheck(), filesCheck(), ...configCheck(session)],
          ...(await databaseChecks(session)),
          ...(await cacheCheck(session)),
        ]
        const failed = checks.filter((check) => check.status === 'fail')
        if (session.json) session.output.json({ ok: failed.length === 0, checks })
        else print(session, checks)
        if (failed.length === 0) return EXIT.ok.code
        return EXIT[failed.every((check) => check.name === PROGRESS) ? 'stalled' : 'backend'].code
      }),
    )
  guide(command, {
    examples: [['doctor', 'a table of checks, with the next step for each problem']],
    exitCodes: ['stalled'],
  })
}

function print({ output }: Session, checks: readonly Check[]): void {
  const { style } = output
  const paint = { ok: style.green, warn: style.yellow, fail: style.red }
  output.table(
    ['', 'check', 'found'],
    checks.map((check) => [paint[check.status](check.status), check.name, clean(check.detail)]),
  )
  for (const check of checks) if (check.next !== '') output.print(`  → ${check.name}: ${clean(check.next)}`)
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const ok = major > NODE_WANTED[0] || (major === NODE_WANTED[0] && minor >= NODE_WANTED[1])
  return {
    name: 'node',
    status: ok ? 'ok' : 'fail',
    detail: process.versions.node,
    next: ok ? '' : `Install Node ${NODE_WANTED.join('.')} or newer.`,
  }
}

/** A file that cannot be read has ended the command with its name. */
function configCheck({ configFile }: Session): Check[] {
  if (configFile === null) return []
  const { path, environment } = configFile
  const detail = environment === null ? path : `${path}, environment ${environment}`
  return [{ name: 'config', status: 'ok', detail, next: '' }]
}

function filesCheck(): Check {
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } }
  const soft = report.userLimits?.open_files?.soft
  const limit = typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY
  const low = limit < FILES_WANTED
  return {
    name: 'open files',
    status: low ? 'warn' : 'ok',
    detail: Number.isFinite(limit) ? `limit ${count(limit)}` : 'no limit',
    next: low
      ? `Raise it with \`ulimit -n ${FILES_WANTED}\`, or keep --concurrency below ${Math.floor(limit / 4)}.`
      : '',
  }
}

async function databaseChecks(session: Session): Promise<Check[]> {
  const { queue, store } = session.settings
  const files = [...new Set([queue, store])].flatMap((address) => fileOf(address) ?? [])
  const checks: Check[] = []
  for (const file of files) checks.push(await diskCheck(file), ...(await fileChecks(file)))
  checks.push(...(await serverStoreChecks(session)))
  const nothingYet = !isOnServer(queue) && !files.every(existsSync)
  if (checks.some((check) => check.status === 'fail') || nothingYet) return [...checks, clockCheck(session, null)]
  try {
    return [...checks, ...(await session.withBackends((backends) => crawlChecks(session, backends)))]
  } catch (thrown) {
    const error = asShoalError(thrown)
    const name = isOnServer(queue) ? 'queue' : 'crawls'
    return [...checks, { name, status: 'fail', detail: `${error.code}: ${error.message}`, next: error.hint }]
  }
}

async function diskCheck(file: string): Promise<Check> {
  let folder = dirname(resolve(file))
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const status = free < DISK_FAIL_BYTES ? 'fail' : free < DISK_WARN_BYTES ? 'warn' : 'ok'
  return {
    name: 'disk',
    status,
    detail: `${bytes(free)} free`,
    next: status === 'ok' ? '' : `Free up space on the disk that holds ${folder}.`,
  }
}

async function fileChecks(file: string): Promise<Check[]> {
  if (!existsSync(file)) {
    const folder = dirname(resolve(file))
    if (!existsSync(folder) || canWrite(folder))
      return [
        { name: 'database', status: 'ok', detail: `${file}: does not exist yet; the first run creates it`, next: '' },
      ]
    return [
      {
        name: 'database',
        status: 'fail',
        detail: `${folder} is not writable`,
        next: 'Check its permissions, or choose another file with --queue.',
      },
    ]
  }
  try {
    const { checkDatabase } = await import('../../sqlite/check.js')
    const { CONTENT_RULES } = await import('../../embedded/content-rules.js')
    const { bytes: size, walBytes, problems } = checkDatabase(file, CONTENT_RULES)
    const intact = problems.length === 0
    const large = walBytes > WAL_WARN_BYTES
    return [
      {
        name: 'database',
        status: intact ? 'ok' : 'fail',
        detail: intact ? `${file}: intact, ${bytes(size)}` : `${file}: ${problems[0]}`,
        next: intact
          ? ''
          : `Save what can be read: \`shoal recover --into <new file> --queue sqlite:${file}\`. Or restore a backup.`,
      },
      {
        name: 'write-ahead log',
        status: large ? 'warn' : 'ok',
        detail: bytes(walBytes),
        next: large ? 'Some process blocks checkpoints: stop the readers of the file for a moment.' : '',
      },
    ]
  } catch (thrown) {
    const error = asShoalError(thrown)
    return [{ name: 'database', status: 'fail', detail: `${error.code}: ${error.message}`, next: error.hint }]
  }
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

async function crawlChecks(session: Session, { frontier, queueClock, warnings }: Backends): Promise<Check[]> {
  const now = queueClock.now()
  const [crawls, workers] = [await crawlsNewestFirst(frontier), await frontier.workers()]
  const alive = new Set(
    workers.filter((worker) => workerState(worker, now) !== 'missing').map((worker) => worker.worker),
  )
  const unfinished = crawls.filter((crawl) => !hasEnded(crawl))
  const orphaned = unfinished.filter((crawl) => crawl.state === 'running' && alive.size === 0)
  const missing = missingWorkers(workers, now)
  const newest = Math.max(0, ...crawls.map((crawl) => crawl.createdAt), ...workers.map((worker) => worker.seenAt))
  return [
    clockCheck(session, newest),
    ...[...warnings, ...recordsStayHere(session.settings)].map(
      (warning): Check => ({ name: 'queue', status: 'warn', detail: warning, next: '' }),
    ),
    await progressCheck(session, frontier, unfinished, now),
    ...spiderChecks(
      unfinished,
      workers.filter((worker) => alive.has(worker.worker)),
    ),
    {
      name: 'crawls',
      status: orphaned.length > 0 ? 'warn' : 'ok',
      detail: `${plural(crawls.length, 'crawl')}, ${count(unfinished.length)} unfinished, ${plural(alive.size, 'worker')} alive`,
      next:
        orphaned.length > 0
          ? `No worker is running for ${orphaned.map((crawl) => `${crawl.spider} (${crawl.id})`).join(', ')}: run the spider again, or \`shoal cancel\`.`
          : '',
    },
    missingCheck(missing, now),
  ]
}

/** A host whose slots a missing worker holds is not fetched from until its links return. */
function missingCheck(missing: readonly MissingWorker[], now: number): Check {
  const links = missing.reduce((all, worker) => all + worker.links, 0)
  const [first] = missing
  return {
    name: 'links in flight',
    status: first === undefined ? 'ok' : 'warn',
    detail:
      first === undefined
        ? 'none held by a missing worker'
        : `${plural(links, 'link')} held by ${plural(missing.length, 'missing worker')}: ${missingText(first, now)}`,
    next: first === undefined ? '' : 'They return to the queue automatically while a worker runs. Check its machine.',
  }
}

/** Health means progress: workers that are connected but lease nothing are no better than none. */
async function progressCheck(
  { settings }: Session,
  frontier: Frontier,
  crawls: readonly CrawlInfo[],
  now: number,
): Promise<Check> {
  const { stalled } = await healthOf(frontier, crawls, now, isOnServer(settings.queue))
  const [worst] = [...stalled].sort((a, b) => b.forMs - a.forMs)
  return {
    name: PROGRESS,
    status: worst === undefined ? 'ok' : 'fail',
    detail:
      worst === undefined
        ? `no link has been due for longer than ${duration(STALLED_MS)}`
        : `links of ${worst.spider} (${worst.crawl}) are due, but none was leased or settled for ${duration(worst.forMs)}`,
    next: worst === undefined ? '' : 'Start a worker with its spider, or check the running ones: `shoal workers`.',
  }
}

function spiderChecks(crawls: readonly CrawlInfo[], alive: readonly WorkerInfo[]): Check[] {
  if (alive.length === 0) return []
  return crawls.flatMap((crawl): Check[] => {
    const { holders, otherVersion } = spiderHolders(crawl, alive)
    if (holders > 0 && otherVersion.length === 0) return []
    const detail =
      holders === 0
        ? `no worker has the spider ${crawl.spider} of crawl ${crawl.id}`
        : `${plural(otherVersion.length, 'worker has', 'workers have')} another version of ${crawl.spider} than crawl ${crawl.id} was started with`
    const next =
      holders === 0 ? 'Start one: `shoal worker <spider file>`.' : 'Deploy the same spider file to all workers.'
    return [{ name: 'spiders', status: 'warn', detail, next }]
  })
}

function clockCheck({ clock }: Session, newestInDatabase: number | null): Check {
  const now = clock.now()
  const shown = new Date(now).toISOString()
  if (now < CLOCK_FLOOR) return { name: 'clock', status: 'fail', detail: shown, next: "Set this machine's clock." }
  if (newestInDatabase !== null && newestInDatabase > now + CLOCK_SLACK_MS) {
    return {
      name: 'clock',
      status: 'warn',
      detail: `${shown}: the database has times ${duration(newestInDatabase - now)} ahead of it`,
      next: "The clock went back, or another machine wrote the file: set this machine's clock.",
    }
  }
  return { name: 'clock', status: 'ok', detail: shown, next: '' }
}
