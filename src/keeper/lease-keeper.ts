import type { Clock, Random } from '../clock.js'
import type { WorkerId } from '../frontier/frontier.js'
import { BEATS_PER_LOST_AFTER } from '../frontier/liveness.js'
import { awayPause } from '../while-away.js'
import type { Holding, Keeping } from './protocol.js'

/** What the keeper needs of a queue. */
export interface KeepingQueue {
  /**
   * Renews every lease of the worker that is not older than `holdMs` or is `waiting`, except `disowned` ones; answers the epochs of those
   * renewed.
   */
  keep(
    worker: WorkerId,
    holdMs: number,
    disowned: readonly string[],
    waiting: readonly string[],
  ): Promise<readonly string[]>
  beat(worker: WorkerId, lostAfterMs: number): Promise<boolean>
  reap(limit: number): Promise<number>
}

export interface Ward extends Keeping {
  /** What the worker has in flight, as it said last. */
  believed: readonly Holding[]
  /** How often it said so. */
  messages: number
  /** After the first beat. */
  readonly onReady: () => void
  readonly onLost: (tokens: readonly string[]) => void
}

/** Between two checks for expired leases; each process adds up to as much again, so that they do not all come at once. */
const REAP_EVERY_MS = 500
const REAP_AT_ONCE = 200
/** A million leases that run out together are shared among the processes. */
const REAPS_IN_A_ROW = 20
/**
 * A lease that so many messages of the worker did not name is not in flight: its settle reached a queue that has since gone back in time.
 * One message is not enough, because the reply of a lease call may still be on its way.
 */
const UNNAMED = 4
/** By then it has run out. */
const FORGOTTEN = 100

interface Parts {
  readonly queue: Promise<KeepingQueue>
  readonly clock: Clock
  readonly random: Random
}

/**
 * Beats for the worker, the first time at once, and renews its leases, until the signal aborts. A beat that was not expected means that the worker was
 * lost (this process did not run for a while): what it held is checked at once. A queue that is unreachable is asked again soon: its leases last until they
 * run out, and its answer says which did.
 */
export async function keepAlive(ward: Ward, { queue, clock }: Parts, signal: AbortSignal): Promise<void> {
  const { worker, lostAfterMs, heartbeatMs, onReady } = ward
  const frontier = await queue
  const renew = renewalsOf(ward, frontier)
  const longestNapMs = Math.min(heartbeatMs, lostAfterMs / BEATS_PER_LOST_AFTER)
  let renewAt = clock.mono() + heartbeatMs
  let isReady = false
  for (let awayMs = 0; !signal.aborted; ) {
    try {
      const expected = await frontier.beat(worker, lostAfterMs)
      if (!isReady) onReady()
      else if (!expected || clock.mono() >= renewAt) {
        await renew()
        renewAt = clock.mono() + heartbeatMs
      }
      isReady = true
      awayMs = 0
    } catch {
      awayMs = awayPause(awayMs)
    }
    await clock.sleep(awayMs === 0 ? longestNapMs : Math.min(awayMs, longestNapMs), signal)
  }
}

/** Lost is what the worker had in flight before the call was sent and the queue no longer knows. */
function renewalsOf(ward: Ward, frontier: KeepingQueue): () => Promise<void> {
  /** Epochs that the queue has for the worker and the worker does not name, by the message since when. */
  const strangers = new Map<string, number>()
  return async () => {
    const { worker, holdMs, believed, messages } = ward
    for (const { epoch } of believed) strangers.delete(epoch)
    const disowned = [...strangers].filter(([, since]) => messages - since >= UNNAMED).map(([epoch]) => epoch)
    const waiting = believed.filter((one) => one.waiting).map(({ epoch }) => epoch)
    const held = new Set(await frontier.keep(worker, holdMs, disowned, waiting))
    const lost = believed.filter(({ epoch, settling }) => !settling && !held.has(epoch)).map(({ token }) => token)
    if (lost.length > 0) ward.onLost(lost)
    const known = new Set(believed.map(({ epoch }) => epoch))
    for (const [epoch, since] of strangers)
      if (!held.has(epoch) && messages - since > FORGOTTEN) strangers.delete(epoch)
    for (const epoch of held) if (!known.has(epoch) && !strangers.has(epoch)) strangers.set(epoch, messages)
  }
}

/** Reclaims what lost workers hold and what ran out, all the time, in every process that has workers. */
export async function reapAlways({ queue, clock, random }: Parts, signal: AbortSignal): Promise<void> {
  const frontier = await queue
  while (!signal.aborted) {
    await clock.sleep(REAP_EVERY_MS * (1 + random()), signal)
    try {
      for (let turn = 0; turn < REAPS_IN_A_ROW && !signal.aborted; turn++) {
        if ((await frontier.reap(REAP_AT_ONCE)) < REAP_AT_ONCE) break
      }
    } catch {
      // Unreachable: the calls of the workers report it, and the next turn tries again.
    }
  }
}
