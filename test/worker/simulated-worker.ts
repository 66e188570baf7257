import { ManualClock } from '../../src/clock.js'
import { createTurns } from '../../src/fetch/http/turns.js'
import { WorkerSlots } from '../../src/worker/worker-slots.js'

/** What a page costs: `cpuMs` of the event loop, after a response that takes `waitMs`. */
interface PageCost {
  readonly cpuMs: number
  readonly waitMs: number
}

export interface SimulatedCrawl {
  readonly most?: number
  readonly seconds: number
  readonly costAt: (ms: number) => PageCost
  /** Links that the queue has at once; left out: always enough. */
  readonly available?: number
  readonly memoryAt?: (ms: number) => number
  /** Pages per second that the store commits; left out: it is never behind. */
  readonly commitsPerSecond?: number
  readonly random?: () => number
}

export interface SimulatedRun {
  readonly pages: number
  /** Share of the time in which the event loop was busy, by second. */
  readonly busyBySecond: readonly number[]
  readonly changes: readonly { readonly atMs: number; readonly slots: number; readonly because: string }[]
  slotsAt(ms: number): number
}

const TICK_MS = 250

/**
 * An event loop with one worker: it looks for responses, handles all that it finds, one after the other, and looks again. Time is simulated; the slots
 * and the latency of responses are the real ones.
 */
export function simulate(given: SimulatedCrawl): SimulatedRun {
  const { most = 64, seconds, costAt, available = Infinity, memoryAt = () => 0, random = () => 0.5 } = given
  const clock = new ManualClock(0)
  const endsOfTurn: (() => void)[] = []
  let idleMs = 0
  const loop = { idleMs: () => idleMs, afterTurn: (fire: () => void) => void endsOfTurn.push(fire) }
  const turns = createTurns(clock, loop)
  const changes: { atMs: number; slots: number; because: string }[] = []
  const slots = new WorkerSlots({
    ...{ most, mostCommitting: 256, clock, loop, heapLimitBytes: 4e9 },
    memory: () => memoryAt(clock.mono()),
    onChange: (next) => changes.push({ atMs: clock.mono(), ...next }),
  })
  changes.push({ atMs: 0, slots: slots.now, because: slots.because })
  let flying: { sentAt: number; arrivesAt: number; visit: { bodyBytes: number } }[] = []
  let inUse = 0
  let committing = 0
  let committedAt = 0
  let pages = 0
  const busyBySecond = Array.from({ length: seconds }, () => 0)

  const lease = () => {
    slots.decide(inUse, committing)
    const want = Math.min(slots.now - inUse, 256 + slots.now - inUse - committing)
    if (want <= 0) return
    const got = Math.min(want, available - inUse)
    inUse += got
    slots.leased(want, got, inUse)
    for (let n = 0; n < got; n++) {
      const sentAt = turns.dispatched()
      const waitMs = costAt(sentAt).waitMs * (0.8 + 0.4 * random())
      flying.push({ sentAt, arrivesAt: sentAt + waitMs, visit: { bodyBytes: 0 } })
    }
  }
  const commit = () => {
    const perSecond = given.commitsPerSecond ?? Infinity
    const done = perSecond === Infinity ? committing : Math.floor(((clock.mono() - committedAt) * perSecond) / 1000)
    if (done === 0) return
    committing = Math.max(0, committing - done)
    committedAt = clock.mono()
  }
  const busy = (ms: number) => {
    const second = Math.floor(clock.mono() / 1000)
    clock.advance(ms)
    if (second < seconds) busyBySecond[second] = (busyBySecond[second] ?? 0) + ms / 1000
  }

  lease()
  let tickAt = TICK_MS
  while (clock.mono() < seconds * 1000) {
    for (const end of endsOfTurn.splice(0)) end()
    const next = Math.min(tickAt, ...flying.map(({ arrivesAt }) => arrivesAt))
    if (next > clock.mono()) {
      idleMs += next - clock.mono()
      clock.advance(next - clock.mono())
    }
    const now = clock.mono()
    const arrived = flying.filter(({ arrivesAt }) => arrivesAt <= now)
    flying = flying.filter(({ arrivesAt }) => arrivesAt > now)
    for (const { sentAt, visit } of arrived) {
      const elapsedMs = clock.mono() - sentAt
      const latencyMs = Math.min(elapsedMs, Math.max(0, turns.arrived() - sentAt))
      slots.answered(visit, sentAt, elapsedMs - latencyMs, 10_000)
      busy(costAt(clock.mono()).cpuMs * (0.8 + 0.4 * random()))
      slots.handled(visit)
      inUse--
      committing++
      pages++
      commit()
      lease()
    }
    if (clock.mono() >= tickAt) {
      tickAt = clock.mono() + TICK_MS
      commit()
      lease()
    }
  }
  const slotsAt = (ms: number) => changes.findLast(({ atMs }) => atMs <= ms)?.slots ?? 0
  return { pages, busyBySecond, changes, slotsAt }
}
