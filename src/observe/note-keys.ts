import type { CrawlId, WorkerId } from '../frontier/frontier.js'

/** Shared notes by which the processes of a fleet report their state. Each has one author at a time; the kind of note is the part before the colon. */

/** Vitals as JSON, written by the worker's process. */
export function vitalsKey(worker: WorkerId): string {
  return `vitals:${worker}`
}

/** A request to this worker to finish what is in flight and stop; its process checks every few seconds. */
export function drainKey(worker: WorkerId): string {
  return `drain:${worker}`
}

/** Why its start URLs could not be added in the background, written by the process that tried last. */
export function troubleKey(crawl: CrawlId): string {
  return `trouble:${crawl}`
}

/** Samples of a crawl over time, written by the watcher. */
export function seriesKey(crawl: CrawlId, part: string): string {
  return `series:${crawl}:${part}`
}

/** Claimed by the watcher: the one process of the fleet that takes samples and evaluates alerts. */
export const WATCH_KEY = 'watch'
/** Written by a process with alert channels that wants to become the watcher. */
export const WATCH_READY_KEY = 'watch:ready'
/** The watcher's result: active and recently ended alerts. */
export const ALERTS_KEY = 'alerts'
