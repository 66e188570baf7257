import type { Clock } from '../../clock.js'
import { isAway } from '../../errors.js'
import type { Frontier, WorkerId } from '../../frontier/frontier.js'
import { pauseUntil, whileAway } from '../../while-away.js'
import { isGone } from './worker-ids.js'

/** Returns what the worker holds to the queue, and answers how many links that was; `cause` is what ended it. If the queue is still down at the signal, others take over when the worker is lost. */
export async function forfeit(
  frontier: Frontier,
  worker: WorkerId,
  clock: Clock,
  signal: AbortSignal,
  cause?: string,
): Promise<number> {
  try {
    return await whileAway(() => frontier.forfeit(worker, cause), pauseUntil(signal, clock))
  } catch (error) {
    if (isAway(error)) return 0
    throw error
  }
}

/** What is known when nobody saw how: the system killed it for its memory, or it crashed in native code. */
export const PROCESS_ENDED = 'the process of its worker was killed or crashed'

/** A worker that was silent for a day is removed from the list: its leases expired long ago. */
const FORGOTTEN_MS = 24 * 3_600_000

/**
 * Returns what dead workers of this machine hold to the queue now, before the first worker of this process starts; local-deaths.ts continues from there. If
 * another process has the pid of the dead one by now, its silence decides (`Frontier.beat`).
 */
export async function forfeitDeadWorkers(frontier: Frontier, clock: Clock): Promise<number> {
  let reclaimed = 0
  const now = clock.now()
  for (const { worker, seenAt } of await frontier.workers()) {
    if (isGone(worker) || now - seenAt > FORGOTTEN_MS) reclaimed += await frontier.forfeit(worker, PROCESS_ENDED)
  }
  return reclaimed
}
