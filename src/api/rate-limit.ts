import type { Clock } from '../clock.js'

/** Counts calls per caller within a time window. */
export interface RateLimit {
  /** Counts one call; false: too many within this window. */
  count(who: string): boolean
}

/** At most this many addresses are remembered; the least recently active is forgotten first. */
const REMEMBERED = 10_000

export function createRateLimit(clock: Clock, most: number, windowMs: number): RateLimit {
  const windows = new Map<string, { readonly until: number; count: number }>()
  const current = (who: string) => {
    const window = windows.get(who)
    return window !== undefined && window.until > clock.mono() ? window : undefined
  }
  return {
    count(who) {
      const window = current(who) ?? { until: clock.mono() + windowMs, count: 0 }
      window.count += 1
      windows.delete(who)
      windows.set(who, window)
      const [quietest] = windows.keys()
      if (windows.size > REMEMBERED && quietest !== undefined) windows.delete(quietest)
      return window.count <= most
    },
  }
}
