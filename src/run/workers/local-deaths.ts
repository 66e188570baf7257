import type { Clock } from '../../clock.js'
import type { Frontier, WorkerId } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import { warnUnlessAway } from '../../while-away.js'
import { PROCESS_ENDED } from './forfeit.js'
import { isGone, localPid } from './worker-ids.js'

/** How soon the death of a process on this machine is noticed. */
const CHECK_MS = 500
/** How often the list of workers is read in a small fleet: a worker that dies younger than this is noticed a little later. */
const LIST_MS = 2_000
/** Each process of a fleet reads the whole list, which is many entries in a large one: together they read no more than this many a second. */
const READS_PER_SECOND = 2_000

/** Between two readings of the list of `workers` workers, about as many processes as workers assumed. */
export function listEveryMs(workers: number): number {
  return Math.max(LIST_MS, (workers * workers * 1_000) / READS_PER_SECOND)
}

/** What is known about the processes of this machine. */
interface Processes {
  isLocal(worker: WorkerId): boolean
  isGone(worker: WorkerId): boolean
}

const processesHere: Processes = { isLocal: (worker) => localPid(worker) !== null, isGone }

/**
 * Returns what the dead workers of this machine hold to the queue within a second, until the signal aborts. The death of another machine is noticed by the
 * silence of its workers (`Frontier.beat`).
 */
export async function forfeitLocalDeaths(
  frontier: Pick<Frontier, 'workers' | 'forfeit'>,
  parts: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
  { isLocal, isGone: hasEnded }: Processes = processesHere,
): Promise<void> {
  const { clock, log, signal } = parts
  let local: WorkerId[] = []
  let listAt = clock.mono()
  while (!signal.aborted) {
    try {
      if (clock.mono() >= listAt) {
        const all = await frontier.workers()
        local = all.map(({ worker }) => worker).filter(isLocal)
        listAt = clock.mono() + listEveryMs(all.length)
      }
      for (const worker of local.filter(hasEnded)) {
        const reclaimed = await frontier.forfeit(worker, PROCESS_ENDED)
        local = local.filter((other) => other !== worker)
        // Every process of this machine noticed; the first one got the links.
        if (reclaimed > 0) log.error('worker.died', { worker, reclaimed })
      }
    } catch (error) {
      warnUnlessAway(log, error)
    }
    await clock.sleep(CHECK_MS, signal)
  }
}
