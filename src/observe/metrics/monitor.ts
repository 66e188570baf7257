import type { Clock } from '../../clock.js'
import { isFileCrawl } from '../../coordinator/file-crawl.js'
import { asShoalError, isAway } from '../../errors.js'
import type { CrawlId, CrawlInfo, WorkerInfo } from '../../frontier/frontier.js'
import { version } from '../../version.js'
import { WATCH_KEY } from '../note-keys.js'
import { endedLately, type Health, healthAmong, STALLED_MS } from '../snapshots/health.js'
import type { VitalsHeard } from '../vitals/read-vitals.js'
import { MISSED_MS } from '../vitals/vitals.js'
import { BUILD_METRICS, familiesOf } from './metric-names.js'
import { exposition } from './prometheus.js'
import { queueMetrics } from './queue-metrics.js'
import { type MeteredBackends, queueReader } from './read-queue.js'
import { inTime, sharedAnswer } from './shared-answer.js'
import { workerMetrics } from './worker-metrics.js'

export interface MonitorParts {
  readonly backends: MeteredBackends
  readonly clock: Clock
  /** Workers are expected at any time; on one machine a crawl without workers was stopped, which is no fault. */
  readonly fleet: boolean
  /** Tell the metrics of the queue as well. */
  readonly queue: boolean
  /** Workers of this process and of those that it started; null: it has none. */
  readonly localWorkers: (() => readonly VitalsHeard[]) | null
  /** It was asked to end, and takes no new work. */
  readonly draining?: () => boolean
}

/** What the endpoints of a process answer, whoever serves them. */
export interface Monitor {
  metricsText(): Promise<string>
  /** Progress, not a connection. */
  healthReply(): Promise<Reply>
  /** The backends can be reached and the workers ask for work. */
  readyReply(): Promise<Reply>
}

interface Reply {
  readonly status: 200 | 503
  readonly body: { readonly ok: boolean; readonly reasons: readonly Reason[] }
}

interface Reason {
  readonly code: 'queue_down' | 'stalled' | 'worker_stuck' | 'not_leasing' | 'draining'
  /** For a person, without secrets. */
  readonly message: string
}

/** However often somebody asks, the queue is asked once in so long. */
const FRESH_MS = 1_000
/** What may be red after 15 s need not be looked at more often. */
const HEALTH_MS = 5_000
/** Crawls looked at for one answer. */
const CRAWLS_AT_ONCE = 20
/** Sooner than the deadlines of those who usually ask. */
const ANSWER_MS = 4_000

export function createMonitor({
  backends,
  clock,
  fleet,
  queue,
  localWorkers,
  draining = () => false,
}: MonitorParts): Monitor {
  const { frontier, notes, store } = backends
  const readQueue = sharedAnswer(clock, FRESH_MS, queueReader(backends, clock, fleet))
  const began = clock.mono()
  const inTurn = takesTurns()
  const health = sharedAnswer(clock, HEALTH_MS, async (): Promise<Health> => {
    // Its own workers are about to begin.
    if (localWorkers !== null && clock.mono() - began < STALLED_MS) return { ok: true, stalled: [] }
    const workers = await frontier.workers()
    if (endedLately(workers, clock.now())) return { ok: true, stalled: [] }
    const crawls = (await frontier.crawls()).filter((crawl) => crawl.state === 'running' && !isFileCrawl(crawl))
    const spiders = spidersOf(workers, new Set((localWorkers?.() ?? []).map(({ vitals }) => vitals.worker)))
    const own = spiders.size === 0 ? crawls : crawls.filter(({ spider }) => spiders.has(spider))
    const answer = await healthAmong(frontier, workers, inTurn.next(own), clock.now(), fleet)
    inTurn.first(answer.stalled.map(({ crawl }) => crawl))
    return answer
  })
  // The cheapest question to each that is not answered from memory: a fleet of hundreds is probed all the time.
  const reach = sharedAnswer(clock, FRESH_MS, () => Promise.all([notes.read(WATCH_KEY), store.visitCounts('')]))

  const stuck = (): Reason[] =>
    (localWorkers?.() ?? [])
      .filter(({ ageMs }) => ageMs > MISSED_MS)
      .map(({ vitals, ageMs }) => ({
        code: 'worker_stuck',
        message: `the event loop of ${vitals.worker} has stood still for ${seconds(ageMs)}`,
      }))

  return {
    async metricsText() {
      const reading = queue ? await inTime(clock, ANSWER_MS, readQueue()).catch(nullIfAway) : null
      return exposition([
        ...familiesOf(BUILD_METRICS, {
          shoal_build_info: [{ labels: { version, node: process.versions.node }, value: 1 }],
        }),
        ...workerMetrics(localWorkers?.() ?? []),
        ...(queue ? queueMetrics(reading) : []),
      ])
    },
    async healthReply() {
      try {
        const { stalled } = await inTime(clock, ANSWER_MS, health())
        const reasons = stalled.map(
          ({ crawl, spider, forMs }): Reason => ({
            code: 'stalled',
            message: `work of the crawl ${crawl} of ${spider} has been due for ${seconds(forMs)}, and nobody takes it`,
          }),
        )
        return replyOf([...reasons, ...stuck()])
      } catch (error) {
        return replyOf([away(error), ...stuck()])
      }
    },
    async readyReply() {
      const reasons: Reason[] = draining() ? [{ code: 'draining', message: 'the process is about to end' }] : stuck()
      try {
        await inTime(clock, ANSWER_MS, reach())
      } catch (error) {
        reasons.push(away(error))
      }
      const leasing = localWorkers?.().some(({ vitals }) => vitals.took.lease.counts.some((count) => count > 0)) ?? true
      if (!leasing) reasons.push({ code: 'not_leasing', message: 'no worker has asked the queue for work yet' })
      return replyOf(reasons)
    },
  }
}

/** What workers of this process can do. None, where they have not asked for work yet, or do not say. */
function spidersOf(workers: readonly WorkerInfo[], own: ReadonlySet<string>): Set<string> {
  return new Set(
    workers.filter(({ worker }) => own.has(worker)).flatMap(({ about }) => Object.keys(about?.spiders ?? {})),
  )
}

/** However many crawls run, so many are looked at: those that stood still, and of the others the next. */
function takesTurns() {
  let stalled: readonly CrawlId[] = []
  let from = 0
  return {
    first(crawls: readonly CrawlId[]) {
      stalled = crawls
    },
    next(crawls: readonly CrawlInfo[]): CrawlInfo[] {
      const again = crawls.filter(({ id }) => stalled.includes(id)).slice(0, CRAWLS_AT_ONCE)
      const others = crawls.filter((crawl) => !again.includes(crawl))
      const wanted = Math.min(others.length, CRAWLS_AT_ONCE - again.length)
      if (from >= others.length) from = 0
      const turn = [...others.slice(from), ...others.slice(0, from)].slice(0, wanted)
      from += wanted
      return [...again, ...turn]
    },
  }
}

/** A defect of ours must not look like a queue that is away. */
function nullIfAway(error: unknown): null {
  if (isAway(error)) return null
  throw error
}

function replyOf(reasons: readonly Reason[]): Reply {
  const ok = reasons.length === 0
  return { status: ok ? 200 : 503, body: { ok, reasons } }
}

function away(error: unknown): Reason {
  const { code, message } = asShoalError(error)
  return { code: 'queue_down', message: `${code}: ${message}` }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}
