import { type Clock, systemRandom } from '../../clock.js'
import { warnOf, withClosers } from '../../closers.js'
import { asShoalError } from '../../errors.js'
import type { Log } from '../../log.js'
import type { Retired } from '../../store/export/apply-retention.js'
import { type Backends, openArchive } from '../../wire/backends.js'

const EVERY_MS = 3_600_000
/** Soon after the start, so that crawls shorter than an hour apply the rule too; random, so that workers that start together do not collide. */
const FIRST_MS = 30_000

/** Soon after the start and then every hour, one of the processes that use a store creates the next partitions and retires those older than the retention rule. */
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
  // Loaded only here: the writer of Parquet files is fifty modules, and most runs end before this.
  const { applyRetention } = await import('../../store/export/apply-retention.js')
  await withClosers(warnOf(log), async (closers) => {
    closers.add(() => maintenance.close())
    const { archive: address } = await maintenance.retention()
    const archive = address === null ? null : await openArchive(address, clock)
    closers.add(() => archive?.close())
    const onRetired = (retired: Retired) => log.info('retention.retired', { ...retired })
    await applyRetention(maintenance, archive, clock.now(), onRetired, signal)
  })
}
