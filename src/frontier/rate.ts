/** Links that ended in one second of the queue's clock, and nothing else is kept of them. A count of 0 is a mark: the crawl was resumed after this second. */
export interface Ending {
  readonly second: number
  readonly count: number
}

/** The rate of a crawl is that of its last ten seconds: long enough to be steady, short enough that a stall shows while somebody watches. */
const WINDOW_S = 10
/** Endings are kept for this long, for crawls that end a page less often than every few seconds. */
export const ENDINGS_KEPT_S = 60
/** So many intervals between endings make a mean. */
const INTERVALS = 5
/** So many seconds without an ending, in the middle of many, were a stall. Once it is over it no longer counts, or the estimated end would jump by hours. */
const STALL_S = 4
/** A crawl that ends a page every 15 s has not stalled after ten: it has after this many of its usual intervals. */
const STALLED_INTERVALS = 3

/**
 * Links that ended per second, over the last ten seconds of running time: time before the first lease, before a resume and before `since` does not
 * count. Where pages are rarer than that, the mean of the last intervals, so that a polite crawl does not flicker between 0 and 0.1/s. A stall is 0.
 */
export function rateOf(endings: readonly Ending[], { since, now }: { since: number | null; now: number }): number {
  if (since === null) return 0
  const second = Math.floor(now / 1000)
  const begun = Math.max(since, resumedAt(endings))
  const known = endings.filter(({ count, second: at }) => count > 0 && at >= Math.floor(begun / 1000) && at <= second)
  const begin = Math.max(begun, 1000 * firstEnding(known))
  const ended = known.filter(({ second: at }) => at >= Math.floor(begin / 1000))
  const windowStart = Math.max(begin, (second - WINDOW_S + 1) * 1000)
  if (windowStart > begin) {
    const rare = rareRate(ended, begin, second)
    if (rare !== null) return rare
  }
  const recent = ended.filter(({ second: at }) => at >= Math.floor(windowStart / 1000))
  return (sum(recent) * 1000) / Math.max(1000, now - windowStart)
}

/** Time in which no process with workers was there, or the queue was down, does not count. `watchedSince` is 0 or null if nobody ever was. */
export function runningSince({ startedAt }: { readonly startedAt: number | null }, watchedSince: number | null) {
  return startedAt === null ? null : Math.max(startedAt, watchedSince ?? 0)
}

/** The slot of the ring that a resume leaves behind. What ended before the pause no longer counts. */
export function resumeMark(now: number): Ending {
  return { second: Math.floor(now / 1000) - 1, count: 0 }
}

function resumedAt(endings: readonly Ending[]): number {
  return Math.max(0, ...endings.map(({ count, second }) => (count === 0 ? (second + 1) * 1000 : 0)))
}

/** The second of the first ending after the last stall, or of all, as workers take a moment to start; 0: too little has ended since. */
function firstEnding(ended: readonly Ending[]): number {
  const newestFirst = ended.toSorted((a, b) => b.second - a.second)
  let since = 0
  for (const [nth, { second, count }] of newestFirst.entries()) {
    since += count
    const before = newestFirst[nth + 1]
    if (before === undefined || second - before.second > STALL_S) return since > INTERVALS ? second : 0
  }
  return 0
}

/** The mean of the last intervals if they took longer than the window; null: pages are not that rare. */
function rareRate(ended: readonly Ending[], begin: number, second: number): number | null {
  const newest = ended.reduce((last, ending) => Math.max(last, ending.second), 0)
  const known = ended
    .filter((ending) => newest - ending.second < ENDINGS_KEPT_S)
    .toSorted((a, b) => b.second - a.second)
  const taken: Ending[] = []
  for (const ending of known) if (sum(taken) <= INTERVALS) taken.push(ending)
  const oldest = taken.at(-1)
  if (oldest === undefined) return null
  const { intervals, span } = intervalsOf(taken, begin / 1000, newest, oldest.second)
  if (span < WINDOW_S) return null
  const usual = span / intervals
  const silence = second - newest
  if (silence >= WINDOW_S && silence > STALLED_INTERVALS * usual) return 0
  return intervals / (span + Math.max(0, silence - usual))
}

/** From the oldest of the endings, or from the beginning of a crawl that has not had enough of them. One ending in a minute is one a minute at most. */
function intervalsOf(taken: readonly Ending[], begin: number, newest: number, oldest: number) {
  const endings = sum(taken)
  if (endings <= INTERVALS && newest - begin < ENDINGS_KEPT_S) return { intervals: endings, span: newest - begin }
  return endings === 1 ? { intervals: 1, span: ENDINGS_KEPT_S } : { intervals: endings - 1, span: newest - oldest }
}

function sum(endings: readonly Ending[]): number {
  return endings.reduce((all, { count }) => all + count, 0)
}
