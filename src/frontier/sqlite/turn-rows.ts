import type { SqlValue } from '../../sqlite/db.js'
import type { LeaseRequest } from '../frontier.js'
import { afterLease, type Contest, type LeasedLinks, turnsName, type Usage } from '../turns.js'
import type { Transaction } from './statements.js'

/** Null: the worker takes no part in the sharing of scarce work. */
export function contestOf({ sql, counters }: Transaction, request: LeaseRequest): Contest | null {
  const { worker, busy, want, spiders } = request
  if (busy === undefined) return null
  const row = sql.contest.get(worker, turnsName(spiders)) ?? []
  return {
    ...{ worker, busy, want, now: counters.now },
    turns: { lead: nameOf(row[0]), next: nameOf(row[1]) },
    own: usageOf(row.slice(2, 5)),
    lead: usageOf(row.slice(5, 8)),
    next: usageOf(row.slice(8, 11)),
  }
}

/** Remembers the call; answers when the worker asks again. */
export function saveTurns({ sql }: Transaction, request: LeaseRequest, contest: Contest, leased: LeasedLinks): number {
  const { usage, turns, idleMs } = afterLease(contest, leased)
  sql.saveUsage.run(contest.worker, usage.slotMs, usage.busy, usage.at)
  if (turns.lead !== contest.turns.lead || turns.next !== contest.turns.next) {
    sql.saveTurns.run(turnsName(request.spiders), turns.lead, turns.next)
  }
  return idleMs
}

function nameOf(value: SqlValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}

function usageOf([slotMs, busy, at]: readonly SqlValue[]): Usage | null {
  if (slotMs === null || slotMs === undefined) return null
  return { slotMs: Number(slotMs), busy: Number(busy), at: Number(at) }
}
