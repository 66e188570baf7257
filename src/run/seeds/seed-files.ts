import type { Clock, Random } from '../../clock.js'
import type { CacheSettings } from '../../config.js'
import { specFor } from '../../coordinator/crawls.js'
import { fileCrawl, fileCrawlsOf, fileWorker, removeFileCrawl } from '../../coordinator/file-crawl.js'
import { knownProxies } from '../../coordinator/proxies.js'
import type { FileFetcher } from '../../discovery/listings.js'
import type { ListingFile } from '../../discovery/read-listing.js'
import { createSpool, type Spool } from '../../discovery/spool.js'
import { ShoalError } from '../../errors.js'
import type { Fetcher, FetchRequest } from '../../fetch/fetcher.js'
import type { CrawlId, CrawlState, Frontier } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import type { Page } from '../../spider/page.js'
import { DIRECT, type Harvest, type ProxyNeed, type Spider, type SpiderSession } from '../../spider/spider.js'
import { createAdmitter } from '../../url/admit.js'
import type { Link } from '../../url/link.js'
import type { Backends } from '../../wire/backends.js'
import { countAtHand, type PoolsAtHand } from '../pools-at-hand.js'
import { isGone, workerIds } from '../workers/worker-ids.js'

/** Compressed size. The sitemap protocol allows 50 MB uncompressed. */
const MAX_FILE_BYTES = 128 * 1024 * 1024
const FILE_MS = 600_000
const LOOK_MS = 200
/** If a file is done but has not arrived after this many checks, it is requested again. */
const PATIENT_LOOKS = 50
/** A process that was silent for this long does not come back for its files. */
const SILENT_MS = 600_000
/** The links of one file: itself, and redirects that became links of their own. */
const LINKS_LOOKED_AT = 100
const STOP_MS = 2_000
const NOTHING: Harvest = { records: [], rejected: [], links: [] }
const ROUTE = 'file'

type SessionLogin = NonNullable<SpiderSession['login']>

export interface SeedFileParts {
  readonly backends: Backends
  readonly spider: Spider
  readonly crawl: CrawlId
  readonly pools: PoolsAtHand
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly signal: AbortSignal
  /** Null or left out: the files are always requested. */
  readonly cache?: CacheSettings | null
}

/**
 * Files are fetched by a worker like pages, in a separate crawl alongside the one they are for. That gives them a lease, and with it everything that
 * applies to pages across the fleet: the pace of the host, robots.txt, the guard, proxies and retries. Links of the main crawl would not work: the worker
 * that holds such a page would wait for space in the queue that it is supposed to empty.
 */
export async function openSeedFiles(parts: SeedFileParts): Promise<FileFetcher> {
  const { backends, crawl, clock, signal } = parts
  const { frontier, store } = backends
  let wanted: { readonly url: string; take(file: ListingFile): void } | null = null
  let spool: Spool | null = null

  const harvest = (page: Page): Harvest => {
    const file = (page.data as { file?: unknown } | undefined)?.file
    if (wanted === null || wanted.url !== file) return NOTHING
    const own = spool ?? createSpool()
    if (spool === null) own.write(page.body)
    const contentEncoding = spool === null ? '' : (page.headers['content-encoding'] ?? '')
    spool = null
    wanted.take({ url: page.url, contentEncoding, spool: own })
    wanted = null
    return NOTHING
  }

  const worker = workerIds(parts.random)()
  const { id, spider: name } = fileCrawl(crawl, parts.spider.name, worker)
  const login = { underWay: 0 }
  const spider = fileSpider(parts.spider, name, harvest, login, parts.pools)
  const admitter = createAdmitter(spider.admit)
  const inScope = hostsOf(parts.spider)
  await removeStale(backends, crawl, clock)
  const gen = await store.generations.of(await frontier.identity())
  await frontier.open(specFor(spider, id, gen, await knownProxies(backends.notes, spider)))
  // Loaded only now: a process that reads its start URLs from local files does without the fetcher.
  const { startWorker } = await import('../workers/start-worker.js')
  const spooling = (fetcher: Fetcher): Fetcher => ({
    fetch(request, stop) {
      if (isRobots(request.url) || login.underWay > 0)
        return fetcher.fetch({ ...request, limits: parts.spider.fetch }, stop)
      const sent = inScope(request.url) ? request : { ...request, headers: withoutOwn(request.headers, spider) }
      // A file that is to be kept must be there as a whole.
      if (parts.cache) return fetcher.fetch(sent, stop)
      spool?.close()
      const mine = createSpool()
      spool = mine
      return fetcher.fetch({ ...sent, onBody: (piece) => mine.write(piece) }, stop)
    },
    close: () => fetcher.close(),
  })
  const running = startWorker({ ...parts, id: worker, spiders: [spider], concurrency: 1, spooling })
  let failed: unknown = null
  running.ended.catch((error: unknown) => {
    failed = error
  })

  const linkTo = (url: string): Link => {
    const options = { route: ROUTE, data: { file: url } }
    const admission = admitter.resolve(url, '', options)
    if (!admission.ok) throw new ShoalError(admission.refusal.code, admission.refusal.message)
    const link = admitter.link(admission.target, 0, options)
    if ('code' in link) throw new ShoalError(link.code, link.message)
    return { ...link, again: true }
  }

  const ask = async (link: Link) => {
    await frontier.add(id, [link])
    running.wake()
  }

  const get = async (url: string): Promise<ListingFile> => {
    const link = linkTo(url)
    let taken: ListingFile | null = null
    let arrived = () => {}
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    wanted = {
      url,
      take(file) {
        taken = file
        arrived()
      },
    }
    const file = () => taken as ListingFile | null
    try {
      await ask(link)
      for (let idle = 0; ; idle++) {
        await Promise.race([arrival, clock.sleep(LOOK_MS, signal)])
        const got = file()
        if (got !== null) return got
        if (signal.aborted) throw new ShoalError('aborted', 'stopped')
        if (failed !== null) throw failed
        const { state, pending, failed: given } = await progressOf(frontier, id, url)
        if (state === 'cancelled') throw new ShoalError('crawl_ended', `crawl ${crawl} was cancelled`)
        if (given !== null && pending === 0) throw given
        if (pending > 0) idle = 0
        if (idle < PATIENT_LOOKS) continue
        await ask(link)
        idle = 0
      }
    } finally {
      wanted = null
    }
  }

  return {
    get,
    async close() {
      await running.stop(STOP_MS)
      spool?.close()
      try {
        await removeFileCrawl(frontier, id)
        await frontier.forfeit(worker)
      } catch {
        // The next seeding of the crawl removes it, or the deletion of the crawl.
      }
    },
  }
}

/** The state of one file: it may have continued as another link, if the host of a redirect was busy. */
async function progressOf(
  frontier: Frontier,
  id: CrawlId,
  file: string,
): Promise<{ state: CrawlState; pending: number; failed: ShoalError | null }> {
  const { state, queued, delayed, leased } = await frontier.stats(id)
  const pending = queued + delayed + leased
  if (pending > 0) return { state, pending, failed: null }
  for (const ended of ['dead', 'skipped'] as const) {
    const links = await frontier.links({ crawl: id, state: ended, limit: LINKS_LOOKED_AT })
    const last = links.findLast(({ data }) => (data as { file?: unknown } | undefined)?.file === file)?.failures.at(-1)
    if (last !== undefined) return { state, pending, failed: new ShoalError(last.code, last.message) }
  }
  return { state, pending, failed: null }
}

/** Removes the file crawls of processes that were killed. */
async function removeStale({ frontier }: Backends, crawl: CrawlId, clock: Clock): Promise<void> {
  const old = await fileCrawlsOf(frontier, crawl)
  if (old.length === 0) return
  const seen = new Map((await frontier.workers()).map(({ worker, seenAt }) => [worker, seenAt]))
  for (const one of old) {
    const worker = fileWorker(one)
    const last = Math.max(one.createdAt, seen.get(worker) ?? 0)
    if (isGone(worker) || clock.now() - last > SILENT_MS) await removeFileCrawl(frontier, one.id)
  }
}

/** The spider's own headers are sent to its own hosts only; session cookies have their own scope. */
function withoutOwn(headers: FetchRequest['headers'], { headers: own, userAgent }: Spider): Record<string, string> {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()))
  const others = Object.entries(headers ?? {}).filter(([name]) => !names.has(name.toLowerCase()))
  return { 'user-agent': userAgent, ...Object.fromEntries(others) }
}

function isRobots(url: string): boolean {
  return url.endsWith('/robots.txt')
}

/** The hosts that the spider visits: its headers are for them only. */
export function hostsOf(spider: Spider): (url: string) => boolean {
  const filter = createAdmitter({ ...openFilter(spider), hosts: spider.admit.hosts })
  return (url) => filter.resolve(url, '').ok
}

function openFilter({ admit }: Spider): Spider['admit'] {
  const anything = Number.POSITIVE_INFINITY
  return {
    ...admit,
    ...{ hosts: [], allow: [], deny: [] },
    traps: { maxSegments: anything, maxRepeat: anything, maxParams: anything, sessionIds: false, calendars: false },
    canonical: { dropParams: [], sortParams: false, trailingSlash: 'keep', rewrite: null },
    routeOf: () => ({ name: ROUTE, priority: 0 }),
    priorityOf: () => 0,
  }
}

/** Through a proxy if the spider uses any: requests for files identify the client as much as requests for pages. */
function needOf({ proxies }: Spider, pools: PoolsAtHand): ProxyNeed | null {
  if (proxies === null) return null
  const through = proxies.needs.filter((need) => need !== DIRECT)
  const [first] = through
  if (first === undefined) return DIRECT
  const atHand = through.find((need) => countAtHand(pools, need) > 0)
  if (atHand !== undefined) return atHand
  throw new ShoalError(
    'proxy_unknown',
    `sitemaps and feeds are fetched through the pool '${first.pool}', but this process has no proxies of it`,
  )
}

function fileSpider(
  spider: Spider,
  name: string,
  harvest: (page: Page) => Harvest,
  login: { underWay: number },
  pools: PoolsAtHand,
): Spider {
  const { fetch, proxies, session } = spider
  const [route] = spider.routes.values()
  if (route === undefined) throw new Error('a spider has a route')
  const need = needOf(spider, pools)
  return {
    ...spider,
    name,
    ...{ start: [], seeds: null, sources: [], feed: null, outlets: [], savePages: false, recrawl: false },
    admit: openFilter(spider),
    session: session && { ...session, login: session.login && watched(session.login, login) },
    proxies: proxies === null || need === null ? null : { ...proxies, needs: [need] },
    routes: new Map([
      [
        ROUTE,
        {
          ...route,
          ...{ name: ROUTE, limits: null, proxy: need, render: null, givesRecords: false, data: null, harvest },
          declared: { name: ROUTE, rules: [], each: '', fields: new Map() },
        },
      ],
    ]),
    records: new Map(),
    ...{ seen: null, order: 'fifo', budget: {}, overflow: 'keep' },
    fetch: {
      ...fetch,
      totalMs: Math.max(fetch.totalMs, FILE_MS),
      maxBodyBytes: Math.max(fetch.maxBodyBytes, MAX_FILE_BYTES),
    },
  }
}

/** Responses to a login are not files, so they are not spooled. One visit is in flight at a time, and waits for the login. */
function watched(login: SessionLogin, state: { underWay: number }): SessionLogin {
  return ({ fetch }) =>
    login({
      async fetch(url, request) {
        state.underWay++
        try {
          return await fetch(url, request)
        } finally {
          state.underWay--
        }
      },
    })
}
