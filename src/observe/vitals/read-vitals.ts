import { z } from 'zod'
import type { WorkerId } from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import { vitalsKey } from '../note-keys.js'
import { HISTOGRAM_MS, IN_FLIGHT_REPORTED, SLOT_LIMITS, SPENT, STEPS, type Vitals } from './vitals.js'

export interface ReceivedVitals {
  readonly vitals: Vitals
  /** Since they were posted, by the queue's clock. */
  readonly ageMs: number
}

/** Notes read at once: reading a fleet of hundreds of workers must not send hundreds of calls at the same time. */
export const NOTES_AT_ONCE = 32

/** The latest vitals of the workers. Workers without vitals, or with vitals that this version cannot read, are left out. */
export async function readVitals(
  notes: Pick<Notes, 'read'>,
  workers: readonly WorkerId[],
): Promise<Map<WorkerId, ReceivedVitals>> {
  const received = new Map<WorkerId, ReceivedVitals>()
  for (let from = 0; from < workers.length; from += NOTES_AT_ONCE) {
    await Promise.all(
      workers.slice(from, from + NOTES_AT_ONCE).map(async (worker) => {
        const note = await notes.read(vitalsKey(worker))
        const vitals = note === null ? null : parseVitals(note.text)
        if (note !== null && vitals?.worker === worker) received.set(worker, { vitals, ageMs: note.ageMs })
      }),
    )
  }
  return received
}

const count = z.number().nonnegative()
const name = z.string().max(1_000)
const histogram = z.object({ counts: z.array(count).length(HISTOGRAM_MS.length + 1), sumMs: count })
const spent = z.record(z.enum(SPENT), count)
const took = z.record(z.enum(STEPS), histogram)
const vitalsSchema = z
  .object({
    worker: name,
    machine: name,
    pid: count,
    version: name,
    at: z.number(),
    startedAt: z.number(),
    pages: count,
    failed: count,
    bytes: count,
    // Earlier versions had no cache.
    cached: count.default(0),
    stale: count,
    lost: count,
    statuses: z.record(z.string().regex(/^\d{1,3}$/), count),
    errors: z.record(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/), count),
    took,
    slots: count,
    // Versions before 0.2 had as many slots as they were given; later ones may know other reasons.
    most: count.optional(),
    because: z.enum(SLOT_LIMITS).optional().catch(undefined),
    busy: count,
    spent,
    rssBytes: count,
    heapBytes: count,
    heapLimitBytes: count,
    memoryLimitBytes: count,
    memoryFreeBytes: count,
    loopBusy: count,
    loopLagMs: count,
    earlier: z.object({ at: z.number(), pages: count, failed: count, spent, took }).nullable(),
    inFlight: z
      .array(z.object({ crawl: name, fp: name, proxy: z.object({ pool: name, proxy: name }).nullable(), forMs: count }))
      .max(IN_FLIGHT_REPORTED),
  })
  .transform(({ most, because = 'most', ...vitals }) => ({
    ...vitals,
    most: most ?? vitals.slots,
    because,
  })) satisfies z.ZodType<Vitals>

/** Null: garbage, or written by an incompatible version. */
export function parseVitals(text: string): Vitals | null {
  try {
    return vitalsSchema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
