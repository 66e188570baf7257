import type { Clock, Random } from '../clock.js'
import { asShoalError, isAway } from '../errors.js'
import type { Log } from '../log.js'
import type { ChangePage, Cursor } from '../store/changes.js'
import type { OutletInfo, OutletNote } from '../store/outlets.js'
import type { RecordStore, StoredRecord } from '../store/record-store.js'
import { pauseAfter } from './backoff.js'
import { type Held, holdOutlet } from './hold.js'
import type { Outlet } from './outlet.js'
import type { Sent, Sink } from './sink.js'

export interface PumpTiming {
  /** A holder that does not renew its claim for this long is replaced. */
  readonly claimMs: number
  /** How often others check for that. */
  readonly lookMs: number
  /** How often the holder checks for changes when there were none. */
  readonly idleMs: number
}

const PUMP_TIMING: PumpTiming = { claimMs: 15_000, lookMs: 5_000, idleMs: 500 }

/** A cursor that moved over changes of other spiders or kinds only is stored this often. */
const NOTE_MOVES_MS = 10_000
/** Failures in a row after which the final delivery gives up. */
const FAILURES_AT_THE_END = 1

export interface PumpParts {
  readonly outlet: Pick<Outlet, 'name' | 'spider' | 'kinds' | 'batch'>
  readonly store: Pick<RecordStore, 'changes' | 'outlets'>
  readonly sink: Sink
  /** Unlike that of any other process, now or before. */
  readonly holder: string
  /** The holder's process is known to have ended: its claim need not expire first. */
  readonly isGone: (holder: string) => boolean
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Deliver everything committed so far, then end. */
  readonly finish: AbortSignal
  /** End now. */
  readonly stop: AbortSignal
  readonly timing?: PumpTiming
  /** Of the final delivery. */
  readonly mostFailures?: number
}

/** `delivered`: everything up to now. `elsewhere`: another process delivers to it. `behind`: the sink is down, or time ran out. `stopped`: the sink refuses. */
export type PumpEnd =
  | { readonly kind: 'delivered' | 'elsewhere'; readonly sent: number }
  | { readonly kind: 'behind' | 'stopped'; readonly sent: number; readonly message: string }

/**
 * Delivers the changes of a spider to a sink: each at least once, in order, one batch after the other and never more than one in memory. The
 * cursor is stored after the sink has accepted the batch, so after a crash the next holder sends it again. Any number of processes may run
 * this for one outlet: only the one that holds it delivers.
 */
export async function pump(parts: PumpParts): Promise<PumpEnd> {
  const { outlet, store, clock, log, finish, stop, timing = PUMP_TIMING } = parts
  const waking = AbortSignal.any([finish, stop])
  const { name, spider, kinds } = outlet
  const claim = { name, spider, kinds, holder: parts.holder, forMs: timing.claimMs }
  let sent = 0
  let end: PumpEnd = { kind: 'behind', sent, message: 'time ran out' }
  for (;;) {
    if (stop.aborted) return { ...end, sent }
    try {
      const held = await holdOutlet(store.outlets, claim, clock)
      if (held !== null) {
        try {
          const result = await deliverChanges(parts, held)
          sent += result.sent
          end = result
        } finally {
          await held.release()
        }
      } else {
        const info = await infoOf(parts)
        if (info?.stopped) end = { kind: 'stopped', sent, message: info.error ?? '' }
        else if (info?.holder != null && parts.isGone(info.holder)) {
          await store.outlets.release(outlet.name, info.holder)
          continue
        } else end = { kind: 'elsewhere', sent }
      }
    } catch (thrown) {
      const error = asShoalError(thrown)
      if (!isAway(error)) log.warn('outlet.failed', { outlet: outlet.name, message: error.message })
      end = { kind: 'behind', sent, message: error.message }
    }
    if (finish.aborted) return { ...end, sent }
    await clock.sleep(timing.lookMs, waking)
  }
}

async function infoOf({ outlet, store }: PumpParts): Promise<OutletInfo | null> {
  return (await store.outlets.list()).find(({ name }) => name === outlet.name) ?? null
}

/** Until the hold is lost, the sink refuses, or everything is delivered. */
async function deliverChanges(parts: PumpParts, held: Held): Promise<PumpEnd> {
  const { outlet, store, clock, finish, stop, timing = PUMP_TIMING } = parts
  const { spider, kinds, batch } = outlet
  const over = AbortSignal.any([stop, held.lost])
  const idle = AbortSignal.any([over, finish])
  const query = { spider, ...(kinds === null ? {} : { kinds }) }
  let cursor = held.cursor
  let noted = { cursor, at: clock.mono() }
  let sent = 0

  const note = async (what: Omit<OutletNote, 'cursor'>, at: Cursor) => {
    noted = { cursor: at, at: clock.mono() }
    return store.outlets.note(outlet.name, parts.holder, { ...what, cursor: at })
  }
  const behind = (message: string): PumpEnd => ({ kind: 'behind', sent, message })

  while (!over.aborted) {
    const page: ChangePage = await store.changes.read({ ...query, after: cursor, limit: batch })
    if (page.records.length > 0) {
      const result = await deliverAll(parts, held, page.records, over, cursor)
      if (result.kind === 'refused') {
        parts.log.error('outlet.stopped', { outlet: outlet.name, message: result.message })
        await note({ sent: 0, trimmed: 0, error: result.message, stop: true }, cursor)
        return { kind: 'stopped', sent, message: result.message }
      }
      if (result.kind === 'down') return behind(result.message)
      if (result.kind === 'fenced') return { kind: 'elsewhere', sent }
      sent += page.records.length
      const taken = { sent: page.records.length, trimmed: result.trimmed, error: null, stop: false }
      if (!(await note(taken, page.cursor))) return { kind: 'elsewhere', sent }
    } else if (page.cursor !== noted.cursor && clock.mono() - noted.at >= NOTE_MOVES_MS) {
      if (!(await note({ sent: 0, trimmed: 0, error: null, stop: false }, page.cursor)))
        return { kind: 'elsewhere', sent }
    }
    cursor = page.cursor
    if (!page.more) {
      if (finish.aborted) {
        const { records } = await store.changes.lag({ ...query, after: cursor, most: 1 })
        if (records === 0) return { kind: 'delivered', sent }
        await clock.sleep(timing.idleMs, over)
      } else await clock.sleep(timing.idleMs, idle)
    }
  }
  return behind('time ran out')
}

/** A page of changes may be larger than a batch: it ends where a transaction did. */
async function deliverAll(
  parts: PumpParts,
  held: Held,
  records: readonly StoredRecord[],
  over: AbortSignal,
  cursor: Cursor,
): Promise<Sent> {
  let trimmed = 0
  for (let next = 0; next < records.length; next += parts.outlet.batch) {
    const result = await deliver(parts, held, records.slice(next, next + parts.outlet.batch), over, cursor)
    if (result.kind !== 'taken') return result
    trimmed += result.trimmed
  }
  return { kind: 'taken', trimmed }
}

/** Sends a batch, and retries while the sink is down. */
async function deliver(
  { outlet, store, sink, holder, clock, random, log, finish, mostFailures = FAILURES_AT_THE_END }: PumpParts,
  held: Held,
  records: readonly StoredRecord[],
  over: AbortSignal,
  cursor: Cursor,
): Promise<Sent> {
  const waking = AbortSignal.any([over, finish])
  for (let failures = 0; ; ) {
    const result = await sink.send({ records, hold: held }, over)
    if (result.kind !== 'down') {
      if (failures > 0 && result.kind === 'taken') log.info('outlet.back', { outlet: outlet.name })
      return result
    }
    if (over.aborted) return result
    failures++
    if (failures === 1) log.warn('outlet.waiting', { outlet: outlet.name, message: result.message })
    const note = { cursor, sent: 0, trimmed: 0, error: result.message, stop: false }
    if (!(await store.outlets.note(outlet.name, holder, note))) return { kind: 'fenced' }
    if (finish.aborted && failures >= mostFailures) return result
    await clock.sleep(pauseAfter(failures, result.retryAfterMs, random), finish.aborted ? over : waking)
  }
}
