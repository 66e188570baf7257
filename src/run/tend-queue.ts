import type { Clock } from '../clock.js'
import { feedSpider } from '../coordinator/feeding.js'
import { type LostCrawl, watchQueue } from '../coordinator/queue-watch.js'
import { asShoalError, isAway } from '../errors.js'
import { DEFAULT_FEED } from '../feed/feed.js'
import type { Log } from '../log.js'
import type { Spider } from '../spider/spider.js'
import type { Plant } from '../wire.js'

const LOOK_MS = 5_000

export interface Tending {
  /** Looks after lost crawls now rather than in a few seconds. */
  look(): Promise<LostCrawl[]>
  stop(): Promise<void>
}

/** What a process does for the queue beside its workers: takes in what is fed, and notices when the queue has lost its data. */
export function tendQueue(
  plant: Plant,
  spiders: readonly Spider[],
  parts: { readonly clock: Clock; readonly log: Log; readonly drain: AbortSignal },
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
  const tasks = [
    keepLooking(),
    ...spiders.map((spider) => {
      const feed = plant.feed(spider.name, spider.feed ?? DEFAULT_FEED)
      return feedSpider({ plant, spider, feed, clock, log }, signal)
    }),
  ]
  return {
    look,
    async stop() {
      over.abort()
      await Promise.all(tasks)
    },
  }
}
