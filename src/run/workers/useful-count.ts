import type { WorkerId } from '../../frontier/frontier.js'
import { LOOP_FULL } from '../../observe/snapshots/fleet-load.js'
import { countedWorkers, type FleetReading, usefulWorkers } from '../../observe/snapshots/useful-workers.js'
import {
  FULL_FOR_MS,
  IDLE_CORE,
  LOOP_EASY,
  MEMORY_FOR,
  type ProcessChange,
  type ProcessSample,
  SETTLE_MS,
  SLACK_FOR_MS,
} from './process-count.js'

/** What the fleet looks like to one `shoal worker --procs auto --max N`. */
export interface FleetShare {
  /** Workers that help, in the whole fleet. */
  readonly useful: number
  readonly why: string
  /** Orders those that would add or remove a process at the same moment. */
  readonly name: string
  /** Workers for the same spiders that are not ours, by machine. */
  readonly elsewhere: readonly Neighbour[]
}

interface Neighbour {
  readonly name: string
  readonly workers: number
}

export interface UsefulCountState {
  /** Since when more processes, and fewer, would be right without a break. */
  readonly moreSince: number | null
  readonly fewerSince: number | null
  readonly changedAt: number | null
  /** Workers in the fleet when last read. */
  readonly total: number | null
}

export const NOT_COUNTED_YET: UsefulCountState = { moreSince: null, fewerSince: null, changedAt: null, total: null }

/**
 * Who is not first waits this much longer for each one before it. A process that was just started elsewhere appears in the queue within about 4 s and is read
 * within 3 s: two machines that added at the same moment would both have one too many.
 */
const TURN_MS = 8_000
/** A process that leaves finishes its pages first and is counted until then. */
const LEAVING_TURN_MS = 30_000
/** Nobody waits longer than this many turns: most of those before it may be workers that never change their number. */
const MOST_TURNS = 10

/**
 * As many processes as are useful and do not run elsewhere, from 1 to `max`. One more when this was asked for some seconds and there is CPU and memory for
 * it, one fewer after half a minute. Machines with the fewest workers add first, those with the most remove first. Work that waits for hosts may have more
 * processes than cores; if CPU is the limit, there are no more than cores.
 */
export function usefulChange(
  state: UsefulCountState,
  sample: ProcessSample,
  share: FleetShare,
  max: number,
): { readonly state: UsefulCountState; readonly change: ProcessChange } {
  const { atMs, processes, loops } = sample
  const elsewhere = workersElsewhere(share)
  const total = processes + elsewhere
  const wanted = Math.max(1, Math.min(max, share.useful - elsewhere))
  const crowded = isCrowded(sample)
  const more = wanted > processes && !crowded && loops.length >= processes && hasRoom(sample)
  const fewer = processes > 1 && (wanted < processes || crowded)
  // Somebody else has just added or removed one: everybody looks again.
  const grown = state.total !== null && total > state.total
  const shrunk = state.total !== null && total < state.total
  const moreSince = more ? ((grown ? null : state.moreSince) ?? atMs) : null
  const fewerSince = fewer ? ((shrunk ? null : state.fewerSince) ?? atMs) : null
  const settled = state.changedAt === null || atMs - state.changedAt >= SETTLE_MS
  const moreAfter = FULL_FOR_MS + TURN_MS * turnsBefore(share, (other) => isBefore(other, share, processes))
  const fewerAfter =
    SLACK_FOR_MS +
    (crowded ? 0 : LEAVING_TURN_MS * turnsBefore(share, (other) => leavesBefore(other, share, processes)))
  const change: ProcessChange =
    settled && moreSince !== null && atMs - moreSince >= moreAfter
      ? 'more'
      : settled && fewerSince !== null && atMs - fewerSince >= fewerAfter
        ? 'fewer'
        : null
  return { state: { ...state, moreSince, fewerSince, total }, change }
}

/** After a process was added or removed, the watch starts over. */
export function usefulChanged(atMs: number): UsefulCountState {
  return { ...NOT_COUNTED_YET, changedAt: atMs }
}

/** `own`: the workers of this command and its processes. */
export function fleetShare(
  reading: FleetReading,
  spiders: ReadonlySet<string>,
  own: ReadonlySet<WorkerId>,
): FleetShare {
  const { workers: useful, why } = usefulWorkers(reading, spiders)
  const machines = new Map<string, WorkerId[]>()
  for (const { worker, about } of countedWorkers(reading, spiders)) {
    if (own.has(worker)) continue
    const machine = about?.machine ?? worker
    machines.set(machine, [...(machines.get(machine) ?? []), worker])
  }
  const elsewhere = [...machines.values()].map((ids) => ({ name: firstOf(ids), workers: ids.length }))
  // Ids begin with the name of the machine, and differ between two commands on the same one.
  return { useful, why, name: firstOf([...own]), elsewhere }
}

export function workersElsewhere({ elsewhere }: FleetShare): number {
  return elsewhere.reduce((sum, { workers }) => sum + workers, 0)
}

/** True: CPU is the limit, and there are more processes than cores. Their switches and their memory bring nothing. */
export function isCrowded({ processes, cores, loops, idleCores }: ProcessSample): boolean {
  return processes > cores && idleCores < IDLE_CORE && loops.length > 0 && loops.every((loop) => loop >= LOOP_FULL)
}

function hasRoom({ loops, idleCores, freeBytes, rssBytes }: ProcessSample): boolean {
  const hasCpu = idleCores >= IDLE_CORE || loops.every((loop) => loop <= LOOP_EASY)
  return hasCpu && freeBytes > MEMORY_FOR * rssBytes
}

function turnsBefore({ elsewhere }: FleetShare, isFirst: (other: Neighbour) => boolean): number {
  return Math.min(MOST_TURNS, elsewhere.filter(isFirst).length)
}

function isBefore(other: Neighbour, { name }: FleetShare, processes: number): boolean {
  return other.workers === processes ? other.name < name : other.workers < processes
}

/** A machine with one worker keeps it. */
function leavesBefore(other: Neighbour, { name }: FleetShare, processes: number): boolean {
  return other.workers > 1 && (other.workers === processes ? other.name > name : other.workers > processes)
}

function firstOf(ids: readonly WorkerId[]): WorkerId {
  return ids.reduce((first, id) => (first === '' || id < first ? id : first), '')
}
