import type { HostInfo } from '../../frontier/frontier.js'
import { span } from '../in-words.js'
import { holdOf } from '../snapshots/host-room.js'

/** When the next request to a host may start, and why not before: the end of a sentence that begins with its name. */
export function nextSlot(host: HostInfo, now: number): string {
  const { blockedUntil, nextAt, inFlight, concurrency } = host
  if (host.set?.blocked === true) return 'not before somebody opens it again: it was closed by hand'
  if (blockedUntil !== null && blockedUntil > now) return `in ${span(blockedUntil - now)}: ${blockedBy(host)}`
  if (nextAt > now) return `in ${span(nextAt - now)}: ${pacedBy(host, now)}`
  if (inFlight >= concurrency)
    return `when an answer is in: ${concurrency} at once ${concurrency === 1 ? 'is' : 'are'} allowed and under way`
  return 'now'
}

function blockedBy({ throttles }: HostInfo): string {
  // It was closed, and has not asked for it.
  if (throttles === 0) return 'every way to it is resting (its proxies, or robots.txt is out of reach)'
  const often = throttles === 1 ? '' : ` ${throttles} times in a row, each time for longer`
  return `the host asked for time${often} (429 or 503)`
}

function pacedBy(host: HostInfo, now: number): string {
  const { delayMs, ratePerSecond, slowedFromMs, set } = host
  if (holdOf(host, now) === 'rate' && ratePerSecond !== null) return `the rate of ${rate(ratePerSecond)}`
  if (slowedFromMs !== null)
    return `the delay of ${span(delayMs)}, grown from ${span(slowedFromMs)} because it answers slowly or with errors`
  if (set?.delayMs === delayMs) return `the delay of ${span(delayMs)}, set by hand`
  if (set?.floorMs === delayMs) return `the delay of ${span(delayMs)} that its robots.txt asks for`
  return `the delay of ${span(delayMs)} between two requests`
}

function rate(perSecond: number): string {
  return perSecond >= 1 ? `${Number(perSecond.toFixed(1))}/s` : `${Number((perSecond * 60).toFixed(1))}/min`
}
