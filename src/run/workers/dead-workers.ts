import type { Clock } from '../../clock.js'
import type { Frontier } from '../../frontier/frontier.js'
import { isGone } from './worker-ids.js'

/** A worker that was silent for a day is forgotten: what it held went back long ago. */
const FORGOTTEN_MS = 24 * 3_600_000

/**
 * Workers of this machine whose process is gone: what they held goes back to the queue now, instead of when their leases run out. A
 * number that another process has taken since only means waiting for that.
 */
export async function forfeitDeadWorkers(frontier: Frontier, clock: Clock): Promise<number> {
  let reclaimed = 0
  const now = clock.now()
  for (const { worker, seenAt } of await frontier.workers()) {
    if (isGone(worker) || now - seenAt > FORGOTTEN_MS) reclaimed += await frontier.forfeit(worker)
  }
  return reclaimed
}
