import { ShoalError } from '../errors.js'
import type { Capabilities, CrawlId, CrawlSpec, CrawlState, Seen } from './frontier.js'

/** Why a crawl refuses a call: worded once for all drivers. */

export function unknownCrawl(id: CrawlId): ShoalError {
  return new ShoalError('not_found', `there is no crawl '${id}'`)
}

export function crawlEnded(id: CrawlId, state: string): ShoalError {
  return new ShoalError('crawl_ended', `crawl ${id} is ${state}`)
}

/** Links may be added to a finished crawl, which then runs again; a cancelled one stays cancelled. */
export function refuseCancelled(id: CrawlId, state: CrawlState): void {
  if (state === 'cancelled') throw crawlEnded(id, state)
}

export function hasEnded(state: CrawlState): boolean {
  return state === 'finished' || state === 'cancelled'
}

export function refuseUnpaused(id: CrawlId, state: string): void {
  if (state === 'paused') return
  throw new ShoalError('usage', `crawl ${id} is ${state}`, { hint: `Pause it first: \`shoal pause ${id}\`.` })
}

export function refuseUnended(id: CrawlId, state: CrawlState): void {
  if (hasEnded(state)) return
  throw new ShoalError('usage', `crawl ${id} is ${state}`, { hint: `Cancel it first: \`shoal cancel ${id}\`.` })
}

/** The default: exact, the crawl's own, for ever. */
function isPlain(seen: Seen | undefined): boolean {
  return seen === undefined || (seen.mode === 'exact' && seen.scope === 'crawl' && seen.ttlMs === null)
}

/** Refuses a crawl whose `dedupe` the engine does not support. */
export function checkSeen({ id, seen }: CrawlSpec, can: Capabilities): void {
  if (seen === undefined || isPlain(seen) || can.seen.includes(seen.mode)) return
  const wish = seen.mode === 'exact' ? `dedupe with scope ${seen.scope} or a ttl` : `dedupe mode ${seen.mode}`
  throw new ShoalError('dedupe_unsupported', `this queue cannot do what crawl ${id} asks for: ${wish}`)
}
