import { type DecidedBy, type Estimate, estimateEnd } from '../../coordinator/eta.js'
import type { Advice } from '../../observe/snapshots/advice.js'
import type { UsefulWorkers } from '../../observe/snapshots/useful-workers.js'
import { blocksOf, missingText, unreachableText, type Waits } from '../../observe/snapshots/waits.js'
import type { RunProgress } from '../../run/run-summary.js'
import { clean } from '../terminal/clean.js'
import { count, duration, noun, percent, plural, progressBar, rate } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'

export interface Fleet {
  readonly workers: number | 'auto'
  /** Concurrent visits in each of them. */
  readonly concurrency: number
}

export function ended(stats: RunProgress['stats']): number {
  return stats.done + stats.dead + stats.skipped
}

/** The live lines of a crawl. */
export function progressLines(progress: RunProgress, fleet: Fleet, now: number, style: Style): string[] {
  const { stats } = progress
  const over = ended(stats)
  const numbers = [
    rate(stats.rate),
    plural(progress.records, 'record'),
    ...(progress.rejected > 0 ? [style.yellow(`${count(progress.rejected)} rejected`)] : []),
    ...(stats.failed > 0 ? [style.yellow(`${count(stats.failed)} failed, ${count(stats.retried)} retried`)] : []),
    ...(stats.dead > 0 ? [style.red(`${count(stats.dead)} dead`)] : []),
    `${count(stats.leased)} in flight`,
    ...cacheText(progress),
    ...workersText(progress.workersAlive, fleet.workers, style),
  ]
  return [
    `${style.bold(clean(stats.spider))}  ${progressBar(over, stats.total, style)}  ${count(over)} / ${count(stats.total)}  ${percent(over, stats.total)}`,
    `  ${numbers.join(style.dim(' · '))}`,
    `  ${style.dim(outlook(progress, fleet, now))}`,
    ...waitLines(progress.waits, now).map((line) => `  ${style.yellow(line)}`),
  ]
}

function estimateOf({ stats, hosts, waits, workersAlive }: RunProgress, fleet: Fleet, now: number): Estimate {
  return estimateEnd({ stats, hosts, slots: slotsOf(fleet, workersAlive), now, blocks: blocksOf(waits) })
}

/** Who is missing and what cannot be reached, one line each. */
export function waitLines({ missing, unreachable }: Waits, now: number): string[] {
  return [
    ...missing.map((worker) => clean(missingText(worker, now))),
    ...unreachable.map((host) => clean(unreachableText(host, now))),
  ]
}

function cacheText({ responses }: RunProgress): string[] {
  return responses === null ? [] : [`${count(responses.cache)} from the cache`]
}

/** Nothing while there is only one. */
function workersText(alive: number, wanted: Fleet['workers'], style: Style): string[] {
  if (wanted === 'auto') return alive > 1 ? [`${alive} workers`] : []
  if (wanted === 1) return []
  return [alive >= wanted ? `${wanted} workers` : style.yellow(`${alive} of ${wanted} workers`)]
}

function slotsOf({ workers, concurrency }: Fleet, alive: number): number {
  return (workers === 'auto' ? Math.max(1, alive) : workers) * concurrency
}

/** The progress as one line of text, for a pipe. */
export function progressLine(progress: RunProgress, fleet: Fleet, now: number): string {
  const { stats } = progress
  const parts = [
    `${count(ended(stats))}/${count(stats.total)} ${noun(stats.total, 'link')} (${percent(ended(stats), stats.total)})`,
    rate(stats.rate),
    plural(progress.records, 'record'),
    ...(stats.failed > 0 ? [`${count(stats.failed)} failed`] : []),
    ...(stats.dead > 0 ? [`${count(stats.dead)} dead`] : []),
    ...cacheText(progress),
    outlook(progress, fleet, now),
    ...waitLines(progress.waits, now),
  ]
  return parts.join(' · ')
}

/** An estimate needs pages, and pages need a worker that has loaded: on a busy machine that takes seconds. */
function outlook(progress: RunProgress, fleet: Fleet, now: number): string {
  const { stats, workersAlive, workersReady } = progress
  if (stats.state === 'running' && workersReady === 0 && stats.leased === 0 && ended(stats) === 0)
    return `starting ${workersAlive > 1 ? `${workersAlive} workers` : 'a worker'}`
  return endText(estimateOf(progress, fleet, now), stats.state)
}

export function endText(estimate: Estimate, state: RunProgress['stats']['state']): string {
  if (state !== 'running') return state
  if (estimate.etaSeconds === null)
    return estimate.decidedBy === null ? 'no estimate' : `no estimate: ${decidedByText(estimate.decidedBy)}`
  const when = estimate.etaSeconds < 1 ? 'ends any moment' : `ends in about ${duration(estimate.etaSeconds * 1000)}`
  return estimate.decidedBy === null ? when : `${when}, limited by ${decidedByText(estimate.decidedBy)}`
}

const REASONS = {
  delay: 'crawl delay',
  rate: 'rate limit',
  latency: 'slow responses',
  blocked: 'asked us to wait',
  closed: 'blocked manually',
  missing: 'its slots are held by a missing worker',
  unreachable: 'cannot be reached',
} as const

const OTHERS = {
  workers: 'workers (all slots are busy)',
  cpu: 'CPU (the event loop of the workers is busy)',
  retries: 'links waiting for a retry',
} as const

export function decidedByText(decidedBy: DecidedBy): string {
  if (decidedBy.kind === 'host') return `${clean(decidedBy.host)} (${REASONS[decidedBy.reason]})`
  return OTHERS[decidedBy.kind]
}

/** The current bottleneck and what to do about it; nothing if there is none. */
export function adviceLines({ stage, sentence, next }: Advice, style: Style): string[] {
  if (stage === 'none') return []
  return [`${style.yellow('bottleneck:')} ${clean(sentence)}`, ...(next === '' ? [] : [style.dim(`→ ${clean(next)}`)])]
}

/** The useful workers of a spider, and how many run. */
export interface UsefulHere extends UsefulWorkers {
  readonly running: number
}

/** Nothing if the number is right. */
export function usefulLines(useful: UsefulHere | null): string[] {
  if (useful === null || useful.running === useful.workers) return []
  return [`${plural(useful.running, 'worker')} running, ${count(useful.workers)} useful: ${clean(useful.why)}`]
}
