import type { Spider } from '../spider/spider.js'

/** What the crawls of a spider look like at one moment. */
export interface SpiderWork {
  /** Crawls that have not ended. */
  readonly running: number
  /** Links that are queued, delayed or leased. */
  readonly pending: number
  /** Links and visits so far: if this has grown, there was work since the last check, however short. */
  readonly seen: number
}

/** A crawl whose start URLs are still being added may be empty for a moment. */
const SEEDING_IDLE_MS = 5_000

/**
 * Whether a worker with --exit-when-idle leaves: when none of its spiders has had work for long enough. Of a spider with `feed.idleTimeout` that is the
 * idle timeout, after which the crawl itself ends (coordinator/feeding.ts), and as long again as for others if it does not.
 */
export function idleWatch(
  spiders: readonly Pick<Spider, 'name' | 'feed'>[],
  startedAt: number,
): (workOf: (spider: string) => SpiderWork, now: number) => boolean {
  const lastWork = new Map<string, { at: number; seen: number }>()
  return (workOf, now) => {
    const waits = spiders.map(({ name, feed }) => {
      const { running, pending, seen } = workOf(name)
      const before = lastWork.get(name) ?? { at: startedAt, seen }
      const at = pending > 0 || seen > before.seen ? now : before.at
      lastWork.set(name, { at, seen })
      return now - at < (feed?.idleMs ?? 0) + (running > 0 ? SEEDING_IDLE_MS : 0)
    })
    return !waits.some((waits) => waits)
  }
}
