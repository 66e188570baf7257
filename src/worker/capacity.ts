import type { SlotLimit } from '../observe/vitals/vitals.js'

/** How many pages a worker visits at once. READ THE RULE: `nextCapacity`; worker-slots.ts measures what it needs. */

export interface Capacity {
  readonly slots: number
  readonly because: SlotLimit
}

/** What was measured since the last decision. */
export interface WorkerLoad {
  /** The ceiling. */
  readonly most: number
  readonly ms: number
  /** Share of that time in which the event loop was busy. */
  readonly loopBusy: number
  /** Responses to requests that were sent since the number of slots last changed, and how long all of them together waited for the event loop. */
  readonly responses: number
  readonly waitedMs: number
  /** When that change was, and such responses since then. */
  readonly unchangedMs: number
  readonly seen: number
  /** Slots in use, now and at most. */
  readonly inUse: number
  readonly mostInUse: number
  /** The queue had a link for every slot that asked for one. */
  readonly filled: boolean
  /** How full the memory, the bytes of waiting bodies and the outbox are: 1 is too full. */
  readonly memory: number
  readonly bodies: number
  readonly outbox: number
}

/** Low: a page may need a second of CPU, and what one worker holds no other can take. Four doublings lead to 64. */
export const FIRST_SLOTS = 4

/** A busy event loop always has its next page: as many may wait as it handles in this time, … */
const WAITING_MS = 100
/** … and always this many, so that a slow response or a slow lease does not leave the loop idle. */
const WAITING_PAGES = 2.5
/**
 * Where a few pages need much CPU, the others wait behind them although the loop is idle half of the time: more slots fill that time. So more may wait, the
 * emptier the loop is.
 */
const UNEVEN = 8
/** A step up is taken only below this share of a bound, a step down above the bound: in between nothing changes. */
const ROOM = 0.4
/** A loop that is busier than this is full. Below it, the number of slots that would fill it can be computed. */
const LOOP_FULL = 0.9
/** Slots that only wait are doubled this often, although no response says yet what a page costs. */
const BLIND_MS = 500
const BLIND_BUSY = 0.5
/** Slots that were given up because the loop was full are tried again after this, if it still is. */
const FULL_MS = 20_000

/**
 * One step. The only signal that costs throughput when it is missed is CPU: if fewer pages than slots are in the network, the others wait for the event
 * loop, where other workers cannot take them. By Little's law their mean number is the sum of their waits ÷ the time. So slots are added while next
 * to none waits, and given up while too many do. With a wait of w and c of CPU for each page, this settles a little above 1 + w ÷ c.
 */
export function nextCapacity(now: Capacity, load: WorkerLoad): Capacity {
  const { slots, because } = now
  const [limit, level] = tightest(load)
  if (level > 1) return fewer(slots, limit, load)
  if (slots >= load.most) return { slots: load.most, because: 'most' }
  if (!load.filled || load.mostInUse < slots) return { slots, because: 'work' }
  if (level >= ROOM) return { slots, because: limit }
  return canGrow(now, load) ? more(now, load) : { slots, because: because === 'work' ? 'growing' : because }
}

type Pressure = Exclude<SlotLimit, 'growing' | 'most' | 'work'>

function tightest({ memory, bodies, outbox, ...load }: WorkerLoad): [Pressure, number] {
  const levels: [Pressure, number][] = [
    ['memory', memory],
    ['bodies', bodies],
    ['outbox', outbox],
    ['cpu', waitingFor(load) / mayWait(load)],
  ]
  return levels.reduce((worst, one) => (one[1] > worst[1] ? one : worst))
}

/** Pages that waited for the event loop, on average. */
function waitingFor({ waitedMs, ms }: Pick<WorkerLoad, 'waitedMs' | 'ms'>): number {
  return waitedMs / Math.max(1, ms)
}

function mayWait({ responses, ms, loopBusy }: Pick<WorkerLoad, 'responses' | 'ms' | 'loopBusy'>): number {
  const whenFull = Math.max(WAITING_PAGES, (WAITING_MS * responses) / Math.max(1, ms))
  return whenFull * (1 + UNEVEN * Math.max(0, LOOP_FULL - loopBusy))
}

function fewer(slots: number, limit: Pressure, load: WorkerLoad): Capacity {
  // The last step down has not taken effect yet.
  if (load.inUse > slots) return { slots, because: limit }
  const used = Math.min(slots, Math.max(1, load.mostInUse))
  const target = limit === 'cpu' ? Math.max(used / 4, used - (waitingFor(load) - mayWait(load) * 0.75)) : used / 2
  return { slots: Math.max(1, Math.min(used, Math.round(target))), because: limit }
}

/** Half of the slots have shown what their pages cost, or all of them only wait. If the loop is full, only what was measured just now counts. */
function canGrow({ slots, because }: Capacity, { responses, seen, unchangedMs, loopBusy }: WorkerLoad): boolean {
  if (loopBusy >= LOOP_FULL) return responses * 2 >= slots && (because !== 'cpu' || unchangedMs >= FULL_MS)
  return seen * 2 >= slots || (unchangedMs >= BLIND_MS && loopBusy < BLIND_BUSY)
}

function more({ slots, because }: Capacity, load: WorkerLoad): Capacity {
  const { loopBusy, most } = load
  const target =
    loopBusy < LOOP_FULL
      ? (slots * LOOP_FULL) / Math.max(0.01, loopBusy)
      : slots + (mayWait(load) - waitingFor(load)) / 2
  const next = Math.min(most, slots * 2, Math.max(slots + 1, Math.floor(target)))
  if (next === most) return { slots: next, because: 'most' }
  // A small step back up does not mean that the load has changed.
  return { slots: next, because: because === 'cpu' && next < slots * 1.5 ? 'cpu' : 'growing' }
}
