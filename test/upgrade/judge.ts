import { SOLO_AFTER } from '../../src/frontier/frontier.js'
import { LOST_AFTER_MS } from '../../src/frontier/liveness.js'
import { check, type QueueScan, type StoredRow } from '../chaos/checker.js'
import type { Site } from '../chaos/site.js'
import type { Pace } from '../chaos/world.js'
import type { SeenAccess } from '../support/access-log.js'

export interface UpgradeEvidence {
  readonly site: Site
  readonly pace: Pace
  readonly accesses: readonly SeenAccess[]
  readonly queue: QueueScan
  readonly records: readonly StoredRow[]
  /** What processes did that they must not, such as ending with another code than 0. */
  readonly faults: readonly string[]
  /** The crawl was still running when the last worker had been replaced. */
  readonly upgradedUnderLoad: boolean
  /** Requests that the killed worker may have had under way. */
  readonly mayComeAgain: number
}

export interface UpgradeReport {
  readonly figures: Readonly<Record<string, number>>
  /** Why the run proves nothing. */
  readonly invalid: readonly string[]
  readonly violations: readonly string[]
}

/** The judge of the chaos runs; the workers are the product's own processes, which keep no history, so what they fetched twice is judged here. */
export function judge(evidence: UpgradeEvidence): UpgradeReport {
  const { site, pace, accesses, queue, records, faults, mayComeAgain } = evidence
  const verdict = check({
    ...{ site, accesses, queue, records, history: null },
    injected: { upgrade: evidence.upgradedUnderLoad ? 1 : 0 },
    rules: {
      ...{ delayMs: pace.delayMs, concurrency: 1, retries: pace.retries },
      ...{ maxReclaims: SOLO_AFTER + 1, reclaimWithinMs: null, resumeWithinMs: null },
      ...{ lostAfterMs: LOST_AFTER_MS, queueMayGoBack: false },
    },
  })
  const { requests, lost, extraFetches, minGapMs, maxConcurrent } = verdict.figures
  const violations = [...faults, ...verdict.violations.map(({ invariant, detail }) => `${invariant} ${detail}`)]
  if (extraFetches > mayComeAgain)
    violations.push(`${extraFetches} fetches too many, ${mayComeAgain} can be explained by the kill`)
  const invalid = verdict.invalid.map((reason) =>
    reason.startsWith('no fault') ? 'the crawl had finished before the upgrade had: use more --pages' : reason,
  )
  return {
    figures: {
      ...{ pages: site.options.pages, requests, records: records.length, dead: queue.dead.length, lost },
      ...{ 'fetched twice': extraFetches, 'explained by the kill': mayComeAgain },
      ...{ 'shortest gap, ms': Math.round(minGapMs), 'at once per host': maxConcurrent },
    },
    invalid,
    violations,
  }
}
