import type { z } from 'zod'
import type { Alert as DriftAlert } from '../../../quality/drift-alert.js'
import type { Capacity } from '../../capacity.js'
import type { Sample } from '../../series/series.js'
import type { CrawlSnapshot, WorkerSnapshot } from '../../snapshots/snapshot.js'
import type { Alert, AlertRule } from '../alert.js'

/** What the rules judge: everything that the watcher sees at one moment. */
export interface WatchSnapshot {
  readonly now: number
  /** Those that run; a paused one alarms nobody. */
  readonly crawls: readonly WatchedCrawl[]
  readonly workers: readonly WorkerSnapshot[]
  readonly pools: readonly PoolSnapshot[]
  /** By spider; of one that does not run now, or was not looked at yet, nothing is known. */
  readonly drifts: ReadonlyMap<string, readonly DriftAlert[]>
  /** Null: the queue's place has no limit that is known. */
  readonly capacity: Capacity | null
  /** Alarms that hold. */
  readonly active: readonly Alert[]
}

export interface WatchedCrawl {
  readonly look: CrawlSnapshot
  /** Of the last half hour, oldest first, as far as somebody watched. */
  readonly samples: readonly Sample[]
}

export interface PoolSnapshot {
  readonly pool: string
  /** That were used, or that the fleet told of where those are more. */
  readonly proxies: number
  /** Everywhere, after failures of their own. */
  readonly resting: number
  readonly firstBackAt: number | null
}

/**
 * A rule is a pure function of what is seen now and of what it remembers. It answers whatever is over its threshold, and whatever is `near` it: too little to
 * begin an alarm and too much to end one. Null: it cannot tell now, and everything stays as it was.
 */
export interface Rule<Settings, Memory> {
  readonly rule: AlertRule
  /** For a person: what it means, in one sentence. */
  readonly meaning: string
  /** With every default. */
  readonly settings: z.ZodType<Settings>
  /** It must have been over the threshold for so long. */
  readonly lastingMs: number
  readonly noMemory: Memory
  /** A watcher that has just taken over must have watched for so long before it can say that an alarm of the one before is over. */
  needsMs(settings: Settings): number
  judge(look: WatchSnapshot, settings: Settings, before: Memory): Judgement<Memory>
}

interface Judgement<Memory> {
  readonly found: readonly Finding[] | null
  readonly memory: Memory
}

export interface Finding
  extends Pick<Alert, 'severity' | 'about' | 'crawl' | 'spider' | 'message' | 'next' | 'fields'> {
  readonly level: 'over' | 'near'
}

/** Of a crawl as a whole. */
export function ofCrawl({ look }: WatchedCrawl): Pick<Finding, 'about' | 'crawl' | 'spider'> {
  const { id, spider } = look.stats
  return { about: id, crawl: id, spider }
}

/** For rules that remember nothing: the samples are on the notes for whoever comes next. */
export const FORGETFUL = { noMemory: null, needsMs: () => 0 } as const

export function minutes(ms: number): string {
  return ms >= 90_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 1_000)} s`
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
