import type { HostView } from '../../../src/api/api-types.js'
import { count, duration, rate } from '../format.js'

export function isBlocked(host: HostView): boolean {
  return host.set?.blocked === true
}

export function isSetByHand({ set }: HostView): boolean {
  return typeof set?.delayMs === 'number' || typeof set?.concurrency === 'number'
}

/** `2 s · 4 at once` */
export function shortPaceText({ delayMs, ratePerSecond, concurrency }: HostView): string {
  const gap = delayMs > 0 ? duration(delayMs) : ratePerSecond === null ? 'no delay' : `${rate(ratePerSecond)}/s`
  return `${gap} · ${count(concurrency)} at once`
}

/** `every 2 s (slowed from 250 ms), 4 at once` */
export function paceText({ delayMs, slowedFromMs, concurrency, ratePerSecond }: HostView): string {
  const slowed = slowedFromMs === null ? '' : ` (slowed from ${duration(slowedFromMs)})`
  const parts = [
    ...(delayMs === 0 && slowed === '' ? [] : [`every ${duration(delayMs)}${slowed}`]),
    ...(ratePerSecond === null ? [] : [`${rate(ratePerSecond)}/s`]),
    `${count(concurrency)} at once`,
  ]
  return parts.join(', ')
}
