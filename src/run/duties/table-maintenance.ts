import { type Clock, systemRandom } from '../../clock.js'
import { asShoalError } from '../../errors.js'
import type { Log } from '../../log.js'
import { applyRetention, type Retired } from '../../store/export/apply-retention.js'
import { type Backends, openArchive } from '../../wire/backends.js'

const EVERY_MS = 3_600_000
/** Crawls that are over in an hour keep the rule too; workers that start together do not all come at once. */
const FIRST_MS = 30_000

/** Soon after its start and every hour one of the processes that work on a store makes the partitions to come and retires those the rule lets go. */
export async function maintainTables(backends: Backends, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  for (let waitMs = FIRST_MS * (1 + systemRandom()); ; waitMs = EVERY_MS) {
    await clock.sleep(waitMs, signal)
    if (signal.aborted) return
    await maintainOnce(backends, clock, log, signal).catch((error: unknown) => {
      if (!signal.aborted) log.warn('retention.failed', { message: asShoalError(error).message })
    })
  }
}

async function maintainOnce(backends: Backends, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  const maintenance = await backends.maintenance()
  if (maintenance === null) return
  try {
    const { archive: address } = await maintenance.retention()
    const archive = address === null ? null : await openArchive(address, clock)
    try {
      const told = (retired: Retired) => log.info('retention.retired', { ...retired })
      await applyRetention(maintenance, archive, clock.now(), told, signal)
    } finally {
      await archive?.close()
    }
  } finally {
    await maintenance.close()
  }
}
