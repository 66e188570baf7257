import { type Clock, systemClock, systemRandom } from '../clock.js'
import type { Log } from '../log.js'
import type { Outlet } from '../outlets/outlet.js'
import type { Sent } from '../outlets/sink.js'
import type { RecordStore } from '../store/record-store.js'
import { type OutletEnd, openSinks, startOutletDuties } from './duties/outlet-duties.js'

/** Retries while the rest is delivered: at most 15 s of pauses. */
const MOST_FAILURES = 5

export interface RunOutletsOptions {
  readonly store: Pick<RecordStore, 'changes' | 'outlets'>
  readonly queue: string
  readonly log: Log
  /** Keep running until the drain; otherwise until everything is delivered. */
  readonly follow: boolean
  readonly graceMs: number
  readonly drain: AbortSignal
}

/** Feeds the sinks from this process. An outlet that has stopped is started again. */
export async function runOutlets(
  outlets: readonly Outlet[],
  { store, queue, log, follow, graceMs, drain }: RunOutletsOptions,
): Promise<readonly OutletEnd[]> {
  const clock = systemClock
  const stopped = new Set((await store.outlets.list()).filter((one) => one.stopped).map(({ name }) => name))
  for (const { name, spider } of outlets) if (stopped.has(name)) await store.outlets.reset(name, spider, null)
  const parts = { store, queue, clock, random: systemRandom, log, mostFailures: MOST_FAILURES }
  const duties = await startOutletDuties(outlets, parts)
  if (follow) {
    await aborted(drain)
    await duties.finish(graceMs)
  } else {
    const rest = duties.finish(null)
    void aborted(drain).then(() => duties.finish(graceMs))
    await rest
  }
  return duties.ended
}

function aborted(drain: AbortSignal): Promise<void> {
  if (drain.aborted) return Promise.resolve()
  return new Promise((resolve) => drain.addEventListener('abort', () => resolve(), { once: true }))
}

export interface TestedOutlet {
  readonly outlet: Outlet
  readonly sent: Sent
}

/** Sends each sink a batch without records, which shows whether it is reachable, accepts our credentials and accepts what we send. */
export async function testOutlets(
  outlets: readonly Outlet[],
  queue: string,
  clock: Clock = systemClock,
): Promise<TestedOutlet[]> {
  const { sinks, close } = await openSinks(outlets, { queue, clock })
  try {
    const tested: TestedOutlet[] = []
    for (const [outlet, sink] of sinks) {
      const hold = { id: 'test', epoch: 0 }
      tested.push({ outlet, sent: await sink.send({ records: [], hold }, new AbortController().signal) })
    }
    return tested
  } finally {
    await close()
  }
}
