import { ShoalError } from '../errors.js'
import type { HostReport, Release } from '../frontier/frontier.js'
import { Busy } from '../politeness/busy.js'
import type { HostKey } from '../url/link.js'
import type { Held, HostPermit, Layer, Sending } from './layer.js'
import { step } from './trace-visit.js'
import type { Visit, VisitParts } from './visit-parts.js'
import { grantTime, isFresh, patienceOf, sleepUnlessStopped, untilBack } from './waits.js'

/** A permit for each pace the request counts against. Those held from the attempt before are used as long as they are fresh. */
export function withPermits(next: Layer): Layer {
  return async (sending, held) => {
    const { current, parts, keys } = sending
    const permits: HostPermit[] = []
    for (const key of keys) {
      const old = held.permits.find(({ host }) => host === key)
      const permit = old !== undefined && isFresh(old, parts.clock) ? old : await permitFor(current, key, parts)
      if (permit instanceof Busy) return permit
      permits.push(permit)
    }
    return next(sending, { ...held, permits })
  }
}

/** The slots that come with the permits are free again, and the queue learns how the host did. */
export function releaseSlots(
  { current, parts }: Sending,
  held: Held,
  took: Pick<Release, 'elapsedMs' | 'latencyMs'>,
  report: HostReport,
): void {
  const { crawl, token } = current.lease
  for (const { host } of held.permits) parts.outbox.release({ lease: { crawl, token }, host, ...took, report })
}

/** The lease brings the first permit of its own host. It expires quickly, because a worker that was frozen must not send a burst on waking. */
async function permitFor(current: Visit, host: HostKey, parts: VisitParts): Promise<HostPermit | Busy> {
  const { lease } = current
  const { clock, log } = parts
  if (host === lease.link.host && !current.permitUsed) {
    current.permitUsed = true
    const first = { host, at: current.grantedAt, forMs: lease.permitMs }
    // 0: it came without a permit, even if no time has passed since.
    if (lease.permitMs > 0 && isFresh(first, clock)) return first
  }
  const askedAt = clock.mono()
  const permit = await step(
    current,
    () => askForPermit(current, host, parts),
    () => ({ name: 'permit', about: { 'shoal.host': host }, learnt: busyIn }),
  )
  if (log.verbose && !(permit instanceof Busy))
    log.debug('permit.granted', { fp: lease.link.fp, host, waitedMs: Math.round(clock.mono() - askedAt) })
  return permit
}

async function askForPermit(current: Visit, host: HostKey, parts: VisitParts): Promise<HostPermit | Busy> {
  const { clock, frontier, outbox, meter } = parts
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
    if (permit.ok) return { host, at: grantTime(askedAt, clock.mono()), forMs: permit.permitMs }
    if (permit.lost) {
      meter.lost()
      current.lost = true
      throw new ShoalError('aborted', 'the lease was lost')
    }
    // Counted from the first reply: an unreachable queue is no reason to give up on a host.
    giveUpAt ??= clock.mono() + patienceOf(current)
    if (clock.mono() + permit.waitMs > giveUpAt) return new Busy(permit.waitMs, host)
    meter.doing(current, 'pace')
    await sleepUnlessStopped(permit.waitMs, current, clock)
    meter.doing(current, 'queue')
  }
}

/** For traces. */
export function busyIn(result: object): Record<string, string> {
  return result instanceof Busy ? { 'error.type': 'busy' } : {}
}
