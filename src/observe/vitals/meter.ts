import type { Clock } from '../../clock.js'
import type { Outcome } from '../../frontier/frontier.js'
import { HISTOGRAM_MS, type Histogram, SPENT, type Spent, STEPS, type Step, type Vitals } from './vitals.js'

/** Fields of a visit for the meter, so that it needs no object of its own for each page. */
export interface Clocked {
  /** Index in SPENT of its current activity; NOTHING when it holds no slot. */
  doing: number
  /** Monotonic start time of that activity. */
  since: number
}

export const NOTHING = -1

/**
 * What a worker counts and how its slots spend their time, for its vitals. It is called on the hot path: plain arrays, nothing allocated, less than a
 * microsecond per page. A slot is one of the concurrent visits of the worker; it is free again when the page is read and its handler has ended.
 * The times of all slots add up to slots × time, because each moment of each slot is booked once, when it is over.
 */
export interface Meter {
  /** A visit takes a slot. */
  begin(visit: Clocked): void
  /** The activity of the slot, or what it waits for, from now on. */
  doing(visit: Clocked, spent: Spent): void
  /** The slot is free. Only the first time counts. */
  end(visit: Clocked): void
  /** Free slots ask the queue for work; `links` is the number it returned, or null: it is down. */
  asked(): void
  answered(links: number | null, wanted: number): void
  /** The worker has this many slots from now on. One that was given up counts until its visit ends. */
  resize(slots: number): void
  /** Why slots stay free although they do not ask for work. */
  heldUpBy(spent: Spent): void

  took(step: Step, ms: number): void
  /** A response of a site; status 0: none. */
  received(status: number, bytes: number, ms: number): void
  /** Bytes that are not of a page. */
  receivedAside(bytes: number): void
  /** A response that came from the development cache. */
  cached(): void
  /** A settlement that the queue accepted. */
  settled(outcome: Outcome, leaseMs: number): void
  stale(): void
  lost(): void
  /** Up to now, with the visits that hold slots. */
  read(visits: Iterable<Clocked>): Reading
}

/** The part of a worker's Vitals that the meter provides. */
export type Reading = Pick<
  Vitals,
  | 'pages'
  | 'failed'
  | 'bytes'
  | 'cached'
  | 'stale'
  | 'lost'
  | 'statuses'
  | 'errors'
  | 'took'
  | 'slots'
  | 'busy'
  | 'spent'
>

/** Statuses have three digits. */
const MOST_STATUSES = 1_000
const SPENT_AT = Object.fromEntries(SPENT.map((spent, at) => [spent, at])) as Record<Spent, number>
const STEP_AT = Object.fromEntries(STEPS.map((step, at) => [step, at])) as Record<Step, number>
const BUCKETS = HISTOGRAM_MS.length + 1
const { idle: IDLE, queue: QUEUE, fetch: FETCH } = SPENT_AT

export function createMeter(firstSlots: number, clock: Clock): Meter {
  let slots = firstSlots
  const spent = new Float64Array(SPENT.length)
  const buckets = new Float64Array(STEPS.length * BUCKETS)
  const sums = new Float64Array(STEPS.length)
  const statuses = new Float64Array(MOST_STATUSES)
  const errors = new Map<string, number>()
  let pages = 0
  let failed = 0
  let bytes = 0
  let cached = 0
  let stale = 0
  let lost = 0
  let busy = 0
  /** Up to when the time of free slots is booked. */
  let bookedAt = clock.mono()
  let freeBecause = IDLE
  let asking = false
  let askedAt = 0
  /** Time of free slots while a lease call is in flight. Its result decides what the time is booked as. */
  let askingMs = 0

  const bookFree = (now: number) => {
    const ms = Math.max(0, slots - busy) * (now - bookedAt)
    bookedAt = now
    if (asking) askingMs += ms
    else add(freeBecause, ms)
  }
  const add = (at: number, ms: number) => {
    spent[at] = (spent[at] ?? 0) + ms
  }
  const bookBusy = (visit: Clocked, now: number) => {
    add(visit.doing, now - visit.since)
    visit.since = now
  }
  const took = (at: number, ms: number) => {
    let bucket = 0
    while (bucket < HISTOGRAM_MS.length && ms > (HISTOGRAM_MS[bucket] ?? 0)) bucket++
    const index = at * BUCKETS + bucket
    buckets[index] = (buckets[index] ?? 0) + 1
    sums[at] = (sums[at] ?? 0) + Math.max(0, ms)
  }
  const histogram = (at: number): Histogram => ({
    counts: [...buckets.subarray(at * BUCKETS, (at + 1) * BUCKETS)],
    sumMs: sums[at] ?? 0,
  })

  return {
    begin(visit) {
      const now = clock.mono()
      bookFree(now)
      busy++
      visit.doing = FETCH
      visit.since = now
    },
    doing(visit, next) {
      const at = SPENT_AT[next]
      if (visit.doing === NOTHING || visit.doing === at) return
      bookBusy(visit, clock.mono())
      visit.doing = at
    },
    end(visit) {
      if (visit.doing === NOTHING) return
      const now = clock.mono()
      bookBusy(visit, now)
      bookFree(now)
      visit.doing = NOTHING
      busy--
    },
    asked() {
      const now = clock.mono()
      bookFree(now)
      asking = true
      askedAt = now
    },
    answered(links, wanted) {
      const now = clock.mono()
      bookFree(now)
      asking = false
      // Slots that got a link were waiting for the queue, the others for work.
      const share = links === null ? 1 : links / Math.max(1, wanted)
      add(QUEUE, askingMs * share)
      add(IDLE, askingMs * (1 - share))
      askingMs = 0
      // All slots got a link and there may be more: the next free slot waits for the next call.
      freeBecause = share >= 1 ? QUEUE : IDLE
      if (links !== null) took(STEP_AT.lease, now - askedAt)
    },
    resize(next) {
      bookFree(clock.mono())
      slots = next
    },
    heldUpBy(reason) {
      bookFree(clock.mono())
      freeBecause = SPENT_AT[reason]
    },
    took: (step, ms) => took(STEP_AT[step], ms),
    received(status, received, ms) {
      const at = status >= 0 && status < MOST_STATUSES ? status : 0
      statuses[at] = (statuses[at] ?? 0) + 1
      bytes += received
      took(STEP_AT.fetch, ms)
    },
    receivedAside(received) {
      bytes += received
    },
    cached() {
      cached++
    },
    settled(outcome, leaseMs) {
      took(STEP_AT.leaseAge, leaseMs)
      if (outcome.kind === 'done') pages++
      if (outcome.kind !== 'retry' && outcome.kind !== 'dead') return
      failed++
      errors.set(outcome.failure.code, (errors.get(outcome.failure.code) ?? 0) + 1)
    },
    stale() {
      stale++
    },
    lost() {
      lost++
    },
    read(visits) {
      const now = clock.mono()
      bookFree(now)
      // A call that is still in flight is booked now, because reported totals must never decrease.
      add(QUEUE, askingMs)
      askingMs = 0
      for (const visit of visits) if (visit.doing !== NOTHING) bookBusy(visit, now)
      const seen: Record<string, number> = {}
      statuses.forEach((count, status) => {
        if (count > 0) seen[status] = count
      })
      return {
        ...{ pages, failed, bytes, cached, stale, lost, slots, busy },
        statuses: seen,
        errors: Object.fromEntries(errors),
        took: Object.fromEntries(STEPS.map((step, at) => [step, histogram(at)])) as Vitals['took'],
        spent: Object.fromEntries(SPENT.map((kind, at) => [kind, spent[at] ?? 0])) as Vitals['spent'],
      }
    },
  }
}
