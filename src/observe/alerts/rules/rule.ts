import type { z } from 'zod'
import type { DriftAlert } from '../../../quality/drift.js'
import type { Sample } from '../../series/series.js'
import type { Capacity, CrawlSnapshot, WorkerSnapshot } from '../../snapshots/snapshot.js'
import type { Alert, AlertRule } from '../alert.js'

/** The input of the rules: everything that the watcher sees at one moment. */
export interface WatchSnapshot {
  readonly now: number
  /** Running crawls; a paused one raises no alerts. */
  readonly crawls: readonly WatchedCrawl[]
  readonly workers: readonly WorkerSnapshot[]
  readonly pools: readonly PoolSnapshot[]
  /** By spider; missing for one that is not running, or was not checked yet. */
  readonly drifts: ReadonlyMap<string, readonly DriftAlert[]>
  /** Null: no known limit. */
  readonly capacity: Capacity | null
  /** Active alerts. */
  readonly active: readonly Alert[]
}

export interface WatchedCrawl {
  readonly snapshot: CrawlSnapshot
  /** Of the last half hour, oldest first, as far as it was watched. */
  readonly samples: readonly Sample[]
}

export interface PoolSnapshot {
  readonly pool: string
  /** Proxies that were used, or that workers report, whichever is more. */
  readonly proxies: number
  /** Resting everywhere, because they failed themselves. */
  readonly resting: number
  readonly firstBackAt: number | null
}

/**
 * A rule is a pure function of the snapshot and of what it remembers. It returns what is over its threshold, and what is `near` it: too little to
 * start an alert and too much to end one. Null: it cannot decide now, and everything stays as it was.
 */
export interface Rule<Settings, Memory> {
  readonly rule: AlertRule
  /** What it means, in one sentence, for people. */
  readonly meaning: string
  /** With all defaults. */
  readonly settings: z.ZodType<Settings>
  /** How long something must have been over the threshold. */
  readonly lastingMs: number
  readonly noMemory: Memory
  /** How long a new watcher must have watched before it may end an alert of the previous one. */
  needsMs(settings: Settings): number
  judge(snapshot: WatchSnapshot, settings: Settings, before: Memory): Judgement<Memory>
}

interface Judgement<Memory> {
  readonly found: readonly Finding[] | null
  readonly memory: Memory
}

export interface Finding
  extends Pick<Alert, 'severity' | 'about' | 'crawl' | 'spider' | 'message' | 'next' | 'fields'> {
  readonly level: 'over' | 'near'
}

/** About a crawl as a whole. */
export function ofCrawl({ snapshot }: WatchedCrawl): Pick<Finding, 'about' | 'crawl' | 'spider'> {
  const { id, spider } = snapshot.stats
  return { about: id, crawl: id, spider }
}

/** For rules that remember nothing: the samples are in the shared notes for the next watcher. */
export const STATELESS = { noMemory: null, needsMs: () => 0 } as const

export function minutes(ms: number): string {
  return ms >= 90_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 1_000)} s`
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** `1 link is waiting`, `2 links are waiting`. */
export function waitingLinks(links: number): string {
  return links === 1 ? '1 link is waiting' : `${count(links)} links are waiting`
}
