import type { Clock } from '../../clock.js'
import { isAway } from '../../errors.js'
import type { Frontier, WorkerId } from '../../frontier/frontier.js'
import { pauseUntil, whileAway } from '../../while-away.js'

/** A queue that is away is waited for until the signal; then the leases of the worker run out by themselves. Answers how many went back. */
export async function forfeit(
  frontier: Frontier,
  worker: WorkerId,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  try {
    return await whileAway(() => frontier.forfeit(worker), pauseUntil(signal, clock))
  } catch (error) {
    if (isAway(error)) return 0
    throw error
  }
}
