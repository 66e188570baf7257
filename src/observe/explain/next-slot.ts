import type { HostInfo } from '../../frontier/frontier.js'
import { span } from '../in-words.js'
import { holdOf } from '../snapshots/host-room.js'

/** When the next request to a host may start, and why not earlier, as the end of a sentence. */
export function nextSlot(host: HostInfo, now: number): string {
  const { blockedUntil, nextAt, inFlight, concurrency } = host
  if (host.set?.blocked === true) return 'when someone unblocks it: it was blocked manually'
  if (blockedUntil !== null && blockedUntil > now) return `in ${span(blockedUntil - now)}: ${blockedBy(host)}`
  if (nextAt > now) return `in ${span(nextAt - now)}: ${pacedBy(host, now)}`
  if (inFlight >= concurrency)
    return `when a response arrives: ${concurrency === 1 ? 'the one request that is allowed is' : `${concurrency} of ${concurrency} requests are`} in flight`
  return 'now'
}

function blockedBy({ throttles }: HostInfo): string {
  // Blocked, but not because the host asked for it.
  if (throttles === 0) return 'all its proxies are resting, or its robots.txt cannot be reached'
  const often = throttles === 1 ? '' : ` ${throttles} times in a row, longer each time`
  return `rate limited by the host${often} (429 or 503)`
}

function pacedBy(host: HostInfo, now: number): string {
  const { delayMs, ratePerSecond, slowedFromMs, set } = host
  if (holdOf(host, now) === 'rate' && ratePerSecond !== null) return `rate limit of ${rate(ratePerSecond)}`
  if (slowedFromMs !== null)
    return `crawl delay of ${span(delayMs)}, raised from ${span(slowedFromMs)} because it responds slowly or with errors`
  if (set?.delayMs === delayMs) return `crawl delay of ${span(delayMs)}, set manually`
  if (set?.floorMs === delayMs) return `crawl delay of ${span(delayMs)} from its robots.txt`
  return `crawl delay of ${span(delayMs)}`
}

function rate(perSecond: number): string {
  return perSecond >= 1 ? `${Number(perSecond.toFixed(1))}/s` : `${Number((perSecond * 60).toFixed(1))}/min`
}
