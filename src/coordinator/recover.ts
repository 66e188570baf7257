import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { CrawlId, RestoredLink } from '../frontier/frontier.js'
import type { Spider } from '../spider/spider.js'
import type { CrawlNote, KnownPage, RecordStore } from '../store/record-store.js'
import { createAdmitter } from '../url/admit.js'
import type { Link } from '../url/link.js'
import { openAs, specFor } from './crawls.js'
import { type WatchedBackends, watchQueue } from './queue-watch.js'
import type { SeedGroup, SeedSource } from './seed-source.js'
import { type Seeds, seedCrawl } from './seeding.js'

const RESTORED_AT_ONCE = 1_000
const NOTHING_USED = { attempts: 0, throttles: 0, reclaims: 0, failures: [] }

export interface Recovered {
  readonly crawl: CrawlId
  readonly spider: string
  readonly gen: number
  /** Fetched pages that are not fetched again; 0 with `refetch`. */
  readonly known: number
  /** Known pages that are queued now: those never fetched successfully, or all of them with `refetch`. */
  readonly queued: number
  /** Known pages that the spider no longer accepts. */
  readonly unwanted: number
  readonly seeds: Seeds
  /** Every start URL is in the queue. If not, those from sitemaps, feeds and databases, and those that did not fit, are added by the next run or start. */
  readonly seeded: boolean
}

export interface RecoverOptions {
  /** Visit every known page again, which also finds the links that were queued but never fetched. */
  readonly refetch: boolean
  readonly sources?: readonly SeedSource[]
  /** Not read here: fetching may take hours, and the process that runs the crawl has the proxies for it. */
  readonly groups?: readonly SeedGroup[]
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Known pages restored so far. */
  readonly onProgress?: (pages: number) => void
}

/** The crawl that the user means, among those in the store: by its id, or the newest lost one of a spider. */
export async function lostCrawl(backends: WatchedBackends, word: string): Promise<CrawlNote> {
  await watchQueue(backends).look()
  const notes = await backends.store.crawls.notes()
  const found =
    notes.find(({ crawl }) => crawl === word) ??
    notes.filter(({ spider, state }) => spider === word && state === 'lost').at(-1) ??
    notes.filter(({ spider }) => spider === word).at(-1)
  if (found === undefined) throw new ShoalError('not_found', `the store has no crawl '${word}'`)
  if (found.state === 'lost' || !(await isInQueue(backends, found.crawl))) return found
  throw new ShoalError('usage', `crawl ${found.crawl} of ${found.spider} is not lost`, {
    hint: `It is still in the queue: \`shoal status ${found.crawl}\`.`,
  })
}

async function isInQueue({ frontier }: WatchedBackends, crawl: CrawlId): Promise<boolean> {
  return (await frontier.crawls()).some(({ id }) => id === crawl)
}

/**
 * Opens a lost crawl again under its id, in the new generation of the queue: fetched pages are known, the others are queued, and the start URLs that are
 * available here are added and visited again. It can be repeated.
 */
export async function recoverCrawl(
  backends: WatchedBackends,
  spider: Spider,
  note: CrawlNote,
  options: RecoverOptions,
): Promise<Recovered> {
  const { frontier, store } = backends
  const { clock, signal, groups = [] } = options
  const gen = await store.generations.of(await frontier.identity())
  const spec = specFor(spider, note.crawl, gen)
  const { state } = await frontier.open(spec)
  if (state === 'finished' || state === 'cancelled') {
    // The state of the older queue; the crawl continued after that.
    await frontier.remove(note.crawl)
    await frontier.open(spec)
  }
  await frontier.setState(note.crawl, 'paused')
  const asLink = pageReader(spider)
  let pages = 0
  const onPages = (more: number) => {
    pages += more
    options.onProgress?.(pages)
  }
  const done = options.refetch
    ? { restored: 0, unwanted: 0 }
    : await restoreAll(
        backends,
        note.crawl,
        store.crawls.knownPages(note.crawl, true),
        (page) => ({ state: 'done', link: asLink(page) ?? bareLink(page) }),
        onPages,
      )
  const pending = (page: KnownPage): RestoredLink | null => {
    const link = asLink(page)
    return link === null ? null : { state: 'pending', link, ...NOTHING_USED }
  }
  const failed = await restoreAll(backends, note.crawl, store.crawls.knownPages(note.crawl, false), pending, onPages)
  const again = options.refetch
    ? await restoreAll(backends, note.crawl, store.crawls.knownPages(note.crawl, true), pending, onPages)
    : { restored: 0, unwanted: 0 }
  await frontier.setState(note.crawl, 'running')
  await openAs(backends, spec, note.openedAt)

  const stop = new AbortController()
  const seeding = seedCrawl(backends, spider, note.crawl, {
    clock,
    signal: AbortSignal.any([signal, stop.signal]),
    again: true,
    ...(options.sources === undefined ? {} : { sources: options.sources }),
    more: groups.length > 0,
  })
  const seeds = await seeding.first
  // The queue is full: the next run of the crawl adds the rest.
  const seeded = await Promise.race([
    seeding.all.then(() => !signal.aborted && groups.length === 0),
    clock.sleep(0).then(() => false),
  ])
  stop.abort()
  await seeding.all
  return {
    crawl: note.crawl,
    spider: spider.name,
    gen,
    known: done.restored,
    queued: failed.restored + again.restored,
    unwanted: failed.unwanted + again.unwanted,
    seeds,
    seeded,
  }
}

/** Enough of a link to be recognised as known. */
function bareLink({ fp, url, host, route, depth }: KnownPage): Link {
  return { fp, url, host, route, depth, priority: 0 }
}

async function restoreAll(
  { frontier }: WatchedBackends,
  crawl: CrawlId,
  pages: ReturnType<RecordStore['crawls']['knownPages']>,
  restored: (page: KnownPage) => RestoredLink | null,
  onPages: (pages: number) => void,
): Promise<{ restored: number; unwanted: number }> {
  const sum = { restored: 0, unwanted: 0 }
  let links: RestoredLink[] = []
  const flush = async () => {
    if (links.length > 0) sum.restored += await frontier.restore(crawl, links)
    onPages(links.length)
    links = []
  }
  for await (const page of pages) {
    const link = restored(page)
    if (link === null) sum.unwanted++
    else links.push(link)
    if (links.length >= RESTORED_AT_ONCE) await flush()
  }
  await flush()
  return sum
}

/** Filtered by the spider as it is now; fingerprint, route and depth are those of the original fetch. */
function pageReader(spider: Spider) {
  const admitter = createAdmitter(spider.admit)
  return ({ fp, url, route, depth, link }: KnownPage): Link | null => {
    const { request, data } = link ?? {}
    const options = {
      ...(spider.routes.has(route) && { route }),
      ...(request !== undefined && { request }),
      ...(data !== undefined && { data }),
    }
    const admission = admitter.resolve(link?.url ?? url, '', options)
    if (!admission.ok) return null
    const admitted = admitter.link(admission.target, depth, options)
    return 'code' in admitted ? null : { ...admitted, fp }
  }
}
