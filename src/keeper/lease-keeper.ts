import type { Clock, Random } from '../clock.js'
import type { WorkerId } from '../frontier/frontier.js'
import { awayPause } from '../while-away.js'
import type { Holding } from './protocol.js'

/** What the keeper needs of a queue. */
export interface KeepingQueue {
  /**
   * Renews every lease of the worker that is not older than `holdMs` or is `waiting`, but for `disowned` ones; answers the epochs of those
   * renewed.
   */
  keep(
    worker: WorkerId,
    holdMs: number,
    disowned: readonly string[],
    waiting: readonly string[],
  ): Promise<readonly string[]>
  reap(limit: number): Promise<number>
}

export interface Ward {
  readonly worker: WorkerId
  readonly heartbeatMs: number
  /** A lease is kept for this long at most, unless it waits for our own backends. */
  readonly holdMs: number
  /** What the worker said last that it has in hand. */
  believed: readonly Holding[]
  /** How often it said so. */
  heard: number
  readonly onLost: (tokens: readonly string[]) => void
}

/** Between two looks for expired leases; each process adds up to as much again, so that they do not all come at once. */
const REAP_EVERY_MS = 500
const REAP_AT_ONCE = 200
/** A million leases that run out together are not one process's business alone. */
const REAPS_IN_A_ROW = 20
/**
 * A lease that the worker did not name so many times, though it had its say, it does not have: its end was told to a queue that has come back older.
 * The reply of a lease call may be on its way, which is why once is not enough.
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
 * Renews the worker's leases until the signal aborts. Lost is what the worker had in hand before the call was sent and the queue no longer
 * knows. A queue that is away is asked again soon: the leases live on until their time is over, and the answer tells.
 */
export async function keepAlive(ward: Ward, { queue, clock }: Parts, signal: AbortSignal): Promise<void> {
  const { worker, heartbeatMs, holdMs } = ward
  const frontier = await queue
  /** Epochs that the queue holds for the worker and the worker does not name, since when. */
  const strangers = new Map<string, number>()
  let awayMs = 0
  for (let napMs = heartbeatMs; ; ) {
    await clock.sleep(napMs, signal)
    if (signal.aborted) return
    const { believed, heard } = ward
    try {
      for (const { epoch } of believed) strangers.delete(epoch)
      const disowned = [...strangers].filter(([, since]) => heard - since >= UNNAMED).map(([epoch]) => epoch)
      const waiting = believed.filter((one) => one.waiting).map(({ epoch }) => epoch)
      const held = new Set(await frontier.keep(worker, holdMs, disowned, waiting))
      const lost = believed.filter(({ epoch, settling }) => !settling && !held.has(epoch)).map(({ token }) => token)
      if (lost.length > 0) ward.onLost(lost)
      const known = new Set(believed.map(({ epoch }) => epoch))
      for (const [epoch, since] of strangers) if (!held.has(epoch) && heard - since > FORGOTTEN) strangers.delete(epoch)
      for (const epoch of held) if (!known.has(epoch) && !strangers.has(epoch)) strangers.set(epoch, heard)
      napMs = heartbeatMs
      awayMs = 0
    } catch {
      awayMs = awayPause(awayMs)
      napMs = Math.min(awayMs, heartbeatMs)
    }
  }
}

/** Puts back what dead workers held, always, in every process that has workers. */
export async function reapAlways({ queue, clock, random }: Parts, signal: AbortSignal): Promise<void> {
  const frontier = await queue
  while (!signal.aborted) {
    await clock.sleep(REAP_EVERY_MS * (1 + random()), signal)
    try {
      for (let turn = 0; turn < REAPS_IN_A_ROW && !signal.aborted; turn++) {
        if ((await frontier.reap(REAP_AT_ONCE)) < REAP_AT_ONCE) break
      }
    } catch {
      // Away: the calls of the workers tell the user, and the next turn tries again.
    }
  }
}
