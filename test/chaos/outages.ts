import type { SeenAccess } from '../support/access-log.js'
import type { HistoryEvent } from './history.js'

/** What the workers did in a time without their record store, from the fault to its heal, and after it. */
export interface Outage {
  readonly awayMs: number
  /** Pages that were fetched in it: those that were in hand, and then no more. */
  readonly fetched: number
  /** From the heal to the first record that was committed. */
  readonly firstCommitMs: number | null
  /** Pages whose write had failed when it was healed. */
  readonly waiting: number
  /** From the heal until all of them were settled, but for those of workers that were killed meanwhile. */
  readonly caughtUpMs: number | null
}

/** Of a history in order of time. A heal ends what the fault before it began. */
export function outagesOf(history: readonly HistoryEvent[], accesses: readonly SeenAccess[]): Outage[] {
  const outages: Outage[] = []
  const settledAt = new Map<string, number>()
  for (const { op, phase, id, epoch, tMono } of history) {
    if (op === 'settle' && (phase === 'ok' || phase === 'fail')) settledAt.set(`${id} ${epoch}`, tMono)
  }
  let began: number | null = null
  let waiting = new Set<string>()
  for (const [index, { op, phase, id, epoch, target, tMono }] of history.entries()) {
    if (op === 'write' && phase === 'info') waiting.add(`${id} ${epoch}`)
    if (op === 'fault' && target === undefined) began = tMono
    if (op !== 'heal' || began === null) continue
    const [from, healed] = [began, tMono]
    const commit = history.slice(index).find((event) => event.op === 'write' && event.phase === 'ok')
    const ends = [...waiting].map((lease) => settledAt.get(lease) ?? 0).filter((end) => end > healed)
    outages.push({
      awayMs: healed - from,
      fetched: accesses.filter(({ t, path }) => t > from && t < healed && path !== '/robots.txt').length,
      firstCommitMs: commit === undefined ? null : commit.tMono - healed,
      waiting: ends.length,
      caughtUpMs: ends.length === 0 ? null : Math.max(...ends) - healed,
    })
    began = null
    waiting = new Set()
  }
  return outages
}
