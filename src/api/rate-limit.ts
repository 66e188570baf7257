import type { Clock } from '../clock.js'

/** Counts what somebody does within a window of time. */
export interface RateLimit {
  /** One more; false: too many within this window. */
  count(who: string): boolean
}

/** However many addresses come by, so many are remembered: the one that was quiet for longest is forgotten first. */
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
