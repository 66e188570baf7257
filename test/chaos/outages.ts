import type { SeenAccess } from '../support/access-log.js'
import { deliveriesOf } from './deliveries.js'
import type { HistoryEvent } from './history.js'

/** What the workers did in a time without their record store, from the fault to its heal, and after it. */
export interface Outage {
  readonly awayMs: number
  /** Pages that were fetched in it: those that were in hand, and then no more. */
  readonly fetched: number
  /** Of the pages fetched before the heal: those that were settled after it. */
  readonly waiting: number
  /** From the heal to the first record that was committed. */
  readonly firstCommitMs: number | null
  /** From the heal until all that waited was settled, but for what workers held that were killed. */
  readonly caughtUpMs: number | null
}

/** Of a history in order of time. A heal ends what the fault before it began. */
export function outagesOf(history: readonly HistoryEvent[], accesses: readonly SeenAccess[]): Outage[] {
  const settles = history.filter(({ op, phase }) => op === 'settle' && (phase === 'ok' || phase === 'fail'))
  const { all } = deliveriesOf(history)
  const outages: Outage[] = []
  let began: number | null = null
  for (const [index, { op, target, tMono }] of history.entries()) {
    if (op === 'fault' && target === undefined) began = tMono
    if (op !== 'heal' || began === null) continue
    const [from, healed] = [began, tMono]
    const commit = history.slice(index).find((event) => event.op === 'write' && event.phase === 'ok')
    const fetched = new Set(accesses.filter(({ t }) => t < healed).map(({ host, path }) => `${host} ${path}`))
    const held = new Set(all.filter(({ grantedAt }) => grantedAt < healed).map(({ id, epoch }) => `${id} ${epoch}`))
    const waited = settles.filter(
      ({ id, epoch, tMono: at }) => at > healed && held.has(`${id} ${epoch}`) && fetched.has(placeOf(id)),
    )
    outages.push({
      awayMs: healed - from,
      fetched: accesses.filter(({ t, path }) => t > from && t < healed && path !== '/robots.txt').length,
      waiting: waited.length,
      firstCommitMs: commit === undefined ? null : commit.tMono - healed,
      caughtUpMs: waited.length === 0 ? null : Math.max(...waited.map(({ tMono: at }) => at)) - healed,
    })
    began = null
  }
  return outages
}

function placeOf(url: string): string {
  const { hostname, pathname } = new URL(url)
  return `${hostname} ${pathname}`
}
