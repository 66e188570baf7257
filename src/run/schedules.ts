import { systemClock, systemRandom } from '../clock.js'
import { warnOf, withClosers } from '../closers.js'
import type { ProcessSettings } from '../config.js'
import { lastTurn, type TurnNote, type TurnTaken, turnDue } from '../coordinator/schedule.js'
import { ShoalError } from '../errors.js'
import type { CrawlInfo } from '../frontier/frontier.js'
import { createLog } from '../log.js'
import type { Schedule } from '../spider/schedule.js'
import type { Spider } from '../spider/spider.js'
import type { VisitCounts } from '../store/visits.js'
import type { Backends } from '../wire/backends.js'
import { loadAlerts } from './alerts/load-alerts.js'
import { startWatchDuty } from './alerts/watch-duty.js'
import { createCrawlStarter } from './crawl-starter.js'
import { startScheduleDuties } from './duties/schedule-duties.js'
import { openForWork, refuseMemoryQueue } from './open-for-work.js'
import { SERVICE_WAIT_MS } from './open-patiently.js'
import { poolsAtHand } from './pools-at-hand.js'
import { fetchesFiles } from './seeds/seed-options.js'
import { openSidecar, type Sidecar } from './sidecar.js'
import { type SpiderSource, spiderFrom } from './spider-source.js'

export interface SchedulesOptions {
  readonly settings: ProcessSettings
  readonly sources: readonly SpiderSource[]
  readonly drain: AbortSignal
  readonly writeLog: (line: string) => void
  readonly sidecar?: Sidecar | undefined
  readonly onStart?: (spiders: readonly Spider[]) => void
  readonly onTurn?: (spider: string, taken: TurnTaken) => void
}

/** Starts crawls at their times until the drain; workers elsewhere fetch the pages. */
export async function runSchedules(options: SchedulesOptions): Promise<void> {
  const { settings, drain, onTurn } = options
  refuseMemoryQueue(settings)
  const clock = systemClock
  const log = createLog(settings.logLevel, clock, options.writeLog)
  const alerts = loadAlerts(settings.alerts, process.env)
  await withClosers(warnOf(log), async (closers) => {
    const opened = await openForWork(options.sources, settings, drain, clock, log, SERVICE_WAIT_MS)
    const { spiders, backends, direct } = opened
    closers.add(() => backends.close())
    const starter = createCrawlStarter(opened, { settings, clock, log })
    closers.add(starter.stop)
    refuseUnscheduled(spiders)
    const { start } = starter
    const watched = { backends: direct, spiders, start, log, localWorkers: null, drain }
    closers.add(await openSidecar(options.sidecar, watched))
    const pools = spiders.some((spider) => fetchesFiles(undefined, spider)) ? poolsAtHand(settings, spiders) : new Map()
    options.onStart?.(spiders)
    const parts = { clock, random: systemRandom, log, signal: drain, pools, ...(onTurn && { onTurn }) }
    await Promise.all([startScheduleDuties(backends, spiders, parts), startWatchDuty(backends, { ...parts, alerts })])
  })
}

/** Passing a spider without a schedule is a mistake: its crawls would never start. */
export function refuseUnscheduled(spiders: readonly Spider[]): void {
  const without = spiders.find(({ schedule }) => schedule === null)
  if (without !== undefined)
    throw new ShoalError('spider_invalid', `the spider '${without.name}' has no schedule`, {
      hint: "Add one to the spider: schedule: '0 3 * * *' runs every night at three.",
    })
}

export interface ScheduleRow extends Pick<Schedule, 'cron' | 'timezone' | 'overlap'> {
  readonly spider: string
  readonly next: readonly number[]
  /** Null: no process has run this schedule yet. */
  readonly last: TurnNote | null
  /** The crawl of the last turn as it is now; null when it no longer exists. */
  readonly crawl: Pick<CrawlInfo, 'id' | 'state'> | null
  readonly visits: VisitCounts | null
  /** A turn that is due but has not started: no process runs the schedule, or it waits for the last crawl. */
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
      visits: crawl === null ? null : await backends.store.visits.counts(crawl.id),
      due: last === null ? null : turnDue(schedule, last, now),
    })
  }
  return rows
}
