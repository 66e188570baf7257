import type { AccessEntry } from '../../demo/access-log.js'

/** How polite the crawl was, as the site saw it. */
export interface AccessCheck {
  readonly requests: number
  /** Between the starts of two requests; null for fewer than two. A busy machine delays some requests, which shortens the next gap. */
  readonly smallestGapMs: number | null
  readonly medianGapMs: number | null
  readonly mostAtOnce: number
  /** Requests that robots.txt forbids. */
  readonly forbidden: number
}

export function checkAccess(entries: readonly AccessEntry[], forbidden: readonly string[]): AccessCheck {
  const byStart = [...entries].sort((a, b) => a.t - b.t)
  const gaps: number[] = []
  let mostAtOnce = 0
  let open: number[] = []
  for (const [index, entry] of byStart.entries()) {
    const before = byStart[index - 1]
    // Another run of the site is a new process: the gap to the previous run means nothing.
    if (before !== undefined && before.run === entry.run) gaps.push(entry.t - before.t)
    open = open.filter((end) => end > entry.t)
    // A request without an end was cut off when the site stopped: it was open for a moment at least.
    open.push(entry.end ?? entry.t)
    mostAtOnce = Math.max(mostAtOnce, open.length)
  }
  const breaks = byStart.filter((entry) => forbidden.some((prefix) => entry.path.startsWith(prefix)))
  gaps.sort((a, b) => a - b)
  return {
    requests: byStart.length,
    smallestGapMs: gaps[0] ?? null,
    medianGapMs: gaps[Math.floor(gaps.length / 2)] ?? null,
    mostAtOnce,
    forbidden: breaks.length,
  }
}
