import type { Failure, LinkState, LinkSteer, Outcome } from './frontier.js'
import { REMOVED, SOLO_AFTER } from './frontier.js'

/**
 * What a settle, a reclaim and a step by hand make of a link, as pure functions. The memory and the SQLite frontier apply them; the scripts of the Redis
 * frontier say the same in Lua, and the contract suite holds all three to it.
 */
export interface Transition {
  /** `pending` is queued, or delayed when `afterMs` is above 0. */
  readonly to: 'pending' | 'done' | 'dead' | 'skipped'
  readonly afterMs: number
  /** Added to what the link has used. */
  readonly attempts: 0 | 1
  readonly throttles: 0 | 1
  /** `retryPriorityStep` lower and behind its equals; otherwise it keeps priority and place. */
  readonly demoted: boolean
  /** Kept with the link. */
  readonly failure: Failure | null
  /** Added to the counters of its crawl; `failed` also counts for its host and its worker. */
  readonly counts: Counts
}

export interface Counts {
  readonly bytes?: number
  readonly failed?: 1
  readonly retried?: 1
  readonly throttled?: 1
  readonly reclaimed?: 1
}

const UNCHANGED = { afterMs: 0, attempts: 0, throttles: 0, demoted: false, failure: null, counts: {} } as const

export function afterSettle(outcome: Outcome): Transition {
  switch (outcome.kind) {
    case 'done':
      return { ...UNCHANGED, to: 'done', attempts: 1, counts: { bytes: outcome.bytes } }
    case 'dead':
      return { ...UNCHANGED, to: 'dead', attempts: 1, failure: outcome.failure, counts: { failed: 1 } }
    case 'skipped':
      return { ...UNCHANGED, to: 'skipped', failure: outcome.failure }
    case 'back':
      return { ...UNCHANGED, to: 'pending', afterMs: Math.max(0, outcome.afterMs) }
    case 'retry': {
      const { failure } = outcome
      const afterMs = Math.max(0, outcome.afterMs)
      return outcome.countsAsAttempt
        ? {
            to: 'pending',
            afterMs,
            attempts: 1,
            throttles: 0,
            demoted: true,
            failure,
            counts: { failed: 1, retried: 1 },
          }
        : { ...UNCHANGED, to: 'pending', afterMs, throttles: 1, failure, counts: { throttled: 1 } }
    }
  }
}

/** A link that kills its workers is leased alone after SOLO_AFTER reclaims, and dead after `maxReclaims` more. `reclaims` includes this one. */
export function afterReclaim(reclaims: number, maxReclaims: number, cause?: string): Transition {
  const counts = { reclaimed: 1 } as const
  if (reclaims < SOLO_AFTER + maxReclaims) return { ...UNCHANGED, to: 'pending', counts }
  return { ...UNCHANGED, to: 'dead', failure: poisoned(reclaims, cause), counts }
}

export function isSolo(reclaims: number): boolean {
  return reclaims >= SOLO_AFTER
}

/** `cause`: what ended its worker the last time, when it was leased alone. Without one nobody knows: the worker was silent. */
function poisoned(reclaims: number | '%d', cause?: string): Failure {
  const message =
    cause === undefined ? `its lease ran out ${reclaims} times` : `${cause} (its worker ended ${reclaims} times)`
  return { code: 'poison', message }
}

/** The same as a format of Lua's, with `%d` for the number. */
export function poisonFormat(cause?: string): Failure {
  return poisoned('%d', cause?.replaceAll('%', '%%'))
}

/**
 * What a step by hand does to a link.
 *   promote  it is due now, and the next of its lane
 *   due      it is due now, in its place
 *   replay   a dead letter returns to the queue, with nothing used up
 *   skip     it ends as skipped, with the failure REMOVED; for `laneScore` its lane was served, unless it had ended before
 *   nothing  it is in that state already
 * Or why it cannot be done: a worker has it (`in_flight`), or it has `ended`.
 */
export type SteerStep = 'promote' | 'due' | 'replay' | 'skip' | 'nothing' | 'in_flight' | 'ended'

const STEPS: Readonly<Record<LinkSteer, Readonly<Record<LinkState, SteerStep>>>> = {
  promote: {
    queued: 'promote',
    delayed: 'promote',
    leased: 'in_flight',
    done: 'ended',
    dead: 'ended',
    skipped: 'ended',
  },
  retry: { queued: 'nothing', delayed: 'due', leased: 'in_flight', done: 'ended', dead: 'replay', skipped: 'ended' },
  remove: { queued: 'skip', delayed: 'skip', leased: 'in_flight', done: 'ended', dead: 'skip', skipped: 'ended' },
}

export function steerStep(state: LinkState, order: LinkSteer): SteerStep {
  return STEPS[order][state]
}

export const AFTER_REMOVAL: Transition = { ...UNCHANGED, to: 'skipped', failure: REMOVED }
