/**
 * When a worker counts as lost. Its leases run out after `lease.visibility` in any case; this is the shorter time after which its silence alone is enough. The
 * contract is `beat` in frontier.ts; the scripts of the Redis frontier say the same in Lua.
 */

/** Without a setting (`--lost-after`). Four beats fit in, so that three may be late or lost. */
export const LOST_AFTER_MS = 10_000
export const BEATS_PER_LOST_AFTER = 4

/** Processes with workers reap about once a second: a longer pause than this means that nobody watched. Well below the least `--lost-after`, 5 s. */
export const WATCH_GAP_MS = 3_000

/** Lost workers that one reap takes care of. */
export const LOST_AT_ONCE = 100

export interface Beat {
  /** For people. */
  readonly beatAt: number
  readonly lostAfterMs: number
  readonly lostAt: number
}

export function beatNow(now: number, lostAfterMs: number): Beat {
  return { beatAt: now, lostAfterMs, lostAt: now + lostAfterMs }
}

/** `watchedAt` is the last reap; null before the first. A clock that was set back proves nothing about the time before. */
export function wasUnwatched(watchedAt: number | null, now: number): boolean {
  return watchedAt === null || now < watchedAt || now - watchedAt > WATCH_GAP_MS
}

/** The time before was not watched, and its silence is no evidence. */
export function startAgain(beat: Beat, now: number): Beat {
  return { ...beat, lostAt: now + beat.lostAfterMs }
}
