import { systemClock, systemRandom } from '../clock.js'
import { lastTurn, type TurnNote, type TurnTaken, turnDue } from '../coordinator/schedule.js'
import { ShoalError } from '../errors.js'
import type { CrawlInfo } from '../frontier/frontier.js'
import { createLog, type LogLevel } from '../log.js'
import type { Schedule } from '../spider/schedule.js'
import type { Spider } from '../spider/spider.js'
import type { VisitCounts } from '../store/visits.js'
import type { Plant, PlantAddresses } from '../wire/backends.js'
import { beginCrawls } from './begin-crawls.js'
import { type Beside, endedBeside } from './sidecar.js'
import { type AlertsOrder, loadAlerts } from './alerts/load-alerts.js'
import { openForWork, refuseMemoryQueue } from './open-for-work.js'
import { type ProxyOrder, poolsAtHand } from './pools-at-hand.js'
import { fetchesFiles } from './seeds/seed-options.js'
import { type SpiderSource, spiderFrom } from './spider-source.js'
import { tendSchedules } from './duties/schedule-duties.js'
import { tendWatch } from './alerts/watch-duty.js'

export interface SchedulesOptions extends PlantAddresses, ProxyOrder, AlertsOrder {
  readonly sources: readonly SpiderSource[]
  readonly logLevel: LogLevel
  readonly drain: AbortSignal
  readonly writeLog: (line: string) => void
  /** Goes on as long as it runs. */
  readonly beside?: Beside | undefined
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
  const { spiders, plant, direct } = opened
  const beginner = beginCrawls(opened, { ...options, clock, log })
  let endBeside: (() => Promise<void>) | undefined
  try {
    refuseUnscheduled(spiders)
    endBeside = await options.beside?.({ plant: direct, spiders, begin: beginner.begin, log, crew: null, drain })
    const pools = spiders.some((spider) => fetchesFiles(undefined, spider)) ? poolsAtHand(options, spiders) : new Map()
    options.onStart?.(spiders)
    const parts = { clock, random: systemRandom, log, signal: drain, pools, ...(onTurn && { onTurn }) }
    await Promise.all([tendSchedules(plant, spiders, parts), tendWatch(plant, { ...parts, alerts })])
  } finally {
    await endedBeside(endBeside, log)
    await beginner.stop()
    await plant.close()
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
  plant: Plant,
  now: number,
): Promise<ScheduleRow[]> {
  const spiders = await Promise.all(sources.map(spiderFrom))
  refuseUnscheduled(spiders)
  const crawls = await plant.frontier.crawls()
  const rows: ScheduleRow[] = []
  for (const { name, schedule } of spiders) {
    if (schedule === null) continue
    const last = await lastTurn(plant.board, name)
    const crawl = crawls.find(({ id }) => id === last?.crawl) ?? null
    const next: number[] = []
    for (let turn = schedule.next(now); turn !== null && next.length < NEXT_SHOWN; turn = schedule.next(turn))
      next.push(turn)
    rows.push({
      ...{ spider: name, cron: schedule.cron, timezone: schedule.timezone, overlap: schedule.overlap, next, last },
      crawl: crawl && { id: crawl.id, state: crawl.state },
      visits: crawl === null ? null : await plant.store.visitCounts(crawl.id),
      due: last === null ? null : turnDue(schedule, last, now),
    })
  }
  return rows
}
