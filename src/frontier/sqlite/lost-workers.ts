import type { WorkerId } from '../frontier.js'
import { beatNow, LOST_AT_ONCE, wasUnwatched } from '../liveness.js'
import { type LeaseRow, toLeaseRow } from './rows.js'
import type { Transaction } from './statements.js'

export function beatWorker({ sql, counters }: Transaction, worker: WorkerId, lostAfterMs: number): boolean {
  const expected = sql.isBeating.get(worker) !== undefined
  const { beatAt, lostAt } = beatNow(counters.now, lostAfterMs)
  sql.beat.run(worker, beatAt, lostAfterMs, lostAt)
  sql.touchWorker.run(beatAt, worker)
  return expected
}

/** What lost workers hold, to be reclaimed by the caller; those of which nothing is left are forgotten. */
export function takeFromLost({ sql, counters }: Transaction, limit: number): LeaseRow[] {
  const { now } = counters
  const watchedAt = sql.watchedAt.get()?.[0]
  if (wasUnwatched(watchedAt === undefined ? null : Number(watchedAt), now)) {
    sql.startBeatsAgain.run(now)
    sql.watchedFromNow.run(now)
  }
  sql.watchedNow.run(now)
  const taken: LeaseRow[] = []
  for (const [worker] of sql.lostWorkers.all(now, LOST_AT_ONCE)) {
    const held = sql.leasesOfWorker.all(String(worker)).map(toLeaseRow)
    const batch = held.slice(0, Math.max(0, limit - taken.length))
    taken.push(...batch)
    if (batch.length < held.length) break
    sql.forgetBeat.run(String(worker))
  }
  return taken
}
