import { Cron } from 'croner'
import { ShoalError } from '../errors.js'

/** When crawls of a spider start automatically. Turns are whole seconds, the same for every process. */
export interface Schedule {
  readonly cron: string
  readonly timezone: string
  /** What happens to a turn while the previous crawl is unfinished. */
  readonly overlap: 'skip' | 'queue'
  /** The first turn after a time; null: never again. */
  next(after: number): number | null
  /** The last turn up to a time; null: there was none. */
  last(upTo: number): number | null
}

export interface ScheduleOptions {
  readonly cron: string
  readonly timezone: string
  readonly overlap: Schedule['overlap']
}

export function compileSchedule({ cron, timezone, overlap }: ScheduleOptions): Schedule {
  if (!isTimezone(timezone))
    throw invalid(`schedule.timezone: '${timezone}' is not a time zone such as 'Europe/Berlin'`)
  const turns = parsed(cron, timezone)
  const schedule: Schedule = {
    cron,
    timezone,
    overlap,
    next: (after) => turns.nextRun(new Date(after))?.getTime() ?? null,
    // It returns turns before the given second.
    last: (upTo) => turns.previousRuns(1, new Date(upTo + 1000))[0]?.getTime() ?? null,
  }
  if (schedule.next(0) === null) throw invalid(`schedule.cron: '${cron}' never runs`)
  return schedule
}

function parsed(cron: string, timezone: string): Cron {
  try {
    return new Cron(cron, { timezone, mode: '5-or-6-parts' })
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).replace(/^CronPattern: /, '')
    throw invalid(`schedule.cron: ${reason}`)
  }
}

function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

function invalid(message: string): ShoalError {
  return new ShoalError('spider_invalid', message, {
    hint: "Minute, hour, day, month, weekday: '0 3 * * *' is every night at three.",
  })
}
