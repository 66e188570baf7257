import { ShoalError } from '../errors.js'
import type { Capabilities, CrawlSpec, Seen } from './frontier.js'

/** What holds for a crawl that says nothing: exact, its own, for ever. */
function isPlain(seen: Seen | undefined): boolean {
  return seen === undefined || (seen.mode === 'exact' && seen.scope === 'crawl' && seen.ttlMs === null)
}

/** Refuses a crawl that wants to remember what it saw in a way the engine does not know. */
export function checkSeen({ id, seen }: CrawlSpec, can: Capabilities): void {
  if (seen === undefined || isPlain(seen) || can.seen.includes(seen.mode)) return
  const wish = seen.mode === 'exact' ? `dedupe with scope ${seen.scope} or a ttl` : `dedupe mode ${seen.mode}`
  throw new ShoalError('dedupe_unsupported', `this queue cannot do what crawl ${id} asks for: ${wish}`)
}
