import type { z } from 'zod'
import { duration, options } from '../../../options.js'
import type { WorkerSnapshot } from '../../snapshots/snapshot.js'
import { count, type Finding, FORGETFUL, minutes, type Rule, type WatchSnapshot } from './rule.js'

const settings = options({ forget: duration({ min: 60_000 }).default(10 * 60_000) })
type Settings = z.output<typeof settings>

export const workerLost: Rule<Settings, null> = {
  ...FORGETFUL,
  rule: 'worker_lost',
  meaning:
    'A worker that held pages is no longer heard of, and has not left: it was killed, its machine is gone, or it cannot reach the queue. It ends when the worker is back or forgotten, or after `forget`.',
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
  { worker, inFlight, seenAt, heardMs, about, state }: WorkerSnapshot,
  now: WatchSnapshot['now'],
): Finding {
  const silentMs = heardMs ?? now - seenAt
  return {
    ...{ about: worker, crawl: null, spider: null, severity: 'warn' },
    // Once its links were taken from it, nobody can tell that it held any.
    level: inFlight > 0 ? 'over' : 'near',
    message: `worker ${worker} is ${state}: nothing was heard of it for ${minutes(silentMs)}${inFlight > 0 ? `, and it holds ${count(inFlight)} links` : ''}`,
    next: `Its links go back to the queue by themselves. Look at its machine${about === null ? '' : ` (${about.machine}, process ${about.pid})`}: was it killed for its memory?`,
    fields: {
      worker,
      inFlight,
      silentMs: Math.round(silentMs),
      machine: about?.machine ?? null,
      pid: about?.pid ?? null,
    },
  }
}
