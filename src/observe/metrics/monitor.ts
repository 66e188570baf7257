import type { Clock } from '../../clock.js'
import { isFileCrawl } from '../../coordinator/file-crawl.js'
import { asShoalError, isAway } from '../../errors.js'
import type { CrawlId, CrawlInfo, WorkerInfo } from '../../frontier/frontier.js'
import { version } from '../../version.js'
import { WATCH_KEY } from '../note-keys.js'
import { endedLately, type Health, healthAmong, STALLED_MS } from '../snapshots/health.js'
import { readFleet } from '../snapshots/read-scale.js'
import { type MissingWorker, missingText, missingWorkers } from '../snapshots/waits.js'
import type { ReceivedVitals } from '../vitals/read-vitals.js'
import { MISSED_MS } from '../vitals/vitals.js'
import { BUILD_METRICS, familiesOf } from './metric-names.js'
import { exposition } from './prometheus.js'
import { queueMetrics } from './queue-metrics.js'
import { type MeteredBackends, queueReader } from './read-queue.js'
import { type ScaleQuery, type ScaleReply, scaleOf } from './scale.js'
import { inTime, sharedAnswer } from './shared-answer.js'
import { workerMetrics } from './worker-metrics.js'

export interface MonitorParts {
  readonly backends: MeteredBackends
  readonly clock: Clock
  /** Workers are expected at any time; on one machine a crawl without workers was simply stopped. */
  readonly fleet: boolean
  /** Also serve the metrics of the queue. */
  readonly queue: boolean
  /** Workers of this process and of its child processes; null: it has none. */
  readonly localWorkers: (() => readonly ReceivedVitals[]) | null
  /** It is shutting down and takes no new work. */
  readonly draining?: () => boolean
}

/** The replies of a process's monitoring endpoints, whichever server they run on. */
export interface Monitor {
  metricsText(): Promise<string>
  /** Checks progress, not just a connection. */
  healthReply(): Promise<Reply>
  /** Checks that the backends can be reached and the workers ask for work. */
  readyReply(): Promise<Reply>
  /** How many workers help, for autoscalers; null: this process does not serve it, because it does not read the queue. Throws `queue_down`. */
  readonly scale: ((query: ScaleQuery) => Promise<ScaleReply>) | null
}

interface Reply {
  readonly status: 200 | 503
  readonly body: { readonly ok: boolean; readonly reasons: readonly Reason[] }
}

interface Reason {
  readonly code: 'queue_down' | 'stalled' | 'worker_stuck' | 'not_leasing' | 'draining' | 'worker_missing'
  /** For people, without secrets. */
  readonly message: string
}

/** The queue is queried at most once in this time, however many requests come in. */
const FRESH_MS = 1_000
/** Health turns red after 15 s at the earliest, so there is no need to check more often. */
const HEALTH_MS = 5_000
/** Autoscalers ask every 15 or 30 s, and a worker reports every 3 s. */
const SCALE_MS = 3_000
/** Crawls checked for one reply. */
const CRAWLS_AT_ONCE = 20
/** Shorter than the usual timeouts of probes. */
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
  const readScale = sharedAnswer(clock, SCALE_MS, () => readFleet(backends, clock.now()))
  const began = clock.mono()
  const inTurn = takesTurns()
  const health = sharedAnswer(clock, HEALTH_MS, async (): Promise<Health & { missing: readonly MissingWorker[] }> => {
    // Its own workers are just starting.
    if (localWorkers !== null && clock.mono() - began < STALLED_MS) return { ok: true, stalled: [], missing: [] }
    const workers = await frontier.workers()
    const missing = missingWorkers(workers, clock.now())
    if (endedLately(workers, clock.now())) return { ok: true, stalled: [], missing }
    const crawls = (await frontier.crawls()).filter((crawl) => crawl.state === 'running' && !isFileCrawl(crawl))
    const spiders = spidersOf(workers, new Set((localWorkers?.() ?? []).map(({ vitals }) => vitals.worker)))
    const own = spiders.size === 0 ? crawls : crawls.filter(({ spider }) => spiders.has(spider))
    const answer = await healthAmong(frontier, workers, inTurn.next(own), clock.now(), fleet)
    inTurn.first(answer.stalled.map(({ crawl }) => crawl))
    return { ...answer, missing }
  })
  // The cheapest query of each backend that is not answered from memory: a fleet of hundreds is probed all the time.
  const reach = sharedAnswer(clock, FRESH_MS, () => Promise.all([notes.read(WATCH_KEY), store.visits.counts('')]))

  const stuck = (): Reason[] =>
    (localWorkers?.() ?? [])
      .filter(({ ageMs }) => ageMs > MISSED_MS)
      .map(({ vitals, ageMs }) => ({
        code: 'worker_stuck',
        message: `the event loop of ${vitals.worker} has been blocked for ${seconds(ageMs)}`,
      }))

  return {
    async metricsText() {
      const reading = queue ? await inTime(clock, ANSWER_MS, readQueue()).catch(nullIfDown) : null
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
        const { stalled, missing } = await inTime(clock, ANSWER_MS, health())
        const reasons = stalled.map(
          ({ crawl, spider, forMs }): Reason => ({
            code: 'stalled',
            message: `links of the crawl ${crawl} of ${spider} have been due for ${seconds(forMs)}, but no worker takes them`,
          }),
        )
        const lost = missing.map(
          (worker): Reason => ({ code: 'worker_missing', message: missingText(worker, clock.now()) }),
        )
        return replyOf([...reasons, ...stuck(), ...lost])
      } catch (error) {
        return replyOf([queueDown(error), ...stuck()])
      }
    },
    async readyReply() {
      const reasons: Reason[] = draining() ? [{ code: 'draining', message: 'the process is shutting down' }] : stuck()
      try {
        await inTime(clock, ANSWER_MS, reach())
      } catch (error) {
        reasons.push(queueDown(error))
      }
      const leasing = localWorkers?.().some(({ vitals }) => vitals.took.lease.counts.some((count) => count > 0)) ?? true
      if (!leasing) reasons.push({ code: 'not_leasing', message: 'no worker has asked the queue for work yet' })
      return replyOf(reasons)
    },
    scale: queue ? async (query) => scaleOf(await inTime(clock, ANSWER_MS, readScale()), query) : null,
  }
}

/** The spiders of this process's workers. Empty if they have not asked for work yet, or do not report them. */
function spidersOf(workers: readonly WorkerInfo[], own: ReadonlySet<string>): Set<string> {
  return new Set(
    workers.filter(({ worker }) => own.has(worker)).flatMap(({ about }) => Object.keys(about?.spiders ?? {})),
  )
}

/** A bounded number of crawls is checked each time: those that were stalled, then the others in turn. */
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

/** A bug must not look like a queue that is down. */
function nullIfDown(error: unknown): null {
  if (isAway(error)) return null
  throw error
}

function replyOf(reasons: readonly Reason[]): Reply {
  // Others take over the links of a missing worker: a reason to look at it, not to restart this process.
  const ok = reasons.every(({ code }) => code === 'worker_missing')
  return { status: ok ? 200 : 503, body: { ok, reasons } }
}

function queueDown(error: unknown): Reason {
  const { code, message } = asShoalError(error)
  return { code: 'queue_down', message: `${code}: ${message}` }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}
