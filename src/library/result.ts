import { ShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo } from '../frontier/frontier.js'
import type { RecordStore, StoredRecord } from '../store/record-store.js'
import type { Admitter } from '../url/admit.js'
import type { Fingerprint } from '../url/link.js'
import { showUrl } from '../url/show-url.js'
import type { CrawlParts } from './crawl-parts.js'

/** The first checks come quickly, for a page that is visited at once; a thousand long waits together must not keep the queue busy. */
const FIRST_CHECK_MS = 20
const SLOWEST_CHECK_MS = 1_000

/** See `Crawl.result`. */
export async function waitForResult(
  { id, spider, backends, clock, closing }: CrawlParts,
  admitter: Admitter,
  url: string,
  timeoutMs: number | null,
): Promise<StoredRecord[]> {
  const { frontier, store } = backends
  // Any route will do: a link is the same link whichever route it was added to.
  const [route = ''] = spider.routes.keys()
  const admission = admitter.resolve(url, '', { route })
  if (!admission.ok) throw new ShoalError(admission.refusal.code, admission.refusal.message)
  const { target } = admission
  const shown = showUrl(url)
  const deadline = timeoutMs === null ? Number.POSITIVE_INFINITY : clock.mono() + timeoutMs

  for (let napMs = FIRST_CHECK_MS; ; napMs = Math.min(napMs * 1.5, SLOWEST_CHECK_MS)) {
    const where = await frontier.explain(id, target.fp)
    if (where.state === 'unknown') throw new ShoalError('not_found', `${shown} was never added to crawl ${id}`)
    if (where.state === 'done' && (where.link !== null || (await wasFetched(store, id, target.fp, where.crawlState))))
      return collected(store.records.scan({ spider: spider.name, url: (where.link ?? target).url }))
    if (where.state === 'dead' || where.state === 'skipped') {
      const failure = where.link.failures.at(-1)
      throw failure === undefined
        ? new ShoalError('not_found', `${shown} failed`)
        : new ShoalError(failure.code, `${shown}: ${failure.message}`)
    }
    if (where.crawlState === 'finished' || where.crawlState === 'cancelled') {
      throw new ShoalError('crawl_ended', `the crawl was ${where.crawlState} before ${shown} was visited`)
    }
    const leftMs = deadline - clock.mono()
    const state = where.link === null ? 'on its way' : where.state
    if (leftMs <= 0) throw new ShoalError('wait_timeout', `${shown} is still ${state} after ${timeoutMs} ms`)
    await clock.sleep(Math.min(napMs, leftMs), closing)
    if (closing.aborted) throw new ShoalError('closed', `the connection was closed while waiting for ${shown}`)
  }
}

/**
 * A queue that only counts finished links reports `done` for a link that it finds nowhere, which also happens to one that is just moving from one state to
 * another. The store knows for sure: pages are written before they are done.
 */
async function wasFetched(
  store: RecordStore,
  crawl: CrawlId,
  fp: Fingerprint,
  state: CrawlInfo['state'],
): Promise<boolean> {
  const [newest] = await store.fetches.of({ fp, crawl, limit: 1 })
  return newest?.error === null || state === 'finished' || state === 'cancelled'
}

async function collected<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}
