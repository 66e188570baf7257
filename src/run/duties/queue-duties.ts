import { type Clock, systemRandom } from '../../clock.js'
import { type LostCrawl, watchQueue } from '../../coordinator/queue-watch.js'
import type { Log } from '../../log.js'
import type { DriftAlert } from '../../quality/drift.js'
import type { Spider } from '../../spider/spider.js'
import { warnUnlessAway } from '../../while-away.js'
import type { Backends } from '../../wire/backends.js'
import { type AlertsSetup, NO_CHANNELS } from '../alerts/load-alerts.js'
import { startWatchDuty } from '../alerts/watch-duty.js'
import type { PoolsAtHand } from '../pools-at-hand.js'
import { forfeitLocalDeaths } from '../workers/local-deaths.js'
import { driftChecks, unlessAway } from './drift-watch.js'
import { startFeedDuties } from './feed-duties.js'
import { startProxyDuties } from './proxy-duties.js'
import { maintainTables } from './table-maintenance.js'

const CHECK_MS = 5_000

export interface Duties {
  /** Checks for lost crawls now rather than in a few seconds. */
  checkForLoss(): Promise<LostCrawl[]>
  /** The fields that are no longer filled; none while the store is down. */
  drift(): Promise<DriftAlert[]>
  stop(): Promise<void>
}

/**
 * What a process does alongside its workers: adds what is fed, notices when the queue has lost its data and when a worker of this machine dies, watches
 * the crawls of the fleet when it is its turn, and maintains the tables of a store on a server.
 */
export function startQueueDuties(
  backends: Backends,
  spiders: readonly Spider[],
  parts: {
    readonly pools: PoolsAtHand
    readonly clock: Clock
    readonly log: Log
    readonly drain: AbortSignal
    readonly alerts?: AlertsSetup
  },
  onLost: (lost: LostCrawl) => void,
): Duties {
  const { clock, log } = parts
  const over = new AbortController()
  const signal = AbortSignal.any([parts.drain, over.signal])
  const watch = watchQueue(backends)

  const checkForLoss = async () => {
    const lost = await watch.look()
    for (const one of lost) {
      log.error('crawl.lost', { ...one })
      onLost(one)
    }
    return lost
  }
  const keepChecking = async () => {
    while (!signal.aborted) {
      await checkForLoss().catch((error: unknown) => warnUnlessAway(log, error))
      await clock.sleep(CHECK_MS, signal)
    }
  }
  const drifts = driftChecks(backends.store, log)
  const { alerts = NO_CHANNELS } = parts
  const tasks = [
    keepChecking(),
    forfeitLocalDeaths(backends.frontier, { clock, log, signal }),
    startWatchDuty(backends, { alerts, clock, random: systemRandom, log, signal, drifts }),
    maintainTables(backends, clock, log, signal),
    startProxyDuties(backends, spiders, parts.pools, { clock, log, signal }),
    ...spiders.map((spider) => startFeedDuties(backends, spider, { clock, log, signal })),
  ]
  return {
    checkForLoss,
    drift: () =>
      unlessAway(async () => (await Promise.all(spiders.map(({ name }) => drifts(name, { atEnd: true })))).flat()),
    async stop() {
      over.abort()
      await Promise.all(tasks)
    },
  }
}
