import type { CrawlId, WorkerId } from '../frontier/frontier.js'

/** What the processes of a fleet tell each other of how they are doing, as notes on the notes. Each has one author at a time, whose name stands before the colon. */

/** Vitals as JSON, by the worker's process. */
export function vitalsKey(worker: WorkerId): string {
  return `vitals:${worker}`
}

/** Somebody asked this worker to finish what it holds and leave; its process looks every few seconds. */
export function drainKey(worker: WorkerId): string {
  return `drain:${worker}`
}

/** Why its start URLs could not be added in the background, by whoever tried last. */
export function troubleKey(crawl: CrawlId): string {
  return `trouble:${crawl}`
}

/** Samples of a crawl over time, by whoever watches. */
export function seriesKey(crawl: CrawlId, part: string): string {
  return `series:${crawl}:${part}`
}

/** Claimed by the one process of the fleet that samples and judges alerts. */
export const WATCH_KEY = 'watch'
/** A process that has somebody to tell of alerts would like to be that one. */
export const WATCH_READY_KEY = 'watch:ready'
/** What it found: alerts that hold now and those that ended lately. */
export const ALERTS_KEY = 'alerts'
