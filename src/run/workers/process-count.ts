import { LOOP_FULL } from '../../observe/snapshots/fleet-load.js'

/** What the number of worker processes is decided by, about once a second. */
export interface ProcessSample {
  /** Monotonic. */
  readonly atMs: number
  /** Processes that run or are starting. */
  readonly processes: number
  /** How busy the event loop of each process was, 0 … 1. A process that is still starting is not in this list. */
  readonly loops: readonly number[]
  /** The most processes that can run at once: the cores of the machine, or what its container may use. */
  readonly cores: number
  /** Cores that nobody uses, on average since the last sample. */
  readonly idleCores: number
  /** Memory of the largest process, and what the machine or container has left. */
  readonly rssBytes: number
  readonly freeBytes: number
}

export interface ProcessCountState {
  /** Since when more processes, and fewer, would be right without a break. */
  readonly fullSince: number | null
  readonly slackSince: number | null
  readonly changedAt: number | null
}

export type ProcessChange = 'more' | 'fewer' | null

export const NO_CHANGE_YET: ProcessCountState = { fullSince: null, slackSince: null, changedAt: null }

/** Most of a core is idle, so another process gets more than it takes from the others. */
export const IDLE_CORE = 0.5
/** A crawl that ends in a few seconds never pays for another process, which costs 1.5 CPU seconds to start. */
export const FULL_FOR_MS = 3_000
/** If the others were this busy after one has left, they would still have room: far below LOOP_FULL, so that the number does not swing. */
export const LOOP_EASY = 0.6
/** Ten times as long as it takes to add one: a process that is too many costs memory, one too few costs speed. */
export const SLACK_FOR_MS = 30_000
/** A new process needs some seconds to start and to take its share. Until then the figures are those of before. */
export const SETTLE_MS = 6_000
/** A process is added only if there is memory for this many of its size. */
export const MEMORY_FOR = 2
/** What is waiting must keep the processes busy for this long: starting one takes two seconds, and it has to pay off. */
const WORTH_SECONDS = 10

/**
 * One process first. One more when every event loop has been full for some seconds and a core is idle; one fewer when the others could do its work
 * with ease for half a minute. Never more than there are cores.
 */
export function processChange(
  state: ProcessCountState,
  sample: ProcessSample,
): { readonly state: ProcessCountState; readonly change: ProcessChange } {
  const { atMs, processes, loops, cores } = sample
  const busy = loops.reduce((sum, loop) => sum + loop, 0)
  const allReport = loops.length === processes
  const hasRoom = processes < cores && sample.idleCores >= IDLE_CORE && sample.freeBytes > MEMORY_FOR * sample.rssBytes
  const full = allReport && hasRoom && loops.every((loop) => loop >= LOOP_FULL)
  const slack = allReport && processes > 1 && busy <= LOOP_EASY * (processes - 1)
  const fullSince = full ? (state.fullSince ?? atMs) : null
  const slackSince = slack ? (state.slackSince ?? atMs) : null
  const settled = state.changedAt === null || atMs - state.changedAt >= SETTLE_MS
  const change: ProcessChange =
    settled && fullSince !== null && atMs - fullSince >= FULL_FOR_MS
      ? 'more'
      : settled && slackSince !== null && atMs - slackSince >= SLACK_FOR_MS
        ? 'fewer'
        : null
  return { state: { ...state, fullSince, slackSince }, change }
}

/** After a process was added or removed, the watch starts over. */
export function processesChanged(atMs: number): ProcessCountState {
  return { fullSince: null, slackSince: null, changedAt: atMs }
}

/** Whether what is waiting pays for another process, at the current rate, which is 0 until the first page is done. */
export function isWorthAProcess(queued: number, pagesPerSecond: number): boolean {
  return queued > 0 && queued >= pagesPerSecond * WORTH_SECONDS
}
