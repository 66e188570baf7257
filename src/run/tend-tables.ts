import type { Clock } from '../clock.js'
import { asShoalError, isAway } from '../errors.js'
import type { Log } from '../log.js'
import { applyRetention } from '../store/export/apply-retention.js'
import { openArchive, type Plant } from '../wire.js'

const EVERY_MS = 3_600_000

/** Every hour one of the processes that work on a store makes the partitions to come and retires those the rule lets go. */
export async function tendTables(plant: Plant, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(EVERY_MS, signal)
    if (signal.aborted) return
    await tendOnce(plant, clock, log).catch((error: unknown) => {
      if (!isAway(error)) log.warn('retention.failed', { message: asShoalError(error).message })
    })
  }
}

async function tendOnce(plant: Plant, clock: Clock, log: Log): Promise<void> {
  const upkeep = await plant.upkeep()
  if (upkeep === null) return
  try {
    const { archive: address } = await upkeep.retention()
    const archive = address === null ? null : await openArchive(address, clock)
    try {
      await applyRetention(upkeep, archive, clock.now(), (retired) => log.info('retention.retired', { ...retired }))
    } finally {
      await archive?.close()
    }
  } finally {
    await upkeep.close()
  }
}
