import type { Clock } from '../../clock.js'

/** A crash loses at most this much of the statistics, and nothing else. */
const FLUSH_MS = 5_000
/**
 * How long the last flush may take. A connection to a store that is cut off fails after a minute: a worker whose cable was pulled took 25 s to end, more than
 * most orchestrators wait, for statistics.
 */
const LAST_FLUSH_MS = 3_000

/** Takes what was counted and stores it. */
type Flush = () => Promise<void>

/** What the store does not accept is sent again with the next batch. */
export function flushed<Row>(
  tally: { take(): Row[]; leave(rows: readonly Row[]): void },
  stats: { add(rows: readonly Row[]): Promise<void> },
): Flush {
  return async () => {
    const rows = tally.take()
    if (rows.length === 0) return
    // A broken store fails the records as well, and is reported there.
    await stats.add(rows).catch(() => tally.leave(rows))
  }
}

/** Writes the statistics of a worker to the store every few seconds, alongside its work. */
export function flushTallies(flushes: readonly Flush[], clock: Clock): { stop(): Promise<void> } {
  let flushing: Promise<unknown> = Promise.resolve()
  const flushAll = () => Promise.all(flushes.map((flush) => flush()))
  let cancel = () => {}
  const next = () => {
    cancel = clock.after(FLUSH_MS, () => {
      flushing = flushAll().then(next)
    })
  }
  next()
  return {
    async stop() {
      cancel()
      const last = flushing.then(() => {
        cancel()
        return flushAll()
      })
      await new Promise<void>((resolve) => {
        const forget = clock.after(LAST_FLUSH_MS, resolve)
        void last.finally(() => {
          forget()
          resolve()
        })
      })
    },
  }
}
