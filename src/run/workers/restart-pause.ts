const FIRST_MS = 500
const LONGEST_MS = 30_000
/** After running this long a worker counts as healthy: its next death starts again with the short pause. */
const HEALTHY_MS = 60_000

/** How long to wait before a dead worker is replaced: twice as long each time. `lastMs` is 0 before the first restart. */
export function restartPause(lastMs: number, livedMs: number): number {
  if (lastMs === 0 || livedMs > HEALTHY_MS) return FIRST_MS
  return Math.min(LONGEST_MS, lastMs * 2)
}
