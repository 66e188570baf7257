import { hostname } from 'node:os'
import type { Frontier, WorkerId } from '../frontier/frontier.js'

/**
 * Workers of this machine whose process is gone: what they held goes back to the queue now, instead of when their leases run out. A
 * number that another process has taken since only means waiting for that.
 */
export async function forfeitDeadWorkers(frontier: Frontier): Promise<number> {
  let reclaimed = 0
  for (const { worker } of await frontier.workers()) {
    if (isDead(worker)) reclaimed += await frontier.forfeit(worker)
  }
  return reclaimed
}

function isDead(worker: WorkerId): boolean {
  const [, host, pid] = /^(.+)-(\d+)-\d+$/.exec(worker) ?? []
  if (host !== hostname()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
