import { type Clock, systemRandom } from '../../clock.js'
import { feedSpider } from '../../coordinator/feeding.js'
import { type LostCrawl, watchQueue } from '../../coordinator/queue-watch.js'
import { asShoalError, isAway } from '../../errors.js'
import { DEFAULT_FEED } from '../../feed/feed.js'
import type { Log } from '../../log.js'
import type { Alert } from '../../quality/drift-alert.js'
import type { Spider } from '../../spider/spider.js'
import type { Plant } from '../../wire/backends.js'
import { driftLooks, unlessAway } from './drift-watch.js'
import { type AlertsSetup, NO_CHANNELS } from '../alerts/load-alerts.js'
import type { PoolsAtHand } from '../pools-at-hand.js'
import { tendExits } from './proxy-duties.js'
import { tendTables } from './table-maintenance.js'
import { tendWatch } from '../alerts/watch-duty.js'

const LOOK_MS = 5_000

export interface Tending {
  /** Looks after lost crawls now rather than in a few seconds. */
  look(): Promise<LostCrawl[]>
  /** Looks after fields that are no longer filled, and answers all that are not; nothing while the store is away. */
  drift(): Promise<Alert[]>
  stop(): Promise<void>
}

/**
 * What a process does beside its workers: takes in what is fed, notices when the queue has lost its data, watches over the crawls of the fleet when it is its
 * turn, and looks after the tables of a store on a server.
 */
export function tendQueue(
  plant: Plant,
  spiders: readonly Spider[],
  parts: {
    readonly pools: PoolsAtHand
    readonly clock: Clock
    readonly log: Log
    readonly drain: AbortSignal
    readonly alerts?: AlertsSetup
  },
  onLost: (lost: LostCrawl) => void,
): Tending {
  const { clock, log } = parts
  const over = new AbortController()
  const signal = AbortSignal.any([parts.drain, over.signal])
  const watch = watchQueue(plant)

  const look = async () => {
    const lost = await watch.look()
    for (const one of lost) {
      log.error('crawl.lost', { ...one })
      onLost(one)
    }
    return lost
  }
  const keepLooking = async () => {
    while (!signal.aborted) {
      await look().catch((error: unknown) => {
        if (!isAway(error)) log.warn('plant.waiting', { message: asShoalError(error).message })
      })
      await clock.sleep(LOOK_MS, signal)
    }
  }
  const drifts = driftLooks(plant.store, log)
  const { alerts = NO_CHANNELS } = parts
  const tasks = [
    keepLooking(),
    tendWatch(plant, { alerts, clock, random: systemRandom, log, signal, drifts }),
    tendTables(plant, clock, log, signal),
    tendExits(plant, spiders, parts.pools, { clock, log, signal }),
    ...spiders.map((spider) => {
      const feed = plant.feed(spider.name, spider.feed ?? DEFAULT_FEED)
      return feedSpider({ plant, spider, feed, clock, log }, signal)
    }),
  ]
  return {
    look,
    drift: () => unlessAway(async () => (await Promise.all(spiders.map(({ name }) => drifts(name)))).flat()),
    async stop() {
      over.abort()
      await Promise.all(tasks)
    },
  }
}
