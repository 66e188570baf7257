import type { Sample } from '../../series/series.js'

/** What a crawl did between two samples. */
export interface Stretch {
  readonly ms: number
  /** Links that ended successfully. */
  readonly pages: number
  /** Visits that failed and cost an attempt. */
  readonly errors: number
  /** Links that ended, successfully or not. */
  readonly ended: number
  readonly dead: number
  /** Links that were added. */
  readonly found: number
  readonly pendingBefore: number
  readonly pending: number
}

/** From the first sample at `from` or later to the last one before `to`; null with fewer than two. */
export function stretchOf(samples: readonly Sample[], from: number, to: number): Stretch | null {
  const within = samples.filter(({ at }) => at >= from && at <= to)
  const first = within[0]
  const last = within.at(-1)
  if (first === undefined || last === undefined || first === last) return null
  let errors = 0
  let pages = 0
  within.forEach((sample, index) => {
    const before = within[index - 1]
    if (before === undefined) return
    const seconds = (sample.at - before.at) / 1000
    errors += sample.errorsPerSecond * seconds
    pages += sample.pagesPerSecond * seconds
  })
  return {
    ms: last.at - first.at,
    pages: Math.round(pages),
    errors: Math.round(errors),
    // A replay or a recrawl lowers the counts.
    ended: Math.max(0, endedOf(last) - endedOf(first)),
    dead: Math.max(0, last.dead - first.dead),
    found: Math.max(0, totalOf(last) - totalOf(first)),
    pendingBefore: pendingOf(first),
    pending: pendingOf(last),
  }
}

function pendingOf({ queued, delayed }: Sample): number {
  return queued + delayed
}

function endedOf({ done, dead, skipped }: Sample): number {
  return done + dead + skipped
}

function totalOf(sample: Sample): number {
  return pendingOf(sample) + sample.leased + endedOf(sample)
}
