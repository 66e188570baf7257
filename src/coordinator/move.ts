import { ShoalError } from '../errors.js'
import type { CrawlId, CrawlSpec, Frontier, LinkInfo, RestoredLink } from '../frontier/frontier.js'
import type { RecordStore } from '../store/record-store.js'
import type { Link } from '../url/link.js'
import { openAs } from './crawls.js'

const MOVED_AT_ONCE = 1_000

export interface Moved {
  readonly crawl: CrawlId
  readonly pending: number
  readonly dead: number
  readonly skipped: number
  /** Known, and not to be visited again. */
  readonly done: number
}

export interface MoveParts {
  readonly from: Frontier
  readonly to: Frontier
  /** Both queues use this store: records stay where they are. */
  readonly store: RecordStore
  /** Address of the target queue, without secrets. */
  readonly toAddress: string
  readonly now: number
  readonly onProgress?: (links: number) => void
}

/**
 * Moves a paused crawl from one queue to another: links with their priority, attempts and errors; finished ones as known. The source is cancelled only when
 * everything has arrived; until then the move can be repeated.
 */
export async function moveCrawl(parts: MoveParts, id: CrawlId): Promise<Moved> {
  const { from, to, store } = parts
  if (from.can.ended !== 'kept') {
    throw new ShoalError('usage', 'this queue only counts finished links, so it cannot hand them to another queue', {
      hint: 'Start a new crawl in the other queue.',
    })
  }
  const stats = await from.stats(id)
  if (stats.state !== 'paused') {
    throw new ShoalError('usage', `crawl ${id} is ${stats.state}: only a paused crawl can be moved`, {
      hint: `Pause it first: \`shoal pause ${id}\`.`,
    })
  }
  if (stats.leased > 0) {
    throw new ShoalError(
      'usage',
      `${stats.leased} ${stats.leased === 1 ? 'link' : 'links'} of crawl ${id} still in flight`,
      {
        hint: 'Wait until the workers have finished them, or stop the workers.',
      },
    )
  }
  const note = (await store.crawls.notes()).find(({ crawl }) => crawl === id)
  if (note === undefined) {
    throw new ShoalError('usage', `the store does not know crawl ${id}, which an older version opened`, {
      hint: 'Run it once with this version, pause it, then move it.',
    })
  }
  const spec: CrawlSpec = { ...note.spec, gen: await store.generations.of(await to.identity()) }
  await to.open(spec)
  await to.setState(id, 'paused')
  const moved = await moveLinks(parts, id)
  if (!stats.seeding) await to.seeded(id)
  await openAs({ frontier: to, store, queueAddress: parts.toAddress }, spec, note.openedAt)
  await from.setState(id, 'cancelled')
  await to.setState(id, 'running')
  return { crawl: id, ...moved }
}

async function moveLinks({ from, to, now, onProgress }: MoveParts, crawl: CrawlId): Promise<Omit<Moved, 'crawl'>> {
  const counts = { pending: 0, dead: 0, skipped: 0, done: 0 }
  let seen = 0
  for (let after: string | undefined; ; ) {
    const page = await from.links({ crawl, limit: MOVED_AT_ONCE, ...(after === undefined ? {} : { after }) })
    const links = page.map((link) => restoredLink(link, now))
    for (const { state } of links) counts[state]++
    if (links.length > 0) await to.restore(crawl, links)
    seen += page.length
    onProgress?.(seen)
    after = page.at(-1)?.cursor
    if (page.length < MOVED_AT_ONCE || after === undefined) return counts
  }
}

function restoredLink(info: LinkInfo, now: number): RestoredLink {
  const { url, fp, host, route, depth, priority, data, request, state, dueAt } = info
  const link: Link = {
    url,
    fp,
    host,
    route,
    depth,
    priority,
    ...(data === undefined ? {} : { data }),
    ...(request === undefined ? {} : { request }),
    ...(dueAt === null || dueAt <= now ? {} : { delayMs: dueAt - now }),
  }
  if (state === 'done') return { state, link }
  const { attempts, throttles, reclaims, failures } = info
  return {
    state: state === 'dead' || state === 'skipped' ? state : 'pending',
    link,
    attempts,
    throttles,
    reclaims,
    failures,
  }
}
