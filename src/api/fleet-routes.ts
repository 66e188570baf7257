import { z } from 'zod'
import { ShoalError } from '../errors.js'
import { askToDrain } from '../observe/drain.js'
import { workerRate } from '../observe/snapshots/health.js'
import type { WorkerSnapshot } from '../observe/snapshots/snapshot.js'
import type { WorkerView } from './api-types.js'
import { workerId } from './inputs.js'
import { audited } from './parts.js'
import { OK, type Route, route } from './route.js'
import { alertNotes, done, workersView } from './schemas.js'

export const fleetRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/workers',
    summary: 'Workers of the fleet',
    answer: workersView,
    async handle({ snapshots, clock }) {
      const now = clock.now()
      return { now, workers: (await snapshots.workers()).map((worker) => workerAsView(worker, now)) }
    },
  }),
  route({
    method: 'POST',
    path: '/api/workers/:worker/drain',
    summary: 'Drain a worker: it finishes what is in flight and stops',
    params: z.strictObject({ worker: workerId }),
    body: z.strictObject({}),
    answer: done,
    async handle(api, { params: { worker } }) {
      const known = (await api.snapshots.workers()).some((one) => one.worker === worker)
      if (!known)
        throw new ShoalError('not_found', `there is no worker '${worker}'`, { hint: 'GET /api/workers lists them.' })
      await audited(api, { action: 'worker.drain', target: worker }, () => askToDrain(api.backends.notes, worker))
      return OK
    },
  }),
  route({
    method: 'GET',
    path: '/api/alerts',
    summary: 'Active and recently ended alerts',
    answer: alertNotes,
    handle: ({ snapshots }) => snapshots.alerts(),
  }),
]

function workerAsView({ vitals, reportedMs: _, ...worker }: WorkerSnapshot, now: number): WorkerView {
  return {
    ...worker,
    rate: workerRate(worker, now),
    rssBytes: vitals?.rssBytes ?? null,
    loopBusy: vitals?.loopBusy ?? null,
    loopLagMs: vitals?.loopLagMs ?? null,
    slots: vitals?.slots ?? worker.about?.concurrency ?? null,
    slotsMost: vitals?.most ?? worker.about?.concurrency ?? null,
    slotsBecause: vitals?.because ?? null,
    busy: vitals?.busy ?? null,
  }
}
