import type { WorkerId, WorkerInfo } from '../../frontier/frontier.js'
import {
  type Earlier,
  SLOT_LIMITS,
  type SlotLimit,
  SPENT,
  type Spent,
  type Step,
  type Vitals,
} from '../vitals/vitals.js'
import type { WorkerState } from './health.js'

/** An event loop that is busy for this share of the time has no room: responses and timers wait for it. */
export const LOOP_FULL = 0.85
/** A queue that responds faster than this is no bottleneck, however often it is called: another worker makes its own calls. */
export const SLOW_CALL_MS = 50
/** Less than a tenth more work than now is not worth another worker. */
export const LITTLE = 1.1

export interface AdvisedWorker extends WorkerInfo {
  readonly vitals: Vitals | null
  readonly state: WorkerState
}

/** How all workers together spend their time. */
export interface FleetLoad {
  readonly workers: number
  /** Concurrent visits of all of them; null: one does not report it. */
  readonly slots: number | null
  /** Workers that report vitals; without any, the rest is 0 or null. */
  readonly reporting: number
  /** Share of the slots' time with a visit in it, 0 … 1; null: no worker reports. */
  readonly busy: number | null
  /** What the slots' time was spent on, as shares that add up to 1. */
  readonly part: Readonly<Record<Spent, number>>
  /** Mean duration of each step; null: it did not occur. */
  readonly meanMs: (step: Step) => number | null
  /** Share of a worker's time with a call of this step in flight; above 1 if there are several at once. */
  readonly share: (step: Step) => number
  /** Visits that ended in the last seconds, and how many per second. */
  readonly visits: number
  readonly visitsPerSecond: number
  /** How long a visit occupies its slot, without waiting for pace and proxies. */
  readonly visitMs: number | null
  /** Of the busier half of the workers: if only few of them get links, the others say nothing. */
  readonly loopBusy: number
  readonly memory: MemoryUse | null
  /** Why most of the workers have no more slots; null: no worker reports. */
  readonly because: SlotLimit | null
  /** Machines whose workers say how many cores they have, and how many of them these workers keep busy. */
  readonly machines: readonly MachineLoad[]
}

export interface MachineLoad {
  readonly machine: string
  readonly cores: number
  readonly busyCores: number
}

interface MemoryUse {
  readonly worker: WorkerId
  readonly what: 'heap' | 'machine'
  readonly used: number
  readonly limitBytes: number
}

/** A shorter span says too little; the totals since the worker's start are better. */
const ENOUGH_MS = 900

/** Over the last seconds, or since its start for a worker that has just started. */
export function loadOf(workers: readonly AdvisedWorker[]): FleetLoad {
  const spans = workers.flatMap(({ vitals }) => (vitals === null ? [] : [spanOf(vitals)]))
  const workerMs = sum(spans, ({ ms }) => ms)
  const spent = (part: Spent) => sum(spans, (span) => span.spent(part))
  const all = sum(SPENT, spent)
  const visits = sum(spans, (span) => span.visits)
  const steps = (step: Step) => ({
    ms: sum(spans, (span) => span.took(step).ms),
    calls: sum(spans, (span) => span.took(step).calls),
  })
  return {
    workers: workers.length,
    slots: slotsOf(workers),
    reporting: spans.length,
    busy: all === 0 ? null : 1 - spent('idle') / all,
    part: Object.fromEntries(SPENT.map((part) => [part, all === 0 ? 0 : spent(part) / all])) as Record<Spent, number>,
    meanMs(step) {
      const { ms, calls } = steps(step)
      return calls === 0 ? null : ms / calls
    },
    share: (step) => (workerMs === 0 ? 0 : steps(step).ms / workerMs),
    visits,
    visitsPerSecond: sum(spans, (span) => (span.visits * 1_000) / span.ms),
    visitMs: visits === 0 ? null : (spent('fetch') + spent('handler')) / visits,
    loopBusy: busierHalf(spans.map(({ vitals }) => vitals.loopBusy)),
    memory: memoryOf(spans.map(({ vitals }) => vitals)),
    because: mostCommon(spans.map(({ vitals }) => vitals.because)),
    machines: machinesOf(workers),
  }
}

interface VitalsSpan {
  readonly vitals: Vitals
  readonly ms: number
  readonly visits: number
  readonly spent: (part: Spent) => number
  readonly took: (step: Step) => { ms: number; calls: number }
}

function spanOf(vitals: Vitals): VitalsSpan {
  const { earlier } = vitals
  const from = earlier !== null && vitals.at - earlier.at >= ENOUGH_MS ? earlier : null
  const since = (value: number, old: number | undefined) => Math.max(0, value - (old ?? 0))
  return {
    vitals,
    ms: Math.max(1, vitals.at - (from?.at ?? vitals.startedAt)),
    visits: since(vitals.pages + vitals.failed, from === null ? 0 : from.pages + from.failed),
    spent: (part) => since(vitals.spent[part], from?.spent[part]),
    took(step) {
      const calls = (of: Earlier | null) => (of === null ? 0 : of.took[step].counts.reduce((all, one) => all + one, 0))
      return { ms: since(vitals.took[step].sumMs, from?.took[step].sumMs), calls: since(calls(vitals), calls(from)) }
    },
  }
}

function slotsOf(workers: readonly AdvisedWorker[]): number | null {
  let slots = 0
  for (const { vitals, about } of workers) {
    const own = vitals?.slots ?? about?.concurrency
    if (own === undefined) return null
    slots += own
  }
  return slots
}

function mostCommon(limits: readonly SlotLimit[]): SlotLimit | null {
  if (limits.length === 0) return null
  const times = (limit: SlotLimit) => limits.filter((one) => one === limit).length
  return SLOT_LIMITS.reduce((best, limit) => (times(limit) > times(best) ? limit : best))
}

function machinesOf(workers: readonly AdvisedWorker[]): MachineLoad[] {
  const machines = new Map<string, MachineLoad>()
  for (const { about, vitals } of workers) {
    if (about?.cores === undefined) continue
    const { machine, cores } = about
    const busyCores = (machines.get(machine)?.busyCores ?? 0) + (vitals?.loopBusy ?? 0)
    machines.set(machine, { machine, cores, busyCores })
  }
  return [...machines.values()]
}

function busierHalf(shares: readonly number[]): number {
  const half = shares.toSorted((a, b) => b - a).slice(0, Math.ceil(shares.length / 2))
  return half.length === 0 ? 0 : sum(half, (share) => share) / half.length
}

/** The share of a machine's memory that our workers must use before we warn: if other processes fill it, fewer workers are no help. */
export const OURS = 0.25

/**
 * The limit that V8 reports includes its young generation, three semi-spaces of 16 MiB, in which nothing stays: a small heap is full, and its process crashes, well below
 * that limit.
 */
const YOUNG_BYTES = 48 * 1024 * 1024

export function lastingBytes(limit: number): number {
  return Math.max(limit - YOUNG_BYTES, limit / 2)
}

/** The fullest of them. */
function memoryOf(all: readonly Vitals[]): MemoryUse | null {
  let worst: MemoryUse | null = null
  for (const { worker, machine, heapBytes, heapLimitBytes, memoryLimitBytes, memoryFreeBytes } of all) {
    const limitBytes = lastingBytes(heapLimitBytes)
    const heap = { worker, what: 'heap', used: shareOf(heapBytes, limitBytes), limitBytes } as const
    // Workers in threads of one process report the same memory.
    const ours = new Map(all.filter((one) => one.machine === machine).map(({ pid, rssBytes }) => [pid, rssBytes]))
    const isOurs = sum([...ours.values()], (rss) => rss) >= memoryLimitBytes * OURS
    const used = isOurs ? shareOf(memoryLimitBytes - memoryFreeBytes, memoryLimitBytes) : 0
    const whole = { worker, what: 'machine', used, limitBytes: memoryLimitBytes } as const
    for (const use of [heap, whole]) if (worst === null || use.used > worst.used) worst = use
  }
  return worst
}

function shareOf(part: number, whole: number): number {
  return whole <= 0 ? 0 : part / whole
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((all, item) => all + of(item), 0)
}
