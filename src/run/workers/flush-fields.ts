import type { Clock } from '../../clock.js'
import type { FieldTally } from '../../quality/field-tally.js'
import type { FieldStats } from '../../store/field-stats.js'

/** What a crash may cost, of statistics alone. */
const FLUSH_MS = 5_000

/** Takes the counts of a worker to the store now and then, beside its work. What the store does not take comes along the next time. */
export function flushFields(tally: FieldTally, store: FieldStats, clock: Clock): { stop(): Promise<void> } {
  let flushing: Promise<void> = Promise.resolve()
  const flush = async () => {
    const rows = tally.take()
    if (rows.length === 0) return
    // Whatever is wrong with the store, the records will meet it too, and tell.
    await store.noteFields(rows).catch(() => tally.leave(rows))
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
