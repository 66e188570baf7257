import type { Clock } from '../clock.js'
import type { CrawlId, Frontier } from '../frontier/frontier.js'

/** Sources pause when the queue reaches the high mark and resume when it has drained to the low mark. Discovered links never wait. */
const HIGH_WATER = 0.9
const LOW_WATER = 0.5
const LOOK_MS = 500

/** How many links a source may add now; 0 above the high-water mark. An empty queue always accepts one. */
export function roomFor(pending: number, maxPending: number): number {
  const room = Math.floor(HIGH_WATER * maxPending) - pending
  return room < 1 && pending === 0 ? 1 : Math.max(0, room)
}

/** Answers how many links are pending then. */
export async function untilLowMark(
  frontier: Frontier,
  crawl: CrawlId,
  maxPending: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    await clock.sleep(LOOK_MS, signal)
    const pending = await pendingOf(frontier, crawl)
    if (signal.aborted || pending <= LOW_WATER * maxPending) return pending
  }
}

export async function pendingOf(frontier: Frontier, crawl: CrawlId): Promise<number> {
  const { queued, delayed } = await frontier.stats(crawl)
  return queued + delayed
}
