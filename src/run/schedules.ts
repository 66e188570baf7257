import { systemClock, systemRandom } from '../clock.js'
import { lastTurn, type TurnNote, type TurnTaken, turnDue } from '../coordinator/schedule.js'
import { ShoalError } from '../errors.js'
import type { CrawlInfo } from '../frontier/frontier.js'
import { createLog, type LogLevel } from '../log.js'
import type { Schedule } from '../spider/schedule.js'
import type { Spider } from '../spider/spider.js'
import type { VisitCounts } from '../store/visits.js'
import type { BackendAddresses, Backends } from '../wire/backends.js'
import { type AlertsOrder, loadAlerts } from './alerts/load-alerts.js'
import { startWatchDuty } from './alerts/watch-duty.js'
import { beginCrawls } from './begin-crawls.js'
import { startScheduleDuties } from './duties/schedule-duties.js'
import { openForWork, refuseMemoryQueue } from './open-for-work.js'
import { type ProxyOrder, poolsAtHand } from './pools-at-hand.js'
import { fetchesFiles } from './seeds/seed-options.js'
import { closeSidecar, type Sidecar } from './sidecar.js'
import { type SpiderSource, spiderFrom } from './spider-source.js'

export interface SchedulesOptions extends BackendAddresses, ProxyOrder, AlertsOrder {
  readonly sources: readonly SpiderSource[]
  readonly logLevel: LogLevel
  readonly drain: AbortSignal
  readonly writeLog: (line: string) => void
  /** Goes on as long as it runs. */
  readonly beside?: Sidecar | undefined
  readonly onStart?: (spiders: readonly Spider[]) => void
  readonly onTurn?: (spider: string, taken: TurnTaken) => void
}

/** Begins crawls at their times until the drain; the pages are for the workers. */
export async function runSchedules(options: SchedulesOptions): Promise<void> {
  refuseMemoryQueue(options)
  const { drain, onTurn } = options
  const clock = systemClock
  const log = createLog(options.logLevel, clock, options.writeLog)
  const alerts = loadAlerts(options.alerts ?? null, process.env)
  const opened = await openForWork(options.sources, options, drain, clock, log)
  const { spiders, backends, direct } = opened
  const beginner = beginCrawls(opened, { ...options, clock, log })
  let endSidecar: (() => Promise<void>) | undefined
  try {
    refuseUnscheduled(spiders)
    endSidecar = await options.beside?.({
      backends: direct,
      spiders,
      begin: beginner.begin,
      log,
      localWorkers: null,
      drain,
    })
    const pools = spiders.some((spider) => fetchesFiles(undefined, spider)) ? poolsAtHand(options, spiders) : new Map()
    options.onStart?.(spiders)
    const parts = { clock, random: systemRandom, log, signal: drain, pools, ...(onTurn && { onTurn }) }
    await Promise.all([startScheduleDuties(backends, spiders, parts), startWatchDuty(backends, { ...parts, alerts })])
  } finally {
    await closeSidecar(endSidecar, log)
    await beginner.stop()
    await backends.close()
  }
}

/** One that is given without a schedule is a mistake: it would never begin. */
export function refuseUnscheduled(spiders: readonly Spider[]): void {
  const without = spiders.find(({ schedule }) => schedule === null)
  if (without !== undefined)
    throw new ShoalError('spider_invalid', `the spider '${without.name}' has no schedule`, {
      hint: "Give it one: schedule: '0 3 * * *' is every night at three.",
    })
}

export interface ScheduleRow extends Pick<Schedule, 'cron' | 'timezone' | 'overlap'> {
  readonly spider: string
  readonly next: readonly number[]
  /** Null: nobody has looked after it yet. */
  readonly last: TurnNote | null
  /** The crawl of the last turn, as it is now; null when there is none any more. */
  readonly crawl: Pick<CrawlInfo, 'id' | 'state'> | null
  readonly visits: VisitCounts | null
  /** A turn is due and not begun: nobody looks after the schedule, or it waits for the last crawl. */
  readonly due: number | null
}

const NEXT_SHOWN = 3

export async function listSchedules(
  sources: readonly SpiderSource[],
  backends: Backends,
  now: number,
): Promise<ScheduleRow[]> {
  const spiders = await Promise.all(sources.map(spiderFrom))
  refuseUnscheduled(spiders)
  const crawls = await backends.frontier.crawls()
  const rows: ScheduleRow[] = []
  for (const { name, schedule } of spiders) {
    if (schedule === null) continue
    const last = await lastTurn(backends.notes, name)
    const crawl = crawls.find(({ id }) => id === last?.crawl) ?? null
    const next: number[] = []
    for (let turn = schedule.next(now); turn !== null && next.length < NEXT_SHOWN; turn = schedule.next(turn))
      next.push(turn)
    rows.push({
      ...{ spider: name, cron: schedule.cron, timezone: schedule.timezone, overlap: schedule.overlap, next, last },
      crawl: crawl && { id: crawl.id, state: crawl.state },
      visits: crawl === null ? null : await backends.store.visitCounts(crawl.id),
      due: last === null ? null : turnDue(schedule, last, now),
    })
  }
  return rows
}
