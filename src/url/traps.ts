import type { FilterReason } from './filter-reasons.js'
import type { TrapRules } from './rules.js'
import { hasSessionSegment } from './session-ids.js'

export const DEFAULT_TRAPS: TrapRules = {
  maxSegments: 30,
  maxRepeat: 2,
  maxParams: 20,
  sessionIds: true,
  calendars: true,
}

export interface Trap {
  readonly reason: Extract<FilterReason, `trap_${string}`>
  /** The start of a sentence. */
  readonly message: string
}

/** Which guard a canonical URL hits; null if it seems to be a page. */
export function trapIn(path: string, query: string, rules: TrapRules): Trap | null {
  const count = countSegments(path)
  if (count > rules.maxSegments) {
    const message = `${count} path segments are more than scope.traps.maxSegments (${rules.maxSegments})`
    return { reason: 'trap_segments', message }
  }
  if (count > rules.maxRepeat && repeats(path.split('/', count + 1).slice(1), rules.maxRepeat)) {
    const message = `The path repeats itself more often than scope.traps.maxRepeat (${rules.maxRepeat})`
    return { reason: 'trap_repeats', message }
  }
  const params = query === '' ? 0 : query.split('&').length
  if (params > rules.maxParams) {
    const message = `${params} parameters are more than scope.traps.maxParams (${rules.maxParams})`
    return { reason: 'trap_params', message }
  }
  if (rules.sessionIds !== false && hasSessionSegment(path, rules.sessionIds === 'likely')) {
    return { reason: 'trap_session_id', message: 'The path contains a session id (scope.traps.sessionIds)' }
  }
  const year = rules.calendars ? oddYear(path, query) : null
  if (year === null) return null
  const message = `The year ${year} is outside ${FIRST_YEAR} to ${LAST_YEAR} (scope.traps.calendars)`
  return { reason: 'trap_calendar', message }
}

/** Slashes, except one at the end. */
function countSegments(path: string): number {
  let count = 0
  for (let at = path.indexOf('/'); at !== -1 && at < path.length - 1; at = path.indexOf('/', at + 1)) count++
  return count
}

/** A group of one or more segments more than `most` times in a row: `a/a/a`, `a/b/a/b/a/b`. */
function repeats(segments: readonly string[], most: number): boolean {
  const longestGroup = Math.floor(segments.length / (most + 1))
  for (let group = 1; group <= longestGroup; group++) {
    let run = 0
    for (let i = group; i < segments.length; i++) {
      run = segments[i] === segments[i - group] ? run + 1 : 0
      if (run >= group * most) return true
    }
  }
  return false
}

/**
 * An endless calendar leads to years that nobody publishes for. There is no clock here, so the bounds are wide, and archives of old newspapers are
 * inside them; within the bounds a calendar is limited by maxDepth and the budget.
 */
const FIRST_YEAR = 1900
const LAST_YEAR = 2100

/** `/2150/03/17`, `/2150-03-17`; year and month alone only after a word for calendar: `/item/4711/12` is not a date. */
const PATH_DATE = /\/([0-9]{4,6})([/-])(?:0[1-9]|1[0-2])\2(?:0[1-9]|[12][0-9]|3[01])(?=\/|$)/
const CALENDAR_PATH =
  /\/(?:calendar|calendars|events?|kalender|agenda|calendrier|calendario)\/(?:[a-z]+\/)?([0-9]{4,6})(?:[/-](?:0?[1-9]|1[0-2]))?(?=\/|$)/i
/** Both of these require it. */
const NUMBER_SEGMENT = /\/[0-9]{4}/
const DATE_PARAM = /[?&_.-](?:date|day|week|month)=([0-9]{4,6})-[0-9]{1,2}(?:-[0-9]{1,2})?(?=&|$)/i
const COMPACT_DATE_PARAM = /[?&_.-](?:date|day)=([0-9]{4})(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?=&|$)/i
const YEAR_PARAM = /[?&]year=([0-9]{1,6})(?=&|$)/i

function oddYear(path: string, query: string): string | null {
  if (NUMBER_SEGMENT.test(path)) {
    for (const pattern of [PATH_DATE, CALENDAR_PATH]) {
      const year = pattern.exec(path)?.[1]
      if (isOdd(year)) return year
    }
  }
  if (query === '') return null
  for (const pattern of [DATE_PARAM, COMPACT_DATE_PARAM, YEAR_PARAM]) {
    const year = pattern.exec(query)?.[1]
    if (isOdd(year)) return year
  }
  return null
}

/** Years of up to two digits are abbreviations (`year=24`), and 9999 is how programs write "no end". */
function isOdd(year: string | undefined): year is string {
  if (year === undefined || year.length < 3) return false
  const number = Number(year)
  return (number < FIRST_YEAR || number > LAST_YEAR) && number !== 9999
}
