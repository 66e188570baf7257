import { type LostCrawl, lostError } from '../coordinator/queue-watch.js'
import type { CrawlStats } from '../frontier/frontier.js'
import { BROWSER_PAGES } from '../run/browser-order.js'
import { finishOutlets, startOutletDuties } from '../run/duties/outlet-duties.js'
import { startQueueDuties } from '../run/duties/queue-duties.js'
import { readyForPages } from '../run/open-for-work.js'
import { poolsAtHand } from '../run/pools-at-hand.js'
import { forfeitDeadWorkers } from '../run/workers/dead-workers.js'
import { watchForDrain } from '../run/workers/drain-watch.js'
import { postVitals } from '../run/workers/post-vitals.js'
import { startWorker } from '../run/workers/start-worker.js'
import { workerIds } from '../run/workers/worker-ids.js'
import { backendsFromPorts } from '../wire/backends.js'
import type { CrawlParts, Feeding } from './crawl-parts.js'

const LOOK_EVERY_MS = 200

/** One row of names for the whole process: two connections to one queue must not give two workers the same name. */
const newId = workerIds()

/** See `Crawl.runWorkers`. */
export async function runUntil(
  { id, spider, backends, queue, proxies, browser, clock, random, log, graceMs, closing }: CrawlParts,
  feeding: Feeding,
  concurrency: number,
  until: 'finished' | 'stopped',
  signal: AbortSignal | undefined,
): Promise<CrawlStats> {
  const { frontier } = backends
  const stop = signal === undefined ? closing : AbortSignal.any([signal, closing])
  await readyForPages([spider], backends, browser)
  await forfeitDeadWorkers(frontier, clock)
  const ports = backends.connect()
  // A line of its own to the database: each line hears of the lost leases of one worker.
  const own = ports === null ? backends : await backendsFromPorts(ports)
  const closeOwn = async () => {
    if (own !== backends) await own.close()
  }
  const feeds = { store: backends.store, queue, clock, random, log }
  const outlets = await startOutletDuties(spider.outlets, feeds).catch(async (error: unknown) => {
    await closeOwn()
    throw error
  })
  const pools = poolsAtHand(proxies, [spider])
  const worker = newId()
  const spiders = [spider]
  const notes = postVitals(backends.notes, clock)
  const { ended, stop: stopWorker } = startWorker({
    ...{ browser: browser.browser ?? null, browserPages: browser.browserPages ?? BROWSER_PAGES },
    ...{ id: worker, backends: own, spiders, pools, concurrency, clock, random, log },
    onVitals: notes.post,
  })
  const asked = new AbortController()
  const unwatch = watchForDrain(worker, { notes: backends.notes, clock, log }, () => asked.abort())
  const failed = new AbortController()
  ended.catch(() => failed.abort())
  const nap = AbortSignal.any([stop, asked.signal, failed.signal, feeding.failed.signal])
  let lost: LostCrawl | null = null
  const duties = startQueueDuties(backends, spiders, { pools, clock, log, drain: stop }, (one) => {
    if (one.crawl !== id) return
    lost = one
    failed.abort()
  })

  const isOver = async () => {
    const { state } = await frontier.stats(id)
    return (
      state === 'cancelled' || (state === 'finished' && !feeding.seeding && (until === 'finished' || feeding.sealed))
    )
  }
  if (until === 'stopped') feeding.workers++
  try {
    while (!nap.aborted && !(await isOver())) await clock.sleep(LOOK_EVERY_MS, nap)
    await stopWorker(graceMs)
    await ended
    if (lost !== null) throw lostError(lost)
    feeding.failed.signal.throwIfAborted()
    await frontier.forfeit(worker)
    return await frontier.stats(id)
  } finally {
    unwatch()
    if (until === 'stopped') feeding.workers--
    const endBy = clock.mono() + graceMs
    await Promise.all([stopWorker(graceMs), duties.stop()])
    await notes.clear(worker)
    await finishOutlets(outlets, endBy - clock.mono(), log)
    await closeOwn()
  }
}
