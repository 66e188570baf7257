import type { z } from 'zod'
import { duration, options } from '../../../options.js'
import { lastSeenAt } from '../../snapshots/health.js'
import type { WorkerSnapshot } from '../../snapshots/snapshot.js'
import { missingText, missingWorker } from '../../snapshots/waits.js'
import { type Finding, minutes, type Rule, STATELESS, type WatchSnapshot } from './rule.js'

const settings = options({ forget: duration({ min: 60_000 }).default(10 * 60_000) })
type Settings = z.output<typeof settings>

export const workerLost: Rule<Settings, null> = {
  ...STATELESS,
  rule: 'worker_lost',
  meaning:
    'A worker with pages in flight has stopped reporting without shutting down: it was killed, its machine is gone, or it cannot reach the queue. Ends when the worker is back, or after `forget`.',
  settings,
  lastingMs: 0,
  judge: ({ workers, now }, { forget }: Settings) => ({
    memory: null,
    found: workers
      .filter((worker) => isLost(worker) && now - worker.seenAt < forget)
      .map((worker) => findingOf(worker, now)),
  }),
}

function isLost({ state }: WorkerSnapshot): boolean {
  return state === 'missing'
}

function findingOf(snapshot: WorkerSnapshot, now: WatchSnapshot['now']): Finding {
  const { worker, inFlight, about } = snapshot
  const silentMs = now - lastSeenAt(snapshot)
  return {
    ...{ about: worker, crawl: null, spider: null, severity: 'warn' },
    // Once its leases have been reclaimed, nothing shows that it held any.
    level: inFlight > 0 ? 'over' : 'near',
    message:
      inFlight === 0
        ? `worker ${worker} is missing, last seen ${minutes(silentMs)} ago`
        : missingText(missingWorker(snapshot), now),
    next: `Other workers take over its links. Check its machine${about === null ? '' : ` (${about.machine}, process ${about.pid})`}: it may have run out of memory.`,
    fields: {
      worker,
      inFlight,
      silentMs: Math.round(silentMs),
      machine: about?.machine ?? null,
      pid: about?.pid ?? null,
    },
  }
}
