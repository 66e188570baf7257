import type { Clock } from '../clock.js'
import { pauseUntil, whileAway } from '../while-away.js'

/**
 * The queue or the store, part by part, for code that works on a crawl: every call can be repeated, so a call that finds it down waits and is repeated. A scan
 * (an async generator) is not a call: it fails where it is.
 */
export function patient<Part extends object>(part: Part, clock: Clock, signal: AbortSignal): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member === 'object' && member !== null) return patient(member, clock, signal)
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
        return whileAway(call, pauseUntil(signal, clock))
      }
    },
  })
}
