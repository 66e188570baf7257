import type { HostKey } from '../../url/link.js'
import { type LeaseRef, PERMIT_MAX_MS, type Permit, type Release, SLOT_WAIT_MS } from '../frontier.js'
import { afterEnd, afterReport, afterStart, earliestStart, meanLatency, permitMs, sentFor, waitUntil } from '../pace.js'
import { lanePace } from './counter-rows.js'
import { leaseOf, leasesOf, startLane } from './rows.js'
import type { Transaction } from './statements.js'

/** A lease that has run out is lost even if nobody has reaped it yet: its holder may have been suspended for an hour. */
export function permitRequest({ sql, counters }: Transaction, ref: LeaseRef, hostKey: HostKey): Permit {
  const { now } = counters
  const lease = leaseOf(sql.lease, ref.token)
  if (lease === null || lease.deadline <= now || counters.spec(lease.crawl).id !== ref.crawl) {
    return { ok: false, waitMs: 0, lost: true }
  }
  const host = counters.host(counters.hostNum(hostKey))
  const own = host.num === lease.host
  const limits = counters.hostLimits(host, counters.crawl(lease.crawl).spec)
  const lane = own ? counters.lane(lease.lane) : null
  const laneLimits = lane === null ? null : counters.laneLimits(lane)
  const holds = own ? lease.held : sql.slot.get(lease.link, host.num) !== undefined
  let openAt = earliestStart(host, limits)
  if (lane !== null && laneLimits !== null) openAt = Math.max(openAt, earliestStart(lanePace(lane), laneLimits))
  if (openAt > now) return { ok: false, waitMs: waitUntil(openAt, now), lost: false }
  if (!holds) {
    const laneFull = lane !== null && laneLimits !== null && lane.inFlight >= laneLimits.concurrency
    if (laneFull || host.inFlight >= limits.concurrency) return { ok: false, waitMs: SLOT_WAIT_MS, lost: false }
  }
  Object.assign(host, afterStart(host, limits, now, 1, !holds))
  if (lane !== null) {
    if (!holds) lane.inFlight++
    if (laneLimits !== null) startLane(lane, laneLimits, now)
    sql.holdOwn.run(now, lease.link)
  } else sql.holdSlot.run(lease.link, host.num, now)
  return {
    ok: true,
    permitMs: Math.min(permitMs(limits), laneLimits === null ? PERMIT_MAX_MS : permitMs(laneLimits)),
  }
}

export function releaseSlots({ sql, counters }: Transaction, releases: readonly Release[]): void {
  const { now } = counters
  const leases = leasesOf(
    sql.leasesOf,
    releases.map(({ lease }) => lease.token),
  )
  const freed: number[] = []
  for (const { lease: ref, host: hostKey, elapsedMs, latencyMs = elapsedMs, report } of releases) {
    const lease = leases.get(ref.token)
    if (lease === undefined || counters.crawl(lease.crawl).id !== ref.crawl) continue
    const host = counters.host(counters.hostNum(hostKey))
    const own = host.num === lease.host
    const slotAt = own ? (lease.held ? lease.slotAt : undefined) : sql.slot.get(lease.link, host.num)?.[0]
    if (slotAt === undefined) continue
    const sentMs = sentFor(report, elapsedMs)
    Object.assign(host, afterReport(afterEnd(host, now, sentMs), report, Number(slotAt), now))
    host.latency = meanLatency(host.latency, report, latencyMs)
    if (own) {
      lease.held = false
      freed.push(lease.link)
      const lane = counters.lane(lease.lane)
      const { startedAt, inFlight } = afterEnd(lanePace(lane), now, sentMs)
      lane.startedAt = startedAt
      lane.inFlight = inFlight
    } else sql.removeSlot.run(lease.link, host.num)
  }
  if (freed.length > 0) sql.unhold.run(JSON.stringify(freed))
}
