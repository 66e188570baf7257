import { performance } from 'node:perf_hooks'

/** What can be observed of the event loop of a thread: how long it waited for events, and when it has handled those that it found. */
export interface EventLoop {
  /** Milliseconds since the thread started in which it waited for events, because it had nothing else to do. */
  idleMs(): number
  /** Calls `fire` once the events that were found together have been handled. */
  afterTurn(fire: () => void): void
}

export const eventLoop: EventLoop = {
  idleMs: () => performance.eventLoopUtilization().idle,
  afterTurn: (fire) => void setImmediate(fire),
}
