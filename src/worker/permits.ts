import type { Clock } from '../clock.js'
import { isAway, ShoalError } from '../errors.js'
import type { HostKey } from '../url/link.js'
import { step } from './step.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** A visit waits this long for its host's next slot; beyond that the link goes back to the queue, where waiting costs nothing. */
const PATIENCE_MS = 5_000
/** Longer than any pace that makes sense; the lease is renewed meanwhile. */
const LONG_PATIENCE_MS = 600_000
const SLICE_MS = 100
/** No answer of a queue in use takes this long: the process stood still meanwhile. */
const FROZEN_MS = 2_000
/** A queue that is away is asked again after this long. */
const AWAY_NAP_MS = 500

/** The host has no slot soon enough. */
export class HostBusy extends Error {
  readonly host: HostKey
  readonly waitMs: number
  constructor(host: HostKey, waitMs: number) {
    super(`${host} has no slot for ${waitMs} ms`)
    this.host = host
    this.waitMs = waitMs
  }
}

export function patienceOf({ patient }: Visit): number {
  return patient ? LONG_PATIENCE_MS : PATIENCE_MS
}

/** Leave to send, with the monotonic time from which it counts. */
export interface Granted {
  readonly at: number
  readonly forMs: number
}

export function isFresh(granted: Granted | undefined, clock: Clock): boolean {
  return granted !== undefined && clock.mono() - granted.at <= granted.forMs
}

/**
 * A permit that holds now. The lease brings the first one; it goes stale quickly, because a worker that was frozen must not burst on
 * waking.
 */
export async function permitFor(current: Visit, host: HostKey, parts: VisitParts): Promise<Granted> {
  const { lease } = current
  const { clock, log } = parts
  if (host === lease.link.host && !current.permitUsed) {
    current.permitUsed = true
    if (clock.mono() - current.grantedAt <= lease.permitMs) return { at: current.grantedAt, forMs: lease.permitMs }
  }
  const askedAt = clock.mono()
  const granted = await step(
    current,
    () => askForPermit(current, host, parts),
    () => ({ name: 'permit', about: { 'shoal.host': host } }),
  )
  if (log.verbose)
    log.debug('permit.granted', { fp: lease.link.fp, host, waitedMs: Math.round(clock.mono() - askedAt) })
  return granted
}

async function askForPermit(
  current: Visit,
  host: HostKey,
  { clock, frontier, outbox, meter }: VisitParts,
): Promise<Granted> {
  const { lease } = current
  meter.doing(current, 'queue')
  await outbox.released()
  let giveUpAt: number | null = null
  for (;;) {
    let askedAt = clock.mono()
    const permit = await untilBack(
      () => {
        askedAt = clock.mono()
        return frontier.permit(lease, host)
      },
      current,
      clock,
    )
    if (permit.ok) return { at: grantTime(askedAt, clock.mono()), forMs: permit.permitMs }
    if (permit.lost) {
      meter.lost()
      current.lost = true
      throw new ShoalError('aborted', 'the lease was lost')
    }
    // Counted from the first answer: waiting for our own queue is no reason to give up a host.
    giveUpAt ??= clock.mono() + patienceOf(current)
    if (clock.mono() + permit.waitMs > giveUpAt) throw new HostBusy(host, permit.waitMs)
    meter.doing(current, 'pace')
    await sleepUnlessStopped(permit.waitMs, current, clock)
    meter.doing(current, 'queue')
  }
}

/**
 * From when a grant counts. An answer that took too long lay about while the process was frozen, and counts from the question; a slow queue is no reason to ask again and again.
 */
export function grantTime(askedAt: number, answeredAt: number): number {
  return answeredAt - askedAt > FROZEN_MS ? askedAt : answeredAt
}

/** In slices, because a visit that is given up must not be waited for. */
export async function sleepUnlessStopped(ms: number, { stop }: Visit, clock: Clock): Promise<void> {
  for (let left = ms; left > 0; left -= SLICE_MS) {
    if (stop.aborted) throw new ShoalError('aborted', 'the visit was given up')
    await clock.sleep(Math.min(left, SLICE_MS))
  }
}

/** The queue may be away for a while: the same call again, as long as the visit is wanted. Whether its lease still holds, the answer tells. */
export async function untilBack<Answer>(call: () => Promise<Answer>, current: Visit, clock: Clock): Promise<Answer> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isAway(error)) throw error
      await sleepUnlessStopped(AWAY_NAP_MS, current, clock)
    }
  }
}
