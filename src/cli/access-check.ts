import type { AccessEntry } from '../demo/access-log.js'

/** How polite the crawl was, from the side of the site. */
export interface AccessCheck {
  readonly requests: number
  /** Between the starts of two requests; null for fewer than two. */
  readonly smallestGapMs: number | null
  readonly mostAtOnce: number
  /** Requests that robots.txt forbids. */
  readonly forbidden: number
}

export function checkAccess(entries: readonly AccessEntry[], forbidden: readonly string[]): AccessCheck {
  const byStart = [...entries].sort((a, b) => a.t - b.t)
  let smallestGapMs: number | null = null
  let mostAtOnce = 0
  let open: number[] = []
  for (const [index, entry] of byStart.entries()) {
    const before = byStart[index - 1]
    // Another run of the site begins with a new process: a gap to the run before it says nothing.
    if (before !== undefined && before.run === entry.run) {
      smallestGapMs = Math.min(smallestGapMs ?? Number.POSITIVE_INFINITY, entry.t - before.t)
    }
    open = open.filter((end) => end > entry.t)
    // A request without an end died with the site: it was open for a moment at least.
    open.push(entry.end ?? entry.t)
    mostAtOnce = Math.max(mostAtOnce, open.length)
  }
  const breaks = byStart.filter((entry) => forbidden.some((prefix) => entry.path.startsWith(prefix)))
  return { requests: byStart.length, smallestGapMs, mostAtOnce, forbidden: breaks.length }
}
