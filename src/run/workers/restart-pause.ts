const FIRST_MS = 500
const LONGEST_MS = 30_000
/** A worker that ran this long before it died is restarted as if it were the first time. */
const HEALTHY_MS = 60_000

/** How long to wait before a worker that died is replaced: twice as long each time. `lastMs` is 0 before the first. */
export function restartPause(lastMs: number, livedMs: number): number {
  if (lastMs === 0 || livedMs > HEALTHY_MS) return FIRST_MS
  return Math.min(LONGEST_MS, lastMs * 2)
}
