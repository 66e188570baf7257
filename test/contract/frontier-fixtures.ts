import { createHash } from 'node:crypto'
import type { ManualClock } from '../../src/clock.js'
import type {
  Capabilities,
  CrawlSpec,
  CrawlStats,
  Failure,
  Frontier,
  Lease,
  LeaseReply,
  Limits,
  LinkInfo,
  Outcome,
} from '../../src/frontier/frontier.js'
import type { Link } from '../../src/url/link.js'

export type MakeFrontier = (clock: ManualClock) => Promise<MadeFrontier>

interface MadeFrontier {
  readonly frontier: Frontier
  close(): Promise<void>
  /** Something that the driver must not mind: its scripts are forgotten, its connection is cut. */
  disturb?(): Promise<void>
}

/** No limit worth the name: tests that are not about pace. */
export const OPEN: Limits = { delayMs: 0, concurrency: 1000 }

export function specOf(changes: Partial<CrawlSpec> = {}): CrawlSpec {
  return {
    id: 'c1',
    spider: 'books',
    spiderHash: 'h1',
    order: 'priority',
    limits: OPEN,
    routeLimits: {},
    visibilityMs: 60_000,
    retryPriorityStep: 10,
    agingMs: 1000,
    maxReclaims: 1,
    maxPending: 1_000_000,
    overflow: 'refuse',
    budget: {},
    gen: 7,
    ...changes,
  }
}

/** `linkTo('a.test/1')`: host and path in one, as they read best in a test. */
export function linkTo(address: string, changes: Partial<Link> = {}): Link {
  const url = `https://${address}`
  const host = new URL(url).host
  const fp = createHash('sha1').update(url).digest('hex').slice(0, 16)
  return { url, fp, host, route: 'page', depth: 0, priority: 0, ...changes }
}

/** Asks as a worker does, with a number of its own for each call. */
export function workerOf(frontier: Frontier, worker: string, spiders: readonly string[] = ['books']) {
  const lastCalls = LAST_CALLS.get(frontier) ?? new Map<string, number>()
  LAST_CALLS.set(frontier, lastCalls)
  const next = () => {
    const seq = (lastCalls.get(worker) ?? 0) + 1
    lastCalls.set(worker, seq)
    return seq
  }
  return {
    worker,
    lease: (want = 1): Promise<LeaseReply> => frontier.lease({ worker, seq: next(), want, spiders }),
    /** The last call once more, as after a lost reply. */
    again: (want = 1): Promise<LeaseReply> =>
      frontier.lease({ worker, seq: lastCalls.get(worker) ?? 0, want, spiders }),
  }
}

/** A worker that is asked for a second time continues to count: the numbers of a worker never go back. */
const LAST_CALLS = new WeakMap<Frontier, Map<string, number>>()

export const FAILURE: Failure = { code: 'server_error', message: 'the server answered 500' }
export const DONE: Outcome = { kind: 'done', links: [], bytes: 0 }

export function done(links: readonly Link[], bytes = 0): Outcome {
  return { kind: 'done', links, bytes }
}

export function retry(afterMs: number, changes: { countsAsAttempt?: boolean; failure?: Failure } = {}): Outcome {
  return { kind: 'retry', afterMs, failure: FAILURE, countsAsAttempt: true, ...changes }
}

export function dead(failure: Failure = FAILURE): Outcome {
  return { kind: 'dead', failure }
}

/** Path of the lease's link with its host, as given to `linkTo`. */
export function addressOf(of: Lease | LinkInfo): string {
  return ('link' in of ? of.link.url : of.url).replace('https://', '')
}

export function addresses(reply: LeaseReply): string[] {
  return reply.leases.map(addressOf)
}

/** All links of a crawl, through pages of a size that makes the cursor work. */
export async function scan(frontier: Frontier, crawl: string, limit = 7): Promise<LinkInfo[]> {
  const all: LinkInfo[] = []
  for (;;) {
    const page = await frontier.links({ crawl, limit, after: all.at(-1)?.cursor })
    all.push(...page)
    if (page.length < limit) return all
  }
}

/** As far as the engine promises it: all links as they are listed, or all but those done, in an order that anybody can make. */
export function comparable(links: readonly LinkInfo[], { ended }: Capabilities): readonly LinkInfo[] {
  if (ended === 'kept') return links
  return links.filter((link) => link.state !== 'done').sort((a, b) => (a.fp < b.fp ? -1 : 1))
}

/** Over several hosts only an engine with exact priorities promises an order. */
export function inOrder<Item extends Lease | LinkInfo>(items: readonly Item[], { priorities }: Capabilities): Item[] {
  if (priorities === 'exact') return [...items]
  return [...items].sort((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1))
}

/** Remembers what the test itself settled as done: a queue that only counts such links is checked against this. */
export function countingDone(frontier: Frontier): { frontier: Frontier; doneOf: (crawl: string) => number } {
  const settled = new Map<string, Outcome['kind']>()
  const settle: Frontier['settle'] = async (settlements) => {
    const answers = await frontier.settle(settlements)
    settlements.forEach(({ lease, outcome }, i) => {
      const name = `${lease.crawl} ${lease.token}`
      if (answers[i] && !settled.has(name)) settled.set(name, outcome.kind)
    })
    return answers
  }
  const remove: Frontier['remove'] = async (crawl) => {
    await frontier.remove(crawl)
    for (const name of settled.keys()) if (name.startsWith(`${crawl} `)) settled.delete(name)
  }
  const counting = new Proxy(frontier, {
    get(target, name) {
      if (name === 'settle') return settle
      if (name === 'remove') return remove
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const doneOf = (crawl: string) =>
    [...settled].filter(([name, kind]) => kind === 'done' && name.startsWith(`${crawl} `)).length
  return { frontier: counting, doneOf }
}

/**
 * What is wrong with the counters: they must equal a full scan, and `known.done`, the number of links that the test saw done. An engine
 * that only counts those has none to scan.
 */
export function counterFaults(
  stats: CrawlStats,
  links: readonly LinkInfo[],
  known?: { readonly done: number; readonly can: Capabilities },
): string[] {
  const faults: string[] = []
  if (known !== undefined && stats.done !== known.done)
    faults.push(`done: the counter says ${stats.done}, the test ${known.done}`)
  for (const state of ['queued', 'delayed', 'leased', 'done', 'dead', 'skipped'] as const) {
    if (state === 'done' && known?.can.ended === 'counted') continue
    const counted = links.filter((link) => link.state === state).length
    if (counted !== stats[state]) faults.push(`${state}: the counter says ${stats[state]}, a scan ${counted}`)
  }
  const sum = stats.queued + stats.delayed + stats.leased + stats.done + stats.dead + stats.skipped
  if (sum !== stats.total) faults.push(`total: the counter says ${stats.total}, the sum of states ${sum}`)
  return faults
}
