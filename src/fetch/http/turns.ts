import type { Clock } from '../../clock.js'
import type { EventLoop } from '../../event-loop.js'

/** When a response arrived, although a busy event loop reads it much later. */
export interface Turns {
  /** The time now: a request is being sent. */
  dispatched(): number
  /** The earliest time at which what is being read now can have arrived: exact unless our own code delayed the reading. */
  arrived(): number
}

/**
 * Looking for events takes time even if they are there, and more on a busy machine: a wait shorter than this, or than this share of the turn before,
 * was none.
 */
const LEAST_WAIT_MS = 0.1
const LEAST_WAIT_SHARE = 0.05

/**
 * The event loop checks for events, handles all that it found (a turn), and checks again. A response that is read in this turn was not there when the
 * loop checked last. If the loop had to wait for it, it arrived when the wait was over. If not, it may have arrived at any time since the last check,
 * while our own code ran: a handler of 100 ms would make every host look slow, so only the time up to the last check counts as the host's.
 */
export function createTurns(clock: Clock, loop: EventLoop): Turns {
  let isOpen = false
  let arrivedAt = 0
  /** When the loop last looked, when the turn that followed was over, and how long the loop had been idle by then. */
  let lookedAt = clock.mono()
  let endedAt = lookedAt
  let idleMs = loop.idleMs()

  const end = () => {
    isOpen = false
    endedAt = clock.mono()
  }
  /** The first call of a turn opens it. */
  const open = (now: number) => {
    if (isOpen) return
    isOpen = true
    const idleNow = loop.idleMs()
    const waitedMs = idleNow - idleMs
    const hasWaited = waitedMs > Math.max(LEAST_WAIT_MS, (endedAt - lookedAt) * LEAST_WAIT_SHARE)
    // Turns in which nothing was sent or received are not seen here. Whatever they took is not the host's: only the waiting counts.
    arrivedAt = hasWaited ? Math.min(now, endedAt + waitedMs) : lookedAt
    idleMs = idleNow
    lookedAt = now
    loop.afterTurn(end)
  }

  return {
    dispatched() {
      const now = clock.mono()
      open(now)
      return now
    },
    arrived() {
      open(clock.mono())
      return arrivedAt
    },
  }
}
