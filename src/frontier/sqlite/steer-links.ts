import type { SqlValue } from '../../sqlite/db.js'
import { type Fingerprint, type HostKey, PRIORITY_MAX } from '../../url/link.js'
import { type DeadFilter, type LinkSteer, type LinkSteered, REMOVED } from '../frontier.js'
import { steerStep } from '../transitions.js'
import type { CrawlRow } from './counter-rows.js'
import { moveLink } from './counters.js'
import { addFailure, rankOf, reopen, reserve, toSigned } from './rows.js'
import { STATE, STATE_NAMES } from './schema.js'
import { countEndings } from './settle-leases.js'
import type { Transaction } from './statements.js'

/** Dead letters moved in one transaction, during which everybody waits. */
const DEAD_AT_ONCE = 5_000

export interface DeadMoved {
  readonly moved: number
  /** Where to continue; null: there are no more. */
  readonly next: number | null
}

/** Dead letters behind `after`, as many as one call takes, return to the queue. */
export function replayDead(tx: Transaction, crawl: CrawlRow, filter: DeadFilter, after: number): DeadMoved {
  const { sql, counters } = tx
  const dead = deadLinks(tx, crawl, filter, after)
  for (const [num, lane] of dead) {
    moveLink(crawl, counters.lane(Number(lane)), 'dead', 'queued')
    sql.revive.run(counters.now, Number(num))
  }
  if (dead.length > 0 && crawl.state === 'finished') reopen(crawl)
  return movedOf(dead)
}

export function purgeDead(tx: Transaction, crawl: CrawlRow, filter: DeadFilter, after: number): DeadMoved {
  const dead = deadLinks(tx, crawl, filter, after)
  for (const [num, lane] of dead) {
    moveLink(crawl, tx.counters.lane(Number(lane)), 'dead', 'skipped')
    tx.sql.giveUp.run(Number(num))
  }
  return movedOf(dead)
}

function deadLinks({ sql }: Transaction, crawl: CrawlRow, filter: DeadFilter, after: number): SqlValue[][] {
  const { fp, code, host } = filter
  const bounds = [crawl.num, code ?? null, host ?? null, after]
  return fp === undefined ? sql.deadLinks.all(...bounds, DEAD_AT_ONCE) : sql.deadLink.all(...bounds, toSigned(fp))
}

function movedOf(dead: readonly SqlValue[][]): DeadMoved {
  const last = dead.at(-1)?.[0]
  return { moved: dead.length, next: dead.length < DEAD_AT_ONCE ? null : Number(last) }
}

/** A person promotes, retries or removes one link. */
export function steerLink(
  tx: Transaction,
  crawl: CrawlRow,
  fp: Fingerprint,
  host: HostKey,
  order: LinkSteer,
): LinkSteered {
  const { sql, counters } = tx
  const { now } = counters
  const row = sql.linkToSteer.get(crawl.num, toSigned(fp), host)
  if (row === undefined) return 'unknown'
  const [num, laneNum, stored, dueAt, priority] = row.map(Number) as [number, number, number, number, number]
  const state = STATE_NAMES[stored] ?? 'skipped'
  // A link that is due counts as delayed until the next lease call.
  const step = steerStep(state === 'delayed' && dueAt <= now ? 'queued' : state, order)
  if (step === 'in_flight' || step === 'ended') return step
  if (step === 'nothing') return 'ok'
  if (step === 'replay') {
    replayDead(tx, crawl, { fp }, 0)
    return 'ok'
  }
  const lane = counters.lane(laneNum)
  if (step === 'skip') {
    const failures = addFailure(row[5], REMOVED, now)
    // A dead letter had ended before: its end keeps its time.
    if (state === 'dead') sql.removeDead.run(REMOVED.code, failures, num)
    else {
      sql.setEnded.run(STATE.skipped, now, 0, REMOVED.code, failures, num)
      lane.servedAt = now
      countEndings(tx, crawl.num, 1)
    }
    moveLink(crawl, lane, state, 'skipped')
    return 'ok'
  }
  if (step === 'promote') promote(tx, crawl, num, priority)
  else sql.dueNow.run(now, num)
  moveLink(crawl, lane, state, 'queued')
  return 'ok'
}

/** Places grow from zero; those in front of them go down. */
function promote({ sql, counters }: Transaction, crawl: CrawlRow, num: number, priority: number): void {
  const { order } = crawl.spec
  const next = reserve(crawl, 1)
  const seq = order === 'lifo' ? next : -1 - next
  const raised = order === 'priority' ? PRIORITY_MAX : priority
  sql.promote.run(counters.now, raised, rankOf(order, raised, seq), seq, num)
}
