import { BEAT_MS } from './worker-thread-messages.js'

/** The most that one check may add: if the check itself comes later than this, the watcher was blocked too, and probably the worker with it. */
const ONE_CHECK_MS = 2 * BEAT_MS

/**
 * True when the worker's beat has not changed for `stuckMs` of the watcher's own time: while the whole process is stopped, or the machine is asleep,
 * no time passes for either. Called about every BEAT_MS.
 */
export function stuckWatch(stuckMs: number, startedAt: number): (beat: number, now: number) => boolean {
  let seen = -1
  let checkedAt = startedAt
  let blockedMs = 0
  return (beat, now) => {
    blockedMs = beat === seen ? blockedMs + Math.min(ONE_CHECK_MS, now - checkedAt) : 0
    seen = beat
    checkedAt = now
    return blockedMs > stuckMs
  }
}
