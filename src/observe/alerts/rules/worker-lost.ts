import type { z } from 'zod'
import { duration, options } from '../../../options.js'
import type { WorkerSnapshot } from '../../snapshots/snapshot.js'
import { count, type Finding, minutes, type Rule, STATELESS, type WatchSnapshot } from './rule.js'

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
  return state === 'missing' || state === 'silent'
}

function findingOf(
  { worker, inFlight, seenAt, reportedMs, about, state }: WorkerSnapshot,
  now: WatchSnapshot['now'],
): Finding {
  const silentMs = reportedMs ?? now - seenAt
  return {
    ...{ about: worker, crawl: null, spider: null, severity: 'warn' },
    // Once its leases have been reclaimed, nothing shows that it held any.
    level: inFlight > 0 ? 'over' : 'near',
    message: `worker ${worker} is ${state}: no report for ${minutes(silentMs)}${inFlight > 0 ? `, with ${count(inFlight)} links in flight` : ''}`,
    next: `Its links return to the queue automatically. Check its machine${about === null ? '' : ` (${about.machine}, process ${about.pid})`}: it may have run out of memory.`,
    fields: {
      worker,
      inFlight,
      silentMs: Math.round(silentMs),
      machine: about?.machine ?? null,
      pid: about?.pid ?? null,
    },
  }
}
