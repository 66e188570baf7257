import type { Clock, Random } from '../clock.js'
import { createHttpFetcher } from '../fetch/http/http-fetcher.js'
import type { WorkerId } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import { createRobotsCache } from '../politeness/robots-cache.js'
import type { Spider } from '../spider/spider.js'
import { createAdmitter } from '../url/admit.js'
import type { Plant } from '../wire.js'
import { KnownLinks } from '../worker/known-links.js'
import { CrawlWorker } from '../worker/worker.js'

/** A worker as whoever started it sees it, wherever it runs. */
export interface RunningWorker {
  /** Finishes what is in hand within `graceMs`, hands back the rest. */
  stop(graceMs: number): Promise<void>
  /** Resolves when it has stopped; rejects when our own plant cannot be used. */
  readonly ended: Promise<void>
}

/** Beyond every deadline of a visit: who holds a lease longer than this is not coming back. */
const HOLD_SLACK_MS = 60_000

/** A worker on this very event loop. */
export function startWorker(parts: {
  id: WorkerId
  plant: Plant
  spider: Spider
  concurrency: number
  clock: Clock
  random: Random
  log: Log
}): RunningWorker {
  const { id, plant, spider, concurrency, clock, random, log } = parts
  const fetcher = createHttpFetcher({ clock, userAgent: spider.userAgent })
  const shared = {
    worker: id,
    spider,
    admitter: createAdmitter(spider.admit),
    frontier: plant.frontier,
    pages: spider.savePages ? plant.pages : null,
    fetcher,
    robots: createRobotsCache({ clock, productToken: productToken(spider.userAgent) }),
    known: new KnownLinks(),
    clock,
    random,
    log,
  }
  const worker = new CrawlWorker({
    id,
    concurrency,
    frontier: plant.frontier,
    store: plant.store,
    clock,
    log,
    spiders: [spider.name],
    partsFor: (outbox) => ({ ...shared, outbox }),
  })
  const stopKeeping = keepLeases(plant, worker, spider, id, clock)
  const ended = worker.run().finally(async () => {
    stopKeeping()
    await fetcher.close()
  })
  return { stop: (graceMs) => worker.stop(graceMs), ended }
}

/** Renewed off the event loop where the plant can do that; in memory there is no other place than this one. */
function keepLeases(plant: Plant, worker: CrawlWorker, spider: Spider, id: WorkerId, clock: Clock): () => void {
  const { heartbeatMs } = spider
  if (plant.keep !== null) {
    plant.keep({ worker: id, heartbeatMs, holdMs: holdMs(spider), onLost: (tokens) => worker.lost(tokens) })
    return () => {}
  }
  let cancel = () => {}
  const beat = () => {
    void plant.frontier.extend(id, worker.tokens).then((lost) => worker.lost(lost))
    void plant.frontier.reap(100)
    cancel = clock.after(heartbeatMs, beat)
  }
  cancel = clock.after(heartbeatMs, beat)
  return () => cancel()
}

function holdMs(spider: Spider): number {
  const handlers = [...spider.routes.values()].map((route) => route.handlerTimeoutMs)
  return spider.fetch.totalMs * (spider.fetch.maxRedirects + 1) + Math.max(0, ...handlers) + HOLD_SLACK_MS
}

/** robots.txt names robots by the first word of their user agent. */
export function productToken(userAgent: string): string {
  return /^[A-Za-z_-]+/.exec(userAgent)?.[0] ?? 'Shoal'
}
