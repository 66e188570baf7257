import type { Clock, Random } from '../clock.js'
import { specFor } from '../coordinator/crawls.js'
import { knownExits } from '../coordinator/exits.js'
import { fileCrawl } from '../coordinator/file-crawl.js'
import type { FileFetcher } from '../discovery/listings.js'
import type { ListingFile } from '../discovery/read-listing.js'
import { createSpool, type Spool } from '../discovery/spool.js'
import { type ErrorCode, ShoalError } from '../errors.js'
import type { Fetcher } from '../fetch/fetcher.js'
import type { CrawlId } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { Page } from '../spider/page.js'
import type { Harvest, Spider } from '../spider/spider.js'
import { createAdmitter } from '../url/admit.js'
import type { Link } from '../url/link.js'
import type { Plant } from '../wire.js'
import type { PoolsAtHand } from './pools-at-hand.js'
import { workerIds } from './worker-ids.js'

/** On the wire. A sitemap may have 50 MB by its protocol. */
const MAX_FILE_BYTES = 128 * 1024 * 1024
const FILE_MS = 600_000
const LOOK_MS = 200
/** Done, and not by us: another process that seeds the same crawl, or a redirect that became a link of its own. Asked for again after so many looks. */
const PATIENT_LOOKS = 50
const STOP_MS = 2_000
const NOTHING: Harvest = { records: [], rejected: [], links: [] }
const ROUTE = 'file'

export interface SeedFileParts {
  readonly plant: Plant
  readonly spider: Spider
  readonly crawl: CrawlId
  readonly pools: PoolsAtHand
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Files are visited by a worker, as pages are, in a crawl of their own beside the one they are for. A permit needs a lease, and so they have
 * one: the host's pace, robots.txt, the guard, proxies and retries hold for them as for everything else, over the whole fleet. Links of the
 * crawl itself would not do: the worker that has such a page in hand would wait for room in the queue that it should empty.
 */
export async function openSeedFiles(parts: SeedFileParts): Promise<FileFetcher> {
  const { plant, crawl, clock, signal } = parts
  const { frontier, store } = plant
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

  const { id, spider: name } = fileCrawl(crawl, parts.spider.name)
  const spider = fileSpider(parts.spider, name, harvest)
  const admitter = createAdmitter(spider.admit)
  const inScope = hostsOf(parts.spider)
  const worker = workerIds(parts.random)()
  const gen = await store.generation(await frontier.identity())
  await frontier.open(specFor(spider, id, gen, await knownExits(plant.board, spider)))
  // Only now: a process that seeds from files alone does without the fetcher.
  const { startWorker } = await import('./start-worker.js')
  const spooling = (fetcher: Fetcher): Fetcher => ({
    fetch(request, stop) {
      if (isRobots(request.url)) return fetcher.fetch({ ...request, limits: parts.spider.fetch }, stop)
      spool?.close()
      const mine = createSpool()
      spool = mine
      const sent = inScope(request.url) ? request : { ...request, headers: { 'user-agent': spider.userAgent } }
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
        const place = await frontier.explain(id, link.fp, link.host)
        if (place.state === 'dead' || place.state === 'skipped') throw failureOf(place.link.failures.at(-1))
        if (place.state !== 'done' && place.state !== 'unknown') idle = 0
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
        await frontier.setState(id, 'cancelled')
        await frontier.remove(id)
        await frontier.forfeit(worker)
      } catch {
        // It is opened again by whoever goes on.
      }
    },
  }
}

function failureOf(failure: { readonly code: ErrorCode; readonly message: string } | undefined): ShoalError {
  return new ShoalError(failure?.code ?? 'internal', failure?.message ?? 'it could not be fetched')
}

function isRobots(url: string): boolean {
  return url.endsWith('/robots.txt')
}

/** Those that the spider goes to: its headers are for them alone. */
export function hostsOf(spider: Spider): (url: string) => boolean {
  const door = createAdmitter({ ...openDoor(spider), hosts: spider.admit.hosts })
  return (url) => door.resolve(url, '').ok
}

function openDoor({ admit }: Spider): Spider['admit'] {
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

function fileSpider(spider: Spider, name: string, harvest: (page: Page) => Harvest): Spider {
  const { fetch, proxies } = spider
  const [route] = spider.routes.values()
  if (route === undefined) throw new Error('a spider has a route')
  const need = proxies?.needs[0] ?? null
  return {
    ...spider,
    name,
    ...{ start: [], seeds: null, sources: [], feed: null, outlets: [], savePages: false, recrawl: false },
    admit: openDoor(spider),
    proxies: proxies === null || need === null ? null : { ...proxies, needs: [need] },
    routes: new Map([
      [
        ROUTE,
        { ...route, name: ROUTE, limits: null, proxy: need, render: null, givesRecords: false, data: null, harvest },
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
