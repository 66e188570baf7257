import type { Clock } from '../../clock.js'
import type { FieldTally } from '../../quality/field-tally.js'
import type { FieldStats } from '../../store/field-stats.js'

/** A crash loses at most this much of the statistics, and nothing else. */
const FLUSH_MS = 5_000

/** Writes the field counts of a worker to the store every few seconds, alongside its work. What the store does not accept is sent again with the next batch. */
export function flushFields(tally: FieldTally, stats: FieldStats, clock: Clock): { stop(): Promise<void> } {
  let flushing: Promise<void> = Promise.resolve()
  const flush = async () => {
    const rows = tally.take()
    if (rows.length === 0) return
    // A broken store fails the records as well, and is reported there.
    await stats.add(rows).catch(() => tally.leave(rows))
  }
  let cancel = () => {}
  const next = () => {
    cancel = clock.after(FLUSH_MS, () => {
      flushing = flush().then(next)
    })
  }
  next()
  return {
    async stop() {
      cancel()
      await flushing
      cancel()
      await flush()
    },
  }
}
