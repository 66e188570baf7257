import { BEAT_MS } from './worker-thread-messages.js'

/** The longest that one look may add: a look that comes later than this was held up itself, and the worker most likely with it. */
const ONE_LOOK_MS = 2 * BEAT_MS

/**
 * True when the worker's beat has stood still for `stuckMs` of the watcher's own time: while the whole process is stopped, or its machine
 * asleep, nobody's time goes by. Asked about every BEAT_MS.
 */
export function stuckWatch(stuckMs: number, startedAt: number): (beat: number, now: number) => boolean {
  let seen = -1
  let lookedAt = startedAt
  let stoodMs = 0
  return (beat, now) => {
    stoodMs = beat === seen ? stoodMs + Math.min(ONE_LOOK_MS, now - lookedAt) : 0
    seen = beat
    lookedAt = now
    return stoodMs > stuckMs
  }
}
