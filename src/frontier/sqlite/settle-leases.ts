import type { SqlValue } from '../../sqlite/db.js'
import { clampPriority } from '../../url/link.js'
import { addNamedCounts, type Counts } from '../counts.js'
import { addFiltered, type FilterCounts } from '../filtered.js'
import type { LeaseRef, Outcome, Settlement, WorkerId } from '../frontier.js'
import { ENDINGS_KEPT_S, resumeMark } from '../rate.js'
import { afterReclaim, afterSettle, type Transition } from '../transitions.js'
import { addLinks } from './add-links.js'
import type { CrawlRow, LaneRow } from './counter-rows.js'
import { addCounts, moveLink } from './counters.js'
import { addFailure, type LeaseRow, leasesOf, parseToken, rankOf, reserve } from './rows.js'
import { STATE } from './schema.js'
import type { Transaction } from './statements.js'

/** What the settlements of one call add up to, written once for each worker and crawl. */
class Tally {
  readonly #workers = new Map<WorkerId, { done: number; failed: number; ended: boolean }>()
  readonly #endings = new Map<number, number>()
  readonly #filtered = new Map<number, FilterCounts>()
  readonly #counts = new Map<number, Counts>()

  add({ worker, crawl }: LeaseRow, { to, counts }: Transition, outcome: Outcome): void {
    const tally = this.#workers.get(worker) ?? { done: 0, failed: 0, ended: false }
    this.#workers.set(worker, tally)
    if (to === 'done') tally.done++
    tally.failed += counts.failed ?? 0
    if (to === 'pending') return
    tally.ended = true
    this.#endings.set(crawl, (this.#endings.get(crawl) ?? 0) + 1)
    if (outcome.kind !== 'done') return
    if (outcome.filtered !== undefined) addFiltered(ofCrawl(this.#filtered, crawl), outcome.filtered)
    if (outcome.counts !== undefined) addNamedCounts(ofCrawl(this.#counts, crawl), outcome.counts)
  }

  write(tx: Transaction): void {
    for (const [worker, { done, failed, ended }] of this.#workers)
      tx.sql.tallyWorker.run(done, failed, tx.counters.now, ended ? 1 : 0, worker)
    for (const [crawl, count] of this.#endings) countEndings(tx, crawl, count)
    for (const [crawl, filtered] of this.#filtered)
      for (const { reason, count, example } of filtered.values())
        tx.sql.countFiltered.run(crawl, reason, count, example === null ? null : JSON.stringify(example))
    for (const [crawl, counts] of this.#counts)
      for (const [name, count] of counts) tx.sql.addCount.run(crawl, name, count)
  }
}

function ofCrawl<Key, Value>(maps: Map<number, Map<Key, Value>>, crawl: number): Map<Key, Value> {
  const map = maps.get(crawl) ?? new Map<Key, Value>()
  maps.set(crawl, map)
  return map
}

export function settleLeases(tx: Transaction, settlements: readonly Settlement[]): boolean[] {
  const { sql, counters } = tx
  const { now } = counters
  const live = leasesOf(
    sql.leasesOf,
    settlements.map(({ lease }) => lease.token),
  )
  const settled = new Set<LeaseRow>()
  const done: number[] = []
  const tally = new Tally()
  const answers = settlements.map(({ lease: ref, outcome }) => {
    const lease = live.get(ref.token)
    if (lease === undefined || lease.deadline <= now || counters.crawl(lease.crawl).id !== ref.crawl) {
      return settledBefore(tx, ref)
    }
    if (settled.has(lease)) return true
    settled.add(lease)
    const crawl = counters.crawl(lease.crawl)
    const lane = counters.lane(lease.lane)
    const transition = afterSettle(outcome)
    tally.add(lease, transition, outcome)
    // Most links are done: their rows are changed together.
    if (outcome.kind === 'done') {
      done.push(lease.link)
      moveLink(crawl, lane, 'leased', 'done')
      addCounts(crawl, lane, transition.counts)
      if (crawl.state !== 'cancelled') addLinks(tx, crawl, outcome.links)
    } else {
      const [priority, rank, seq, failures] = sql.linkForSettle.get(lease.link) ?? []
      const place = { priority: Number(priority), rank: Number(rank), seq: Number(seq) }
      apply(tx, { lease, crawl, lane, place, failures }, transition)
    }
    return true
  })
  if (done.length > 0) sql.setDone.run(now, JSON.stringify(done))
  dropLeases(tx, [...settled])
  tally.write(tx)
  return answers
}

/** No such lease: settled by an earlier try of this very call, or lost. */
function settledBefore({ sql, counters }: Transaction, ref: LeaseRef): boolean {
  const [num, epoch] = parseToken(ref.token)
  if (sql.settledAs.get(num, epoch, ref.crawl) !== undefined) return true
  const crawl = counters.findCrawl(ref.crawl)
  if (crawl !== undefined) crawl.stale++
  return false
}

interface LeasedLink {
  readonly lease: LeaseRow
  readonly crawl: CrawlRow
  readonly lane: LaneRow
  readonly place: { readonly priority: number; readonly rank: number; readonly seq: number }
  readonly failures: SqlValue | undefined
}

function apply({ sql, counters }: Transaction, link: LeasedLink, transition: Transition): void {
  const { lease, crawl, lane, failures } = link
  const { to, afterMs, attempts, throttles, demoted, failure, counts } = transition
  const { now } = counters
  const kept = failure === null ? (failures ?? null) : addFailure(failures, failure, now)
  const code = failure?.code ?? null
  addCounts(crawl, lane, counts)
  if (to !== 'pending') {
    sql.setEnded.run(STATE[to], now, attempts, code, kept, lease.link)
    moveLink(crawl, lane, 'leased', to)
    return
  }
  const { priority, rank, seq } = demoted ? lastPlace(crawl, link.place.priority) : link.place
  const state = afterMs > 0 ? 'delayed' : 'queued'
  const place = [now + afterMs, priority, rank, seq]
  sql.setBack.run(STATE[state], ...place, attempts, throttles, kept, code, lease.epoch, lease.link)
  moveLink(crawl, lane, 'leased', state)
}

/** A step lower, and behind its equals. */
function lastPlace(crawl: CrawlRow, before: number): LeasedLink['place'] {
  const priority = clampPriority(before - crawl.spec.retryPriorityStep)
  const seq = reserve(crawl, 1)
  return { priority, seq, rank: rankOf(crawl.spec.order, priority, seq) }
}

/** Leases that ran out, or whose worker is dead. */
export function reclaimLeases(tx: Transaction, leases: readonly LeaseRow[], cause?: string): number {
  const { sql, counters } = tx
  const { now } = counters
  for (const lease of leases) {
    const crawl = counters.crawl(lease.crawl)
    const lane = counters.lane(lease.lane)
    // In the queue first, with its place as it was.
    const [reclaims, failures] = sql.reclaimed.get(now, lease.link) ?? []
    moveLink(crawl, lane, 'leased', 'queued')
    const { to, failure, counts } = afterReclaim(Number(reclaims), crawl.spec.maxReclaims, cause)
    addCounts(crawl, lane, counts)
    if (to !== 'dead' || failure === null) continue
    sql.setEnded.run(STATE.dead, now, 0, failure.code, addFailure(failures, failure, now), lease.link)
    moveLink(crawl, lane, 'queued', 'dead')
    countEndings(tx, crawl.num, 1)
  }
  dropLeases(tx, leases)
  return leases.length
}

/** Deletes leases, and frees every slot they hold. */
export function dropLeases({ sql, counters }: Transaction, leases: readonly LeaseRow[]): void {
  if (leases.length === 0) return
  const ids = JSON.stringify(leases.map(({ link }) => link))
  for (const [host] of sql.slotsOf.all(ids)) {
    const row = counters.host(Number(host))
    row.inFlight = Math.max(0, row.inFlight - 1)
  }
  for (const lease of leases) {
    if (!lease.held) continue
    const host = counters.host(lease.host)
    host.inFlight = Math.max(0, host.inFlight - 1)
    const lane = counters.lane(lease.lane)
    lane.inFlight = Math.max(0, lane.inFlight - 1)
  }
  sql.removeLeases.run(ids)
  sql.removeSlots.run(ids)
}

/** For the rate: links that ended, by the second. */
export function countEndings({ sql, counters }: Transaction, crawl: number, count: number): void {
  const second = Math.floor(counters.now / 1000)
  sql.countEnding.run(crawl, second, count)
  sql.forgetEndings.run(crawl, second - ENDINGS_KEPT_S - 1)
}

/** For the rate: the time of the pause does not count. */
export function markResume({ sql, counters }: Transaction, crawl: number): void {
  const { second, count } = resumeMark(counters.now)
  sql.markResume.run(crawl, second, count)
}
