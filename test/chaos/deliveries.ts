import { BEATS_PER_LOST_AFTER, LOST_AFTER_MS } from '../../src/frontier/liveness.js'
import type { HistoryEvent } from './history.js'

/** One lease of one link, from the grant to its end, put together from what the processes wrote down. */
export interface Delivery {
  readonly id: string
  /** `gen:epoch`. */
  readonly epoch: string
  readonly proc: string
  readonly attempt: number
  /** When its worker had the reply in hand. */
  readonly grantedAt: number
  /** Until then, at least, the lease cannot have run out or been given back. */
  sureUntil: number
  /** When the settle was first sent. */
  settleSentAt: number | null
  /** The outcome that the queue took; null: refused, unknown, or never sent. */
  accepted: NonNullable<HistoryEvent['outcome']> | null
  committedAt: number | null
  /** The worker was killed while it held it. */
  killedAt: number | null
  /** Something happened to its worker, or to the queue, that explains a lost lease. */
  excused: boolean
}

export interface Deliveries {
  readonly all: readonly Delivery[]
  /** Those of one link in order of their epochs. */
  readonly byId: ReadonlyMap<string, readonly Delivery[]>
  readonly staleRefused: number
  readonly unknownReplies: number
}

const STOOD_STILL_MS = 1_000

/** One pass over the history, which is in order of time. */
export function deliveriesOf(history: readonly HistoryEvent[], lostAfterMs = LOST_AFTER_MS): Deliveries {
  const byLease = new Map<string, Delivery>()
  const open = new Map<string, Set<Delivery>>()
  const openOf = (proc: string) => {
    const held = open.get(proc) ?? new Set<Delivery>()
    open.set(proc, held)
    return held
  }
  let staleRefused = 0
  let unknownReplies = 0

  const excuse = (proc: string, killedAt: number | null) => {
    for (const delivery of openOf(proc)) {
      delivery.excused = true
      if (killedAt === null) continue
      delivery.killedAt = killedAt
      delivery.sureUntil = Math.min(delivery.sureUntil, killedAt)
    }
    if (killedAt !== null) openOf(proc).clear()
  }

  /** Its last beat was just before, or as long ago as it is between two of them; from then on it is silent. */
  const lostAtEarliest = (silentAt: number) => silentAt + lostAfterMs * (1 - 1 / BEATS_PER_LOST_AFTER)
  const silentAt = new Map<string, number>()
  const silence = (proc: string, at: number) => {
    silentAt.set(proc, at)
    for (const delivery of openOf(proc)) delivery.sureUntil = Math.min(delivery.sureUntil, lostAtEarliest(at))
  }

  for (const event of history) {
    const { op, phase, id, epoch, proc, tMono } = event
    const lease = `${id} ${epoch}`
    const delivery = byLease.get(lease)
    if (op === 'lease' && phase === 'ok' && delivery === undefined) {
      const invokedAt = event.invokedAt ?? tMono
      const sureUntil = invokedAt + (event.leaseMs ?? 0)
      // Granted before its worker fell silent, and read after: it may have been lost in between.
      const silent = (silentAt.get(proc) ?? Number.NEGATIVE_INFINITY) >= invokedAt
      const made: Delivery = {
        id,
        epoch,
        proc,
        attempt: event.attempt ?? 1,
        grantedAt: tMono,
        sureUntil: silent ? Math.min(sureUntil, lostAtEarliest(invokedAt)) : sureUntil,
        settleSentAt: null,
        accepted: null,
        committedAt: null,
        killedAt: null,
        // A reply that was read so late lay about while the process or the queue stood still.
        excused: tMono - invokedAt > STOOD_STILL_MS,
      }
      byLease.set(lease, made)
      openOf(proc).add(made)
    } else if (op === 'settle' && delivery !== undefined) {
      if (phase === 'invoke' && delivery.settleSentAt === null) {
        delivery.settleSentAt = tMono
        delivery.sureUntil = Math.min(delivery.sureUntil, tMono)
      }
      if (phase === 'ok') delivery.accepted = event.outcome ?? 'done'
      if (phase === 'fail') staleRefused++
      if (phase === 'ok' || phase === 'fail') openOf(proc).delete(delivery)
      if (phase === 'info') delivery.excused = true
    } else if (op === 'write' && phase === 'ok' && delivery !== undefined) {
      delivery.committedAt ??= tMono
    } else if (op === 'fault') {
      const killed = event.fault === 'kill'
      const struck = event.target === undefined ? [...open.keys()] : [event.target]
      for (const proc of struck) excuse(proc, killed ? tMono : null)
      if (event.fault === 'freeze' || event.fault === 'cut') for (const proc of struck) silence(proc, tMono)
    } else if (op === 'exit' || op === 'stall') {
      excuse(proc, null)
    }
    if (phase === 'info' && (op === 'lease' || op === 'settle' || op === 'write')) {
      unknownReplies++
      excuse(proc, null)
    }
  }

  const byId = new Map<string, Delivery[]>()
  for (const delivery of byLease.values()) {
    const others = byId.get(delivery.id)
    if (others === undefined) byId.set(delivery.id, [delivery])
    else others.push(delivery)
  }
  for (const deliveries of byId.values()) deliveries.sort((a, b) => compareEpochs(a.epoch, b.epoch))
  return { all: [...byLease.values()], byId, staleRefused, unknownReplies }
}

/** Both `gen:epoch`, decimal digits of any length. */
export function compareEpochs(a: string, b: string): number {
  const [genA = '', epochA = ''] = a.split(':')
  const [genB = '', epochB = ''] = b.split(':')
  if (genA !== genB) return Number(genA) - Number(genB)
  if (epochA.length !== epochB.length) return epochA.length - epochB.length
  return epochA === epochB ? 0 : epochA < epochB ? -1 : 1
}
