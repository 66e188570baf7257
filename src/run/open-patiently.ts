import type { Clock } from '../clock.js'
import { asShoalError } from '../errors.js'
import type { Log } from '../log.js'
import { type BackendPart, BackendWatch, pauseUntil, whileAway } from '../while-away.js'

/**
 * How long a command that serves until it is stopped waits for a queue or store that is not there yet. After a reboot, containers start at the same time
 * and in any order, and Postgres may still be recovering. Not for ever, because the address may be wrong.
 */
export const SERVICE_WAIT_MS = 60_000

/** Opens the queue and the store, and waits for them; the failure of the last try when they do not come. */
export async function openPatiently<Opened>(
  open: () => Promise<Opened>,
  waitMs: number,
  { drain, clock, log }: { readonly drain: AbortSignal; readonly clock: Clock; readonly log: Log },
): Promise<Opened> {
  const deadline = clock.mono() + waitMs
  const pause = pauseUntil(drain, clock)
  const watch = new BackendWatch(log, clock)
  const opened = await whileAway(open, async (ms, error) => {
    if (clock.mono() + ms > deadline) throw error
    watch.down(partOf(error), error)
    await pause(ms, error)
  })
  watch.answered('queue')
  watch.answered('store')
  return opened
}

function partOf(error: unknown): BackendPart {
  return asShoalError(error).code.startsWith('queue') ? 'queue' : 'store'
}
