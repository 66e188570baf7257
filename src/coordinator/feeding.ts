import type { Clock } from '../clock.js'
import { asShoalError, isAway } from '../errors.js'
import type { Feed, FeedEntry, FeedRefusal } from '../feed/feed.js'
import type { CrawlInfo, Frontier } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { Spider } from '../spider/spider.js'
import type { Link } from '../url/link.js'
import { roomFor, untilLowMark } from './backpressure.js'
import { openAs, specFor } from './crawls.js'
import { entryReader } from './entries.js'
import type { WatchedBackends } from './queue-watch.js'

/** How often the feed is checked: a pushed URL is fetched in under two seconds, including the second of an idle worker. */
const CHECK_MS = 300
/** After a failure of the feed itself. */
const FAILED_MS = 5_000
const TAKE_AT_ONCE = 100

export interface FeedingParts {
  readonly backends: WatchedBackends
  readonly spider: Spider
  /** Null: the queue has no feeds; `shoal feed` and the library add URLs straight to the queue. */
  readonly feed: Feed | null
  readonly clock: Clock
  readonly log: Log
}

/**
 * Adds what other programs push for the spider to its newest crawl until the signal aborts, and finishes a fed crawl that has been idle for long enough. Any
 * number of processes may do this for the same spider.
 */
export async function feedSpider(parts: FeedingParts, signal: AbortSignal): Promise<void> {
  const { spider, clock, log } = parts
  if (parts.feed === null && (spider.feed?.idleMs ?? null) === null) return
  const take = feedTaker(parts, signal)
  const endIfIdle = idleWatch(parts)
  let failing = false
  while (!signal.aborted) {
    let napMs = CHECK_MS
    try {
      const taken = await take()
      if (taken === TAKE_AT_ONCE) napMs = 0
      else if (taken === 0) await endIfIdle()
      failing = false
    } catch (thrown) {
      const error = asShoalError(thrown)
      if (!failing && !isAway(error)) log.warn('feed.failed', { spider: spider.name, message: error.message })
      failing = true
      if (!isAway(error)) napMs = FAILED_MS
    }
    if (napMs > 0) await clock.sleep(napMs, signal)
  }
}

/** Takes one batch; answers how many entries it had. */
function feedTaker({ backends, spider, feed, clock, log }: FeedingParts, signal: AbortSignal): () => Promise<number> {
  const { frontier } = backends
  const read = entryReader(spider)
  let pending = 0

  const addAll = async (crawl: string, wanted: readonly { entry: FeedEntry; link: Link }[]): Promise<FeedRefusal[]> => {
    if (wanted.length === 0) return []
    const result = await frontier.add(
      crawl,
      wanted.map(({ link }) => link),
    )
    pending = result.pending
    if (result.refused === 0) return []
    // The queue does not say which ones, so they are added one by one. Those already added are known by now.
    const refusals: FeedRefusal[] = []
    for (const { entry, link } of wanted) {
      let one = await frontier.add(crawl, [link])
      while (one.refused > 0 && one.pending >= spider.maxPending && !signal.aborted) {
        pending = await untilLowMark(frontier, crawl, spider.maxPending, clock, signal)
        one = await frontier.add(crawl, [link])
      }
      if (one.refused > 0) refusals.push({ entry, reason: 'A budget of the crawl or of the host is used up' })
    }
    return refusals
  }

  return async () => {
    // Most checks find nothing, and cost no more than this call.
    if (feed === null || (await feed.empty())) return 0
    const crawl = await newestCrawl(frontier, spider)
    if (crawl?.state === 'cancelled') return 0
    let room = roomFor(pending, spider.maxPending)
    if (room === 0 && crawl !== null) {
      pending = await untilLowMark(frontier, crawl.id, spider.maxPending, clock, signal)
      room = roomFor(pending, spider.maxPending)
    }
    if (room === 0 || signal.aborted) return 0
    const entries = await feed.take(Math.min(TAKE_AT_ONCE, room))
    if (entries.length === 0) return 0
    const wanted: { entry: FeedEntry; link: Link }[] = []
    const refusals: FeedRefusal[] = []
    for (const entry of entries) {
      const result = read(entry.text)
      if (result.ok) wanted.push({ entry, link: result.link })
      else refusals.push({ entry, reason: result.reason })
    }
    if (wanted.length > 0)
      refusals.push(...(await addAll(crawl?.id ?? (await openFed(backends, spider, clock)), wanted)))
    for (const { entry, reason } of refusals) {
      log.warn('feed.refused', { spider: spider.name, entry: entry.text.slice(0, 200), reason })
    }
    const refused = new Set(refusals.map(({ entry }) => entry))
    await feed.refuse(refusals)
    await feed.done(entries.filter((entry) => !refused.has(entry)))
    return entries.length
  }
}

/** Seals the crawl when queue and feed have been empty, and nothing has changed, for the spider's idle time. */
function idleWatch({ backends, spider, feed, clock }: FeedingParts): () => Promise<void> {
  const idleMs = spider.feed?.idleMs ?? null
  let since = clock.mono()
  let before = ''
  return async () => {
    if (idleMs === null) return
    const crawl = await newestCrawl(backends.frontier, spider)
    if (crawl === null || crawl.state !== 'running' || !crawl.seeding) {
      since = clock.mono()
      return
    }
    const { total, queued, delayed, leased, done } = await backends.frontier.stats(crawl.id)
    const now = `${crawl.id} ${total} ${done}`
    const idle = queued + delayed + leased === 0 && now === before && (feed === null || (await feed.empty()))
    before = now
    if (!idle) since = clock.mono()
    else if (clock.mono() - since >= idleMs) await backends.frontier.seeded(crawl.id)
  }
}

/** The crawl that entries go to. A cancelled one accepts none: they wait for the next crawl. */
async function newestCrawl(frontier: Frontier, spider: Spider): Promise<CrawlInfo | null> {
  const crawls = (await frontier.crawls()).filter((crawl) => crawl.spider === spider.name)
  return crawls.reduce<CrawlInfo | null>(
    (newest, crawl) => (newest === null || crawl.createdAt >= newest.createdAt ? crawl : newest),
    null,
  )
}

/** For workers that are fed before anyone has started a crawl. The name is fixed, so that several processes open the same crawl. */
async function openFed(backends: WatchedBackends, spider: Spider, clock: Clock): Promise<string> {
  const gen = await backends.store.generations.of(await backends.frontier.identity())
  return (await openAs(backends, specFor(spider, `${spider.name}-feed`, gen), clock.now())).id
}
