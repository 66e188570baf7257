import type { SeenAccess } from '../support/access-log.js'
import { deliveriesOf } from './deliveries.js'
import type { HistoryEvent } from './history.js'

/** What the workers did in a time without their record store, from the fault to its heal, and after it. */
export interface Outage {
  readonly awayMs: number
  /** Pages that were fetched in it: those that were in hand, and then no more. */
  readonly fetched: number
  /** From the heal to the first record that was committed. */
  readonly firstCommitMs: number | null
  /** From the heal until all that the workers had in hand was settled, but for those who were killed meanwhile. */
  readonly caughtUpMs: number | null
}

/** Of a history in order of time. A heal ends what the fault before it began. */
export function outagesOf(history: readonly HistoryEvent[], accesses: readonly SeenAccess[]): Outage[] {
  const outages: Outage[] = []
  const { all } = deliveriesOf(history)
  const settledAt = new Map<string, number>()
  for (const { op, phase, id, epoch, tMono } of history) {
    if (op === 'settle' && (phase === 'ok' || phase === 'fail') && !settledAt.has(`${id} ${epoch}`))
      settledAt.set(`${id} ${epoch}`, tMono)
  }
  let from: number | null = null
  for (const { op, target, tMono } of history) {
    if (op === 'fault' && target === undefined) from = tMono
    if (op !== 'heal' || from === null) continue
    const [began, healed] = [from, tMono]
    const commit = history.find((event) => event.op === 'write' && event.phase === 'ok' && event.tMono > healed)
    const ends = all
      .filter(({ grantedAt }) => grantedAt < healed)
      .map(({ id, epoch }) => settledAt.get(`${id} ${epoch}`) ?? 0)
      .filter((end) => end > healed)
    outages.push({
      awayMs: healed - began,
      fetched: accesses.filter(({ t, path }) => t > began && t < healed && path !== '/robots.txt').length,
      firstCommitMs: commit === undefined ? null : commit.tMono - healed,
      caughtUpMs: ends.length === 0 ? null : Math.max(...ends) - healed,
    })
    from = null
  }
  return outages
}
