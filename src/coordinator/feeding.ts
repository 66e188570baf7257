import type { Clock } from '../clock.js'
import { asShoalError, isAway } from '../errors.js'
import type { Feed, RefusedPart } from '../feed/feed.js'
import type { CrawlInfo, Frontier } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import { argsOf, spiderForCrawl } from '../spider/arguments.js'
import type { Spider } from '../spider/spider.js'
import { showUrl } from '../url/show-url.js'
import { roomFor, untilLowMark } from './backpressure.js'
import { openAs, specFor } from './crawls.js'
import { type AcceptedUrl, entryReader } from './entries.js'
import { noteReporter } from './entry-notes.js'
import type { WatchedBackends } from './queue-watch.js'

/** How often the feed is checked: a pushed URL is fetched in under two seconds, including the second of an idle worker. */
const CHECK_MS = 300
/** After a failure of the feed itself. */
const FAILED_MS = 5_000
const TAKE_AT_ONCE = 100
/** An entry may have many URLs. */
const ADD_AT_ONCE = 1_000
const REPORT_REFUSED_MS = 10_000

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
  let failure: string | null = null
  while (!signal.aborted) {
    let napMs = CHECK_MS
    try {
      const taken = await take()
      if (taken === TAKE_AT_ONCE) napMs = 0
      else if (taken === 0) await endIfIdle()
      failure = null
    } catch (thrown) {
      const error = asShoalError(thrown)
      if (!isAway(error)) {
        const { message, hint } = error
        if (message !== failure) log.warn('feed.failed', { spider: spider.name, message, next: hint })
        failure = message
        napMs = FAILED_MS
      }
    }
    if (napMs > 0) await clock.sleep(napMs, signal)
  }
}

/** Takes one batch; answers how many entries it had. */
function feedTaker({ backends, spider, feed, clock, log }: FeedingParts, signal: AbortSignal): () => Promise<number> {
  const { frontier } = backends
  const readers = new Map<string, ReturnType<typeof entryReader>>()
  const reportNotes = noteReporter((note, keys) => log.warn('feed.noted', { spider: spider.name, keys, note }))
  const refusals = refusalReports(spider.name, clock, log)
  let pending = 0

  /** What a budget rejects is kept with its entry. False: the signal was aborted before all were added. */
  const addAll = async (crawl: string, wanted: readonly WantedLink[]): Promise<boolean> => {
    for (let next = 0; next < wanted.length; ) {
      if (signal.aborted) return false
      const room = roomFor(pending, spider.maxPending)
      if (room === 0) {
        pending = await untilLowMark(frontier, crawl, spider.maxPending, clock, signal)
        continue
      }
      const batch = wanted.slice(next, next + Math.min(ADD_AT_ONCE, room))
      next += batch.length
      const result = await frontier.add(
        crawl,
        batch.map(({ accepted }) => accepted.link),
      )
      pending = result.pending
      // The queue does not say which ones, so they are added one by one. Those already added are known by now.
      if (result.refused > 0) for (const one of batch) if (!(await addOne(crawl, one))) return false
    }
    return true
  }

  const addOne = async (crawl: string, { accepted: { link, text }, refused }: WantedLink): Promise<boolean> => {
    let one = await frontier.add(crawl, [link])
    while (one.refused > 0 && one.pending >= spider.maxPending) {
      if (signal.aborted) return false
      pending = await untilLowMark(frontier, crawl, spider.maxPending, clock, signal)
      one = await frontier.add(crawl, [link])
    }
    if (one.refused > 0) refused.push({ text: text(), reason: 'A budget of the crawl or of the host is used up' })
    return true
  }

  /** Scope and routes may depend on the arguments of the crawl that the entries go to: its newest, so that one reader is kept. */
  const readerFor = (crawl: CrawlInfo | null): ReturnType<typeof entryReader> => {
    const key = JSON.stringify(crawl?.args ?? argsOf(spider))
    const known = readers.get(key)
    if (known !== undefined) return known
    const reader = entryReader(crawl === null ? spider : spiderForCrawl(spider, crawl.args))
    readers.clear()
    readers.set(key, reader)
    return reader
  }

  return async () => {
    refusals.flush()
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
    const read = readerFor(crawl)
    const taken = entries.map((entry) => {
      const { links, refused, notes } = read(entry.text, entry.bytes)
      return { entry, links, refused: [...refused], notes }
    })
    reportNotes(taken.flatMap(({ notes }) => notes))
    const wanted = taken.flatMap(({ links, refused }) => links.map((accepted) => ({ accepted, refused })))
    const target = wanted.length === 0 ? '' : (crawl?.id ?? (await openFed(backends, spider, clock)))
    // What a process that stops did not add is taken over by another one.
    if (!(await addAll(target, wanted))) return 0
    const bad = taken.filter(({ refused }) => refused.length > 0)
    await feed.refuse(bad.map(({ entry, refused }) => ({ entry, parts: refused })))
    await feed.done(taken.filter(({ refused }) => refused.length === 0).map(({ entry }) => entry))
    refusals.report(bad.flatMap(({ refused }) => refused))
    return entries.length
  }
}

interface WantedLink {
  readonly accepted: AcceptedUrl
  /** Of its entry. */
  readonly refused: RefusedPart[]
}

/** Somebody who pushes garbage pushes a lot of it: one line for all of it, at most every ten seconds. */
function refusalReports(spider: string, clock: Clock, log: Log) {
  let waiting: { count: number; first: RefusedPart } | null = null
  let reportedAt = Number.NEGATIVE_INFINITY

  const flush = () => {
    if (waiting === null || clock.mono() - reportedAt < REPORT_REFUSED_MS) return
    const { count, first } = waiting
    log.warn('feed.refused', { spider, entries: count, entry: showUrl(first.text), reason: first.reason })
    reportedAt = clock.mono()
    waiting = null
  }
  return {
    flush,
    report(parts: readonly RefusedPart[]) {
      const [first] = parts
      if (first === undefined) return
      waiting = { count: (waiting?.count ?? 0) + parts.length, first: waiting?.first ?? first }
      flush()
    },
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
