import type { Clock } from '../clock.js'
import { isAway } from '../errors.js'
import type { Frontier } from '../frontier/frontier.js'
import { type Log, silentLog } from '../log.js'
import type { RecordStore } from '../store/record-store.js'
import { type BackendPart, BackendWatch } from '../worker/backend-watch.js'

const NAP_MS = 500

/** Repeats a call while our own backends is away; the log, if given, tells of it. After the signal it is not waited for any longer. */
export async function untilBack<Answer>(
  call: () => Promise<Answer>,
  clock: Clock,
  signal: AbortSignal,
  log: Log = silentLog,
  part: BackendPart = 'queue',
): Promise<Answer> {
  const watch = new BackendWatch(log, clock)
  for (;;) {
    try {
      const answer = await call()
      watch.answered(part)
      return answer
    } catch (error) {
      if (!isAway(error) || signal.aborted) throw error
      watch.away(part, error)
      await clock.sleep(NAP_MS, signal)
    }
  }
}

/**
 * Queue or store for whoever watches over a crawl: every call can be repeated, so that one which finds it away waits and goes on. A scan
 * (an async generator) is not a call: it fails where it stands.
 */
export function patient<Part extends Frontier | RecordStore>(part: Part, clock: Clock, signal: AbortSignal): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const answer: unknown = Reflect.apply(member, target, args)
        if (!(answer instanceof Promise)) return answer
        let first: Promise<unknown> | null = answer
        const call = () => {
          const given = first ?? Promise.resolve(Reflect.apply(member, target, args) as unknown)
          first = null
          return given
        }
        return untilBack(call, clock, signal)
      }
    },
  })
}
