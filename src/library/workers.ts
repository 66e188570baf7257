import { gracePeriod, warnOf, withClosers } from '../closers.js'
import { type LostCrawl, lostError } from '../coordinator/queue-watch.js'
import type { CrawlStats } from '../frontier/frontier.js'
import { finishOutlets, startOutletDuties } from '../run/duties/outlet-duties.js'
import { startQueueDuties } from '../run/duties/queue-duties.js'
import { readyForPages } from '../run/open-for-work.js'
import { poolsAtHand } from '../run/pools-at-hand.js'
import { watchForDrain } from '../run/workers/drain-watch.js'
import { forfeitDeadWorkers } from '../run/workers/forfeit.js'
import { postVitals } from '../run/workers/post-vitals.js'
import { startWorker } from '../run/workers/start-worker.js'
import { workerIds } from '../run/workers/worker-ids.js'
import { backendsFromPorts } from '../wire/backends.js'
import type { CrawlParts, Feeding } from './crawl-parts.js'

const CHECK_EVERY_MS = 200

/** One sequence of names for the whole process: two connections to one queue must not give two workers the same name. */
const newId = workerIds()

/** See `Crawl.runWorkers`. */
export async function runUntil(
  { id, spider, backends, settings, clock, random, log, closing }: CrawlParts,
  feeding: Feeding,
  concurrency: number,
  until: 'finished' | 'stopped',
  signal: AbortSignal | undefined,
): Promise<CrawlStats> {
  const { frontier } = backends
  const { queue, browser, browserPages, graceMs, lostAfterMs } = settings
  const stop = signal === undefined ? closing : AbortSignal.any([signal, closing])
  const spiders = [spider]
  await readyForPages(spiders, backends, browser)
  await forfeitDeadWorkers(frontier, clock)
  const grace = gracePeriod(clock, graceMs)

  return withClosers(warnOf(log), async (closers) => {
    const ports = backends.connect()
    // Its own connection to the database: each one is notified of the lost leases of one worker only.
    const own = ports === null ? backends : await backendsFromPorts(ports)
    if (own !== backends) closers.add(() => own.close())
    const outlets = await startOutletDuties(spider.outlets, { store: backends.store, queue, clock, random, log })
    closers.add(() => finishOutlets(outlets, grace.leftMs(), log))
    const pools = poolsAtHand(settings, spiders)
    const worker = newId()
    const notes = postVitals(backends.notes, clock)
    closers.add(() => notes.clear(worker))
    const { ended, stop: stopWorker } = startWorker({
      ...{ id: worker, backends: own, spiders, pools, browser, browserPages, concurrency, clock, random, log },
      ...{ lostAfterMs, onVitals: notes.post },
    })
    const drained = new AbortController()
    const unwatch = watchForDrain(worker, { notes: backends.notes, clock, log }, () => drained.abort())
    const failed = new AbortController()
    ended.catch(() => failed.abort())
    const wake = AbortSignal.any([stop, drained.signal, failed.signal, feeding.failed.signal])
    let lost: LostCrawl | null = null
    const duties = startQueueDuties(backends, spiders, { pools, clock, log, drain: stop }, (one) => {
      if (one.crawl !== id) return
      lost = one
      failed.abort()
    })
    closers.add(
      () => stopWorker(graceMs),
      () => duties.stop(),
    )
    if (until === 'stopped') feeding.workers++
    closers.add(grace.start, unwatch, () => {
      if (until === 'stopped') feeding.workers--
    })

    const isOver = async () => {
      const { state } = await frontier.stats(id)
      return (
        state === 'cancelled' || (state === 'finished' && !feeding.seeding && (until === 'finished' || feeding.sealed))
      )
    }
    while (!wake.aborted && !(await isOver())) await clock.sleep(CHECK_EVERY_MS, wake)
    await stopWorker(graceMs)
    await ended
    if (lost !== null) throw lostError(lost)
    feeding.failed.signal.throwIfAborted()
    await frontier.forfeit(worker)
    return await frontier.stats(id)
  })
}
