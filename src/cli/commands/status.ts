import type { Command } from 'commander'
import { isOnServer } from '../../config.js'
import { asShoalError, EXIT, isAway, ShoalError } from '../../errors.js'
import type { CrawlInfo, CrawlStats, HostInfo } from '../../frontier/frontier.js'
import { isListed, spiderHolders } from '../../observe/snapshots/health.js'
import { readFleet } from '../../observe/snapshots/read-scale.js'
import {
  type CrawlSnapshot,
  crawlSnapshotOf,
  type WorkerSnapshot,
  workerSnapshots,
} from '../../observe/snapshots/snapshot.js'
import { countedWorkers, usefulWorkers } from '../../observe/snapshots/useful-workers.js'
import { readTrouble, type Trouble } from '../../observe/trouble.js'
import { type NeverMatched, neverMatched } from '../../quality/never-matched.js'
import { argumentsText } from '../../spider/arguments.js'
import { describeFiltered } from '../../url/filter-reasons.js'
import type { Backends } from '../../wire/backends.js'
import { chooseCrawl, crawlsNewestFirst, hasEnded } from '../crawl-choice.js'
import { guide } from '../help.js'
import type { Output } from '../output.js'
import { acts, type Session } from '../session.js'
import { clean } from '../terminal/clean.js'
import { bytes, count, duration, moment, percent, plural, rate } from '../terminal/format.js'
import { type Live, liveLines } from '../terminal/live.js'
import { stdout } from '../terminal/streams.js'
import type { Style } from '../terminal/style.js'
import { figure, naming, remark, table } from '../terminal/table.js'
import { wrap } from '../terminal/width.js'
import { countLines } from '../views/counts-view.js'
import { filteredLines } from '../views/filtered-view.js'
import { lostCrawlMeant, showLost } from '../views/lost-view.js'
import { neverMatchedLines } from '../views/never-matched-view.js'
import { adviceLines, ended, endText, type UsefulHere, usefulLines, waitLines } from '../views/progress-view.js'
import { visitLines } from '../views/visits-view.js'
import { workerJson, workerTable } from './workers.js'

const HOSTS_SHOWN = 10
const WATCH_EVERY_MS = 1_000

export function statusCommand(program: Command): void {
  const command = program
    .command('status')
    .description('show the progress of a crawl and when it will end')
    .argument('[crawl]', 'crawl id, a prefix of it, or a spider name (default: the newest unfinished crawl)')
    .option('--watch', 'refresh every second until the crawl ends')
    .action(
      acts(async (session, word: string | undefined, flags: { watch?: boolean }) => {
        return session.withBackends(async (backends) => {
          const { frontier } = backends
          const newestFirst = await crawlsNewestFirst(frontier)
          const lost = await lostCrawlMeant(session, backends, newestFirst, word)
          if (lost !== null) {
            showLost(session, lost)
            return EXIT.lost.code
          }
          const crawl = chooseCrawl(newestFirst, word)
          if (flags.watch) {
            await watch(session, backends, crawl)
            return undefined
          }
          const snapshot = await takeSnapshot(session, backends, crawl)
          if (session.json) session.output.json(asJson(snapshot))
          else for (const line of screen(session.output, snapshot)) session.output.print(line)
          return snapshot.stalledMs === 0 ? EXIT.ok.code : EXIT.stalled.code
        })
      }),
    )
  guide(command, {
    examples: [
      ['status', 'the crawl that is running now'],
      ['status books --watch', 'the newest crawl of the spider books, live'],
      [
        'status --json',
        'state,startedAt,total,queued,delayed,leased,done,failed,retried,dead,rate,etaSeconds,decidedBy,advice,useful,…',
      ],
    ],
    exitCodes: ['notFound', 'lost', 'stalled'],
  })
}

interface Snapshot extends CrawlSnapshot {
  /** Workers that are alive, and those that are missing. */
  readonly seen: readonly WorkerSnapshot[]
  readonly trouble: Trouble | null
  readonly neverMatched: readonly NeverMatched[]
  /** Null: the crawl is not running. */
  readonly useful: UsefulHere | null
}

async function takeSnapshot({ settings }: Session, backends: Backends, crawl: CrawlInfo): Promise<Snapshot> {
  const now = backends.queueClock.now()
  const workers = await workerSnapshots(backends, now)
  const seen = workers.filter((worker) => isListed(worker, now))
  const snapshot = await crawlSnapshotOf(backends, crawl, workers, now, isOnServer(settings.queue))
  const trouble = await readTrouble(backends.notes, crawl.id)
  const useful = snapshot.stats.state === 'running' ? await readUseful(backends, crawl.spider, workers, now) : null
  return { ...snapshot, seen, trouble, useful, neverMatched: neverMatched(await backends.store.matches.of(crawl.id)) }
}

/** Of the spider: its workers serve all its running crawls. */
async function readUseful(
  backends: Backends,
  spider: string,
  workers: readonly WorkerSnapshot[],
  now: number,
): Promise<UsefulHere> {
  const reading = await readFleet(backends, now, workers)
  const spiders = new Set([spider])
  return { running: countedWorkers(reading, spiders).length, ...usefulWorkers(reading, spiders) }
}

function asJson({
  stats,
  hosts,
  workers,
  seen,
  estimate,
  stalledMs,
  visits,
  waits,
  advice,
  useful,
  trouble,
  neverMatched: never,
  now,
}: Snapshot): Record<string, unknown> {
  const { state, startedAt, total, queued, delayed, leased, done, failed, retried, dead } = stats
  return {
    ...{ state, startedAt, total, queued, delayed, leased, done, failed, retried, dead },
    rate: stats.rate,
    ...estimate,
    crawl: stats.id,
    spider: stats.spider,
    args: stats.args ?? {},
    finishedAt: stats.finishedAt,
    endedBy: stats.endedBy,
    skipped: stats.skipped,
    throttled: stats.throttled,
    reclaimed: stats.reclaimed,
    refused: stats.refused,
    filtered: describeFiltered(stats.filtered),
    counts: stats.counts,
    bytes: stats.bytes,
    seeding: stats.seeding,
    spiderChanges: stats.spiderChanges,
    visits,
    neverMatched: never.map(({ crawl: _, ...row }) => row),
    healthy: stalledMs === 0,
    waits,
    advice,
    useful,
    trouble,
    ...spiderHolders(stats, workers),
    workers: seen.map((worker) => workerJson(worker, now)),
    hosts,
  }
}

async function watch(session: Session, backends: Backends, crawl: CrawlInfo): Promise<void> {
  const { output, clock, json } = session
  const live: Live | null = !json && stdout.isTTY ? liveLines(stdout) : null
  const stopped = new AbortController()
  const stop = () => stopped.abort()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  try {
    for (;;) {
      const snapshot = await snapshotUnlessDown(session, backends, crawl)
      if (snapshot instanceof ShoalError) {
        const { code, message, hint } = snapshot
        const line = `${output.style.red('unhealthy:')} ${clean(message)}`
        if (live !== null) live.draw([line])
        else if (json) output.json({ crawl: crawl.id, healthy: false, error: { code, message, hint } })
        else output.print(line)
        if (stopped.signal.aborted) return
      } else {
        if (live !== null) live.draw(screen(output, snapshot))
        else if (json) output.json(asJson(snapshot))
        else output.print(oneLine(snapshot))
        if (hasEnded(snapshot.stats) || stopped.signal.aborted) {
          live?.stop()
          if (live !== null) for (const line of screen(output, snapshot)) output.print(line)
          return
        }
      }
      await clock.sleep(WATCH_EVERY_MS, stopped.signal)
    }
  } finally {
    live?.stop()
    process.removeListener('SIGINT', stop)
    process.removeListener('SIGTERM', stop)
  }
}

/** Watching continues while the queue is down. */
async function snapshotUnlessDown(
  session: Session,
  backends: Backends,
  crawl: CrawlInfo,
): Promise<Snapshot | ShoalError> {
  try {
    return await takeSnapshot(session, backends, crawl)
  } catch (thrown) {
    if (isAway(thrown)) return asShoalError(thrown)
    throw thrown
  }
}

/** For a pipe: pending, in flight, done, failed, dead, rate, and what it waits for. */
export function oneLine({
  stats,
  estimate,
  waits,
  now,
}: Pick<Snapshot, 'stats' | 'estimate' | 'waits' | 'now'>): string {
  const pending = stats.queued + stats.delayed
  return [
    ...[stats.state, `${count(pending)} pending`, `${count(stats.leased)} in flight`, `${count(stats.done)} done`],
    ...[`${count(stats.failed)} failed`, `${count(stats.dead)} dead`, rate(stats.rate), endText(estimate, stats.state)],
    ...waitLines(waits, now),
  ].join(' · ')
}

/** Every line fits: in live lines, what is wider is cut, and elsewhere the terminal would break it within a word. */
function screen({ style, width: columns }: Output, snapshot: Snapshot): string[] {
  const width = columns - 1
  return screenLines(style, width, snapshot).flatMap((line) => wrap(line, width))
}

function screenLines(
  style: Style,
  width: number,
  {
    stats,
    hosts,
    workers,
    estimate,
    stalledMs,
    seen,
    visits,
    waits,
    advice,
    useful,
    trouble,
    neverMatched: never,
    now,
  }: Snapshot,
): string[] {
  const over = ended(stats)
  const started = stats.startedAt ?? stats.createdAt
  const until = stats.finishedAt ?? now
  const lines = [
    `${style.bold(clean(stats.spider))}  crawl ${stats.id}  ${stateText(stats, style)}`,
    style.dim(
      `started ${moment(started)}, ${duration(until - started)}${stats.finishedAt === null ? ' so far' : ' in total'}`,
    ),
    ...(stats.args === undefined ? [] : [`arguments ${clean(argumentsText(stats.args))}`]),
    '',
    figures([stats.queued, 'queued'], [stats.delayed, 'delayed'], [stats.leased, 'in flight']).trimEnd(),
    figures([stats.done, 'done'], [stats.skipped, 'skipped'], [stats.dead, 'dead']).trimEnd(),
    figures([stats.failed, 'failed'], [stats.retried, 'retried'], [stats.throttled, 'throttled']).trimEnd(),
    style.dim(
      `             ${count(over)} of ${plural(stats.total, 'link')} ended, ${percent(over, stats.total)}; ${bytes(stats.bytes)} read`,
    ),
    ...visitLines(visits, style),
    ...neverMatchedLines(never, style),
    ...filteredLines(stats, style),
    ...countLines(stats.counts, style),
    '',
  ]
  if (hasEnded(stats)) return [...lines, `  ${rate((over * 1000) / Math.max(1, until - started))} on average`]
  lines.push(`  ${rate(stats.rate)}, ${endText(estimate, stats.state)}`)
  const plain = estimate.plainSeconds
  if (plain !== null) lines.push(style.dim(`  (links left ÷ rate: ${duration(plain * 1000)})`))
  if (spiderHolders(stats, workers).holders > 0)
    lines.push('', ...indent([...adviceLines(advice, style), ...usefulLines(useful)]))
  const waiting = waitLines(waits, now).filter((line) => !clean(advice.sentence).startsWith(line))
  if (waiting.length > 0) lines.push('', ...waiting.map((line) => `  ${style.yellow('waiting:')} ${line}`))
  if (trouble !== null)
    lines.push(
      '',
      `  ${style.red(`not all start URLs could be added: ${trouble.code}:`)} ${clean(trouble.message)}`,
      `  ${clean(trouble.hint)}`,
    )
  if (stalledMs > 0)
    lines.push(
      '',
      `  ${style.red('unhealthy:')} links are due, but none was leased or settled for ${duration(stalledMs)}`,
    )
  if (seen.length > 0) lines.push('', ...indent(workerTable(seen, now, width - 2, style)))
  if (stats.state === 'running') lines.push(...workerRemarks(stats, workers, style))
  const busiest = hosts.filter((host) => host.pending + host.inFlight > 0).slice(0, HOSTS_SHOWN)
  if (busiest.length > 0) lines.push('', ...indent(hostTable(busiest, now, width, style)))
  return lines
}

/** Workers shown by name when they have another version of the spider. */
const NAMES_SHOWN = 3

function workerRemarks(stats: CrawlStats, workers: readonly WorkerSnapshot[], style: Style): string[] {
  const spider = clean(stats.spider)
  if (workers.length === 0) return ['', `  ${style.yellow('no worker is running:')} run the spider again to resume`]
  const { holders, otherVersion } = spiderHolders(stats, workers)
  if (holders === 0)
    return ['', `  ${style.yellow(`no worker has the spider ${spider}:`)} start one: shoal worker <spider file>`]
  if (otherVersion.length === 0) return []
  const names = otherVersion.slice(0, NAMES_SHOWN).map(clean).join(', ')
  const more = otherVersion.length > NAMES_SHOWN ? ` and ${count(otherVersion.length - NAMES_SHOWN)} more` : ''
  return ['', `  ${style.yellow(`another version of ${spider} than the crawl was started with:`)} ${names}${more}`]
}

function hostTable(hosts: readonly HostInfo[], now: number, width: number, style: Style): string[] {
  const rows = hosts.map((host) => [
    clean(host.host),
    count(host.pending),
    count(host.inFlight),
    count(host.done),
    host.latencyMs === null ? '' : duration(host.latencyMs),
    paceText(host),
    slotText(host, now),
  ])
  const columns = [
    naming('host'),
    ...['pending', 'in flight', 'done', 'latency'].map((title) => figure(title)),
    remark('pace'),
    remark('next slot'),
  ]
  return table(columns, rows, width - 2, style.dim)
}

export function paceText(host: HostInfo): string {
  const slowed = host.slowedFromMs === null ? '' : ` (slowed from ${duration(host.slowedFromMs)})`
  const parts = [
    ...(host.delayMs > 0 ? [`every ${duration(host.delayMs)}${slowed}`] : []),
    ...(host.ratePerSecond === null ? [] : [rate(host.ratePerSecond)]),
    `${count(host.concurrency)} at once`,
  ]
  return parts.join(', ')
}

export function slotText(host: HostInfo, now: number): string {
  if (host.set?.blocked) return 'blocked manually'
  if (host.blockedUntil !== null && host.blockedUntil > now)
    return `in ${duration(host.blockedUntil - now)}: ${blockText(host)}`
  if (host.nextAt > now) return `in ${duration(host.nextAt - now)}: crawl delay`
  return host.inFlight >= host.concurrency ? 'when a response arrives' : 'now'
}

function blockText({ throttles }: HostInfo): string {
  // Blocked, but not because the host asked for it.
  if (throttles === 0) return 'all proxies are resting'
  return throttles === 1 ? 'rate limited by the host' : `rate limited by the host ${count(throttles)} times in a row`
}

function stateText(stats: CrawlStats, style: Style): string {
  if (stats.endedBy !== null)
    return style.yellow(`stopped by its ${stats.endedBy === 'budget_time' ? 'time' : 'byte'} budget`)
  const paint = { running: style.green, finished: style.green, paused: style.yellow, cancelled: style.yellow }[
    stats.state
  ]
  return paint(stats.state)
}

function figures(...pairs: readonly (readonly [value: number, name: string])[]): string {
  return pairs.map(([value, name]) => `${count(value).padStart(11)} ${name.padEnd(10)}`).join('')
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}
