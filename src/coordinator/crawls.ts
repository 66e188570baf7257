import type { Clock, Random } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo, CrawlSpec, Limits } from '../frontier/frontier.js'
import { overProxies } from '../frontier/over-proxies.js'
import type { Claim, Notes } from '../notes/notes.js'
import { argsOf, isCrawlOf } from '../spider/arguments.js'
import type { Spider } from '../spider/spider.js'
import { setCrawlState } from './file-crawl.js'
import { lostError, type WatchedBackends, watchQueue } from './queue-watch.js'

/** One point of priority is worth ten seconds of waiting. */
const AGING_MS = 10_000
/** A link that killed two workers is leased alone, and gets one more chance. */
const MAX_RECLAIMS = 1

export interface OpenedCrawl {
  readonly crawl: CrawlId
  readonly resumed: boolean
  /** The unfinished crawl that was cancelled to start over. */
  readonly setAside: CrawlInfo | null
  /** Unfinished crawls of this spider with other arguments: they stay as they are, and each is resumed by its own arguments. */
  readonly others: readonly CrawlInfo[]
  /** The spider file has changed since the crawl was started or last resumed. */
  readonly spiderChanged: boolean
}

export interface OpenOptions {
  readonly fresh: boolean
  readonly clock: Clock
  readonly random: Random
  readonly proxies?: number
  /** Never resume a crawl that began with another definition: `shoal crawl` names its spider after the host, whatever the options. */
  readonly unchangedOnly?: boolean
}

/** A process that dies while it opens a crawl blocks the others no longer than this. */
const OPENING_MS = 10_000
const OPENING_LOOK_MS = 100

/**
 * Resumes the unfinished crawl of this spider with these arguments, or opens a new one. Fails with `crawl_lost` while one waits to be recovered. With shared notes only one process
 * of the fleet does this at a time: two that start at once get the same crawl, even if both want a fresh one.
 */
export async function openCrawl(
  backends: WatchedBackends & { readonly notes?: Notes },
  spider: Spider,
  options: OpenOptions,
): Promise<OpenedCrawl> {
  const { notes } = backends
  if (notes === undefined) return openAlone(backends, spider, options)
  const { clock, random } = options
  const key = `open:${spider.name}`
  const holder = `${random()} ${random()}`
  let claim = await notes.claim(key, holder, 0, OPENING_MS)
  const before = noteIn(claim)
  while (claim.kind === 'taken') {
    await clock.sleep(Math.min(claim.waitMs, OPENING_LOOK_MS))
    claim = await notes.claim(key, holder, 0, OPENING_MS)
  }
  const last = noteIn(claim)
  try {
    const opened = await openAlone(backends, spider, options, last === before ? null : last)
    // The crawl is open, whether or not the note could be posted.
    await notes.post(key, holder, opened.crawl, OPENING_MS).catch(() => {})
    return opened
  } catch (error) {
    await notes.drop(key, holder).catch(() => {})
    throw error
  }
}

/** The most recently opened crawl. */
function noteIn(claim: Claim): string | null {
  return (claim.kind === 'note' ? claim.note : claim.old)?.text ?? null
}

/** `meanwhile`: opened by another process that wanted the same at the same time. It is fresh enough, if it has the same arguments. */
async function openAlone(
  backends: WatchedBackends,
  spider: Spider,
  options: OpenOptions,
  meanwhile: CrawlId | null = null,
): Promise<OpenedCrawl> {
  const { frontier, store } = backends
  await watchQueue(backends).look()
  await settleLost(backends, spider, options.fresh)
  const running = (await frontier.crawls()).filter(
    (crawl) => crawl.spider === spider.name && (crawl.state === 'running' || crawl.state === 'paused'),
  )
  const unfinished = running.filter(({ args }) => isCrawlOf(spider, args)).at(-1)
  const others = running.filter(({ args }) => !isCrawlOf(spider, args))
  const gen = await store.generations.of(await frontier.identity())
  if (unfinished !== undefined && (!options.fresh || unfinished.id === meanwhile)) {
    const spiderChanged = unfinished.spiderHash !== spider.hash
    if (spiderChanged && options.unchangedOnly === true) throw otherCrawl(unfinished)
    await openAs(backends, specFor(spider, unfinished.id, gen, options.proxies), unfinished.createdAt)
    if (unfinished.state === 'paused') await setCrawlState(frontier, unfinished.id, 'running')
    return { crawl: unfinished.id, resumed: true, setAside: null, others, spiderChanged }
  }
  if (unfinished !== undefined) await setCrawlState(frontier, unfinished.id, 'cancelled')
  const crawl = crawlId(spider.name, options.clock, options.random)
  await openAs(backends, specFor(spider, crawl, gen, options.proxies), options.clock.now())
  return { crawl, resumed: false, setAside: unfinished ?? null, others, spiderChanged: false }
}

/** Its queue holds the links of other options, which would be read with the wrong selectors; the new URLs would not be visited at all. */
function otherCrawl({ id }: CrawlInfo): ShoalError {
  return new ShoalError('usage', `crawl ${id} is unfinished, and it began with other URLs or options`, {
    hint: 'Run it with those to resume it, or add --fresh to cancel it and start this one; its records are kept.',
  })
}

/** A crawl alongside any others of this spider. Earlier lost crawls are given up: each turn of a schedule starts over. */
export async function openTurn(
  backends: WatchedBackends,
  spider: Spider,
  crawl: CrawlId,
  { clock, proxies }: { readonly clock: Clock; readonly proxies: number },
): Promise<void> {
  await watchQueue(backends).look()
  await settleLost(backends, spider, true)
  const gen = await backends.store.generations.of(await backends.frontier.identity())
  await openAs(backends, specFor(spider, crawl, gen, proxies), clock.now())
}

/** Opens it in the queue, and records in the store what must outlive the queue. */
export async function openAs(backends: WatchedBackends, spec: CrawlSpec, openedAt: number): Promise<CrawlInfo> {
  const { frontier, store, queueAddress = '' } = backends
  const queueIdentity = await frontier.identity()
  const info = await frontier.open(spec)
  const { id: crawl, spider } = spec
  await store.crawls.note({ crawl, spider, queue: queueAddress, queueIdentity, state: 'open', spec, openedAt })
  return info
}

/** A lost crawl is never resumed by accident; starting over gives it up. */
async function settleLost(
  { store, queueAddress = '' }: WatchedBackends,
  spider: Spider,
  fresh: boolean,
): Promise<void> {
  const lost = (await store.crawls.notes()).filter(
    ({ state, spider: name, queue, spec }) =>
      state === 'lost' && name === spider.name && queue === queueAddress && isCrawlOf(spider, spec.args),
  )
  const newest = lost.at(-1)
  if (newest === undefined) return
  if (!fresh) throw lostError({ crawl: newest.crawl, spider: spider.name, why: 'gone' })
  for (const note of lost) await store.crawls.note({ ...note, state: 'ended' })
}

function crawlId(spider: string, clock: Clock, random: Random): CrawlId {
  const stamp = new Date(clock.now()).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')
  const suffix = Math.floor(random() * 36 ** 3)
    .toString(36)
    .padStart(3, '0')
  return `${spider}-${stamp}-${suffix}`
}

/** `count`: how many proxies the spider can choose from (proxies.ts). */
export function specFor(spider: Spider, id: CrawlId, gen: number, count = 1): CrawlSpec {
  const { proxies } = spider
  const args = argsOf(spider)
  const whole = (limits: Limits) => (proxies === null ? limits : overProxies(limits, count, proxies.ceiling))
  const routes = [...spider.routes.values()].flatMap(({ name, limits }) =>
    limits === null ? [] : [[name, whole(limits)]],
  )
  return {
    id,
    spider: spider.name,
    spiderHash: spider.hash,
    ...(Object.keys(args).length > 0 && { args }),
    order: spider.order,
    limits: whole(spider.limits),
    routeLimits: Object.fromEntries(routes),
    keyLimits: Object.fromEntries(Object.entries(spider.keyLimits).map(([key, limits]) => [key, whole(limits)])),
    visibilityMs: spider.visibilityMs,
    retryPriorityStep: spider.retryPriorityStep,
    agingMs: AGING_MS,
    maxReclaims: MAX_RECLAIMS,
    maxPending: spider.maxPending,
    overflow: spider.overflow,
    budget: spider.budget,
    ...(spider.seen !== null && { seen: spider.seen }),
    gen,
  }
}
