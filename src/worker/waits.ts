import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import { whileAway } from '../while-away.js'
import type { Visit } from './visit-parts.js'

/** A visit waits this long for its host's next slot. For more than that the link goes back to the queue, where waiting costs nothing. */
const PATIENCE_MS = 5_000
/** Longer than any sensible pace; the lease is renewed meanwhile. */
const LONG_PATIENCE_MS = 600_000
/** How soon a visit that sleeps notices that it was given up. */
const SLICE_MS = 100
/** No reply from a working queue takes this long: the process was frozen meanwhile. */
const FROZEN_MS = 2_000

export function patienceOf({ patient }: Visit): number {
  return patient ? LONG_PATIENCE_MS : PATIENCE_MS
}

/** Permission to send, with the monotonic time from which it counts. */
export interface Granted {
  readonly at: number
  readonly forMs: number
}

export function isFresh(granted: Granted, clock: Clock): boolean {
  return clock.mono() - granted.at <= granted.forMs
}

/**
 * From when a grant counts. A reply that took too long arrived while the process was frozen, and counts from the question; a slow queue is
 * no reason to ask again and again.
 */
export function grantTime(askedAt: number, answeredAt: number): number {
  return answeredAt - askedAt > FROZEN_MS ? askedAt : answeredAt
}

/** In slices, so that a visit that is given up ends soon; by the clock, because each slice ends late on a busy machine: forty of them added up to a second. */
export async function sleepUnlessStopped(ms: number, { stop }: Visit, clock: Clock): Promise<void> {
  const until = clock.mono() + ms
  for (let left = ms; left > 0; left = until - clock.mono()) {
    if (stop.aborted) throw new ShoalError('aborted', 'the visit was given up')
    await clock.sleep(Math.min(left, SLICE_MS))
  }
}

/** Repeats the call while the queue is down, unless the visit is given up. The reply says whether its lease is still valid. */
export function untilBack<Reply>(call: () => Promise<Reply>, current: Visit, clock: Clock): Promise<Reply> {
  return whileAway(call, (ms) => sleepUnlessStopped(ms, current, clock))
}
