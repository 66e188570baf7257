import type { HostView } from '../../../src/api/api-types.js'
import { count, duration, rate } from '../format.js'

export function isBlocked(host: HostView): boolean {
  return host.set?.blocked === true
}

export function isSetByHand({ set }: HostView): boolean {
  return typeof set?.delayMs === 'number' || typeof set?.concurrency === 'number'
}

/** `every 2 s (its answers slow it down from 250 ms), 4 at once` */
export function paceText({ delayMs, slowedFromMs, concurrency, ratePerSecond }: HostView): string {
  const slowed = slowedFromMs === null ? '' : ` (slowed from ${duration(slowedFromMs)})`
  const parts = [
    ...(delayMs === 0 && slowed === '' ? [] : [`every ${duration(delayMs)}${slowed}`]),
    ...(ratePerSecond === null ? [] : [`${rate(ratePerSecond)}/s`]),
    `${count(concurrency)} at once`,
  ]
  return parts.join(', ')
}
