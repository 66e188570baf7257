import type { Clock } from '../clock.js'
import { isAway } from '../errors.js'
import type { Frontier } from '../frontier/frontier.js'
import { type Log, silentLog } from '../log.js'
import { PlantWatch } from '../worker/plant-watch.js'

const NAP_MS = 500

/** Repeats a call while our own plant is away; the log, if given, tells of it. After the signal it is not waited for any longer. */
export async function untilBack<Answer>(
  call: () => Promise<Answer>,
  clock: Clock,
  signal: AbortSignal,
  log: Log = silentLog,
): Promise<Answer> {
  const watch = new PlantWatch(log, clock)
  for (;;) {
    try {
      const answer = await call()
      watch.answered('queue')
      return answer
    } catch (error) {
      if (!isAway(error) || signal.aborted) throw error
      watch.away('queue', error)
      await clock.sleep(NAP_MS, signal)
    }
  }
}

/** The queue for whoever watches over a crawl: every call can be repeated, so that one which finds it away waits and goes on. */
export function patientFrontier(frontier: Frontier, clock: Clock, signal: AbortSignal): Frontier {
  return new Proxy(frontier, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) =>
        untilBack(() => Promise.resolve(Reflect.apply(member, target, args) as unknown), clock, signal)
    },
  })
}
