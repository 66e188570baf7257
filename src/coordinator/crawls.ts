import type { Clock, Random } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo, CrawlSpec, Frontier } from '../frontier/frontier.js'
import type { Spider } from '../spider/spider.js'
import type { RecordStore } from '../store/record-store.js'
import { createAdmitter } from '../url/admit.js'
import type { Link } from '../url/link.js'

/** One point of priority is worth ten seconds of waiting. */
const AGING_MS = 10_000
/** A link that took two workers with it is leased alone, and gets one more chance. */
const MAX_RECLAIMS = 1
const SEEDS_AT_ONCE = 1_000
/** Seeding stops when the queue is this full, and goes on when it has emptied to the other. */
const HIGH_WATER = 0.9
const LOW_WATER = 0.5
const WATER_LOOK_MS = 500

export interface OpenedCrawl {
  readonly crawl: CrawlId
  readonly resumed: boolean
  /** The unfinished crawl that was cancelled to start anew. */
  readonly setAside: CrawlInfo | null
  /** The spider file is not the one that the crawl was begun or last resumed with. */
  readonly spiderChanged: boolean
}

/** Resumes the unfinished crawl of this spider, or opens a new one. */
export async function openCrawl(
  plant: { frontier: Frontier; store: RecordStore },
  spider: Spider,
  options: { fresh: boolean; clock: Clock; random: Random },
): Promise<OpenedCrawl> {
  const { frontier, store } = plant
  const unfinished = (await frontier.crawls())
    .filter((crawl) => crawl.spider === spider.name && (crawl.state === 'running' || crawl.state === 'paused'))
    .at(-1)
  const gen = await store.generation(await frontier.identity())
  if (unfinished !== undefined && !options.fresh) {
    await frontier.open(specFor(spider, unfinished.id, gen))
    if (unfinished.state === 'paused') await frontier.setState(unfinished.id, 'running')
    return { crawl: unfinished.id, resumed: true, setAside: null, spiderChanged: unfinished.spiderHash !== spider.hash }
  }
  if (unfinished !== undefined) await frontier.setState(unfinished.id, 'cancelled')
  const crawl = crawlId(spider.name, options.clock, options.random)
  await frontier.open(specFor(spider, crawl, gen))
  return { crawl, resumed: false, setAside: unfinished ?? null, spiderChanged: false }
}

function crawlId(spider: string, clock: Clock, random: Random): CrawlId {
  const stamp = new Date(clock.now()).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')
  const suffix = Math.floor(random() * 36 ** 3)
    .toString(36)
    .padStart(3, '0')
  return `${spider}-${stamp}-${suffix}`
}

export function specFor(spider: Spider, id: CrawlId, gen: number): CrawlSpec {
  const routes = [...spider.routes.values()].filter((route) => route.limits !== null)
  return {
    id,
    spider: spider.name,
    spiderHash: spider.hash,
    order: spider.order,
    limits: spider.limits,
    routeLimits: Object.fromEntries(routes.map((route) => [route.name, route.limits ?? spider.limits])),
    visibilityMs: spider.visibilityMs,
    retryPriorityStep: spider.retryPriorityStep,
    agingMs: AGING_MS,
    maxReclaims: MAX_RECLAIMS,
    maxPending: spider.maxPending,
    overflow: spider.overflow,
    budget: spider.budget,
    gen,
  }
}

export interface Seeds {
  readonly added: number
  readonly known: number
}

export interface Seeding {
  /** What went into the queue before it was full; all of it, as a rule. Workers must run from here on, or there is never room again. */
  readonly first: Promise<Seeds>
  /** Every start URL is in the queue, or the signal aborted. */
  readonly all: Promise<Seeds>
}

/** Adds the start URLs, waiting while the queue is full, and says when there are no more. Can be repeated: known links stay as they are. */
export function seedCrawl(
  frontier: Frontier,
  spider: Spider,
  crawl: CrawlId,
  clock: Clock,
  signal: AbortSignal,
): Seeding {
  const seeds = { added: 0, known: 0 }
  let full = () => {}
  const whenFull = new Promise<void>((resolve) => {
    full = resolve
  })

  const addAll = async (): Promise<Seeds> => {
    const links = startLinks(spider)
    let pending = await pendingOf(frontier, crawl)
    for (let next = 0; next < links.length && !signal.aborted; ) {
      const room = Math.floor(HIGH_WATER * spider.maxPending) - pending
      if (room < 1 && pending > 0) {
        full()
        pending = await untilLowWater(frontier, spider, crawl, clock, signal)
        continue
      }
      const chunk = links.slice(next, next + Math.max(1, Math.min(SEEDS_AT_ONCE, room)))
      const result = await frontier.add(crawl, chunk)
      seeds.added += result.added
      pending = result.pending
      // Found links took the room meanwhile: the same again when there is some.
      if (result.refused > 0 && pending >= spider.maxPending) continue
      seeds.known += result.known
      next += chunk.length
    }
    if (!signal.aborted) await frontier.seeded(crawl)
    return seeds
  }

  const all = addAll()
  return { all, first: Promise.race([all, whenFull]).then(() => ({ ...seeds })) }
}

function startLinks(spider: Spider): Link[] {
  const admitter = createAdmitter(spider.admit)
  return spider.start.map((url) => {
    const admission = admitter.resolve(url, '')
    const link = admission.ok ? admitter.link(admission.target, 0) : admission.refusal
    if ('code' in link) throw new ShoalError(link.code, `start: ${link.message}`)
    return link
  })
}

/** How much is pending then. */
async function untilLowWater(
  frontier: Frontier,
  spider: Spider,
  crawl: CrawlId,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    await clock.sleep(WATER_LOOK_MS, signal)
    const pending = await pendingOf(frontier, crawl)
    if (signal.aborted || pending <= LOW_WATER * spider.maxPending) return pending
  }
}

async function pendingOf(frontier: Frontier, crawl: CrawlId): Promise<number> {
  const { queued, delayed } = await frontier.stats(crawl)
  return queued + delayed
}
