import type { SqlValue } from '../../sqlite/db.js'
import type { Json, Link, RequestExtras } from '../../url/link.js'
import { FAILURES_KEPT, type RestoredLink } from '../frontier.js'
import type { CrawlRow } from './counter-rows.js'
import { moveLink } from './counters.js'
import { rankOf, reserve, roomFor, toSigned } from './rows.js'
import { STATE, STATE_NAMES } from './schema.js'
import type { Transaction } from './statements.js'

/**
 * Inserts links that are new, in order. Row by row: with rows this wide binding beats json_each, and only links that are new may be
 * refused.
 */
export function addLinks(
  tx: Transaction,
  crawl: CrawlRow,
  links: readonly Link[],
): { readonly added: number; readonly refused: number } {
  const { pagesPerHost } = crawl.spec.budget
  const firstSeq = reserve(crawl, links.length)
  let added = 0
  let refused = 0
  links.forEach((link, index) => {
    const fp = toSigned(link.fp)
    const ended = link.again ? tx.sql.endedLink.get(crawl.num, fp) : undefined
    // In this order: to count the links of a host creates its row, also for a link that the queue has no room for.
    const hostIsFull = () => pagesPerHost !== undefined && tx.counters.linksOnHost(crawl, link.host) >= pagesPerHost
    if (roomFor(crawl) < 1 || hostIsFull()) {
      if (ended !== undefined || tx.sql.known.get(crawl.num, fp) === undefined) refused++
      return
    }
    if (ended !== undefined) visitAgain(tx, crawl, ended, link, firstSeq + index)
    else if (!insert(tx, crawl, fp, link, firstSeq + index)) return
    added++
  })
  crawl.refused += refused
  return { added, refused }
}

/** False when it is known. */
function insert({ sql, counters }: Transaction, crawl: CrawlRow, fp: string, link: Link, seq: number): boolean {
  const { now } = counters
  let laneNum = counters.findLane(crawl, link.host, link.route)
  if (laneNum === undefined) {
    // Lanes are numbered in the order of their first links: a link that is known already creates none.
    if (sql.known.get(crawl.num, fp) !== undefined) return false
    laneNum = counters.addLane(crawl, link.host, link.route)
  }
  const state = stateOf(link)
  const inserted = sql.addLink.run(
    crawl.num,
    fp,
    laneNum,
    STATE[state],
    rankOf(crawl.spec.order, link.priority, seq),
    seq,
    link.route,
    link.depth,
    link.priority,
    now,
    now + Math.max(0, link.delayMs ?? 0),
    link.url,
    jsonOf(link.request),
    jsonOf(link.data),
  )
  if (inserted === 0) return false
  const lane = counters.lane(laneNum)
  lane.total++
  lane[state]++
  crawl.total++
  crawl[state]++
  return true
}

function visitAgain({ sql, counters }: Transaction, crawl: CrawlRow, ended: SqlValue[], link: Link, seq: number): void {
  const [num, oldLane, oldState] = ended.map(Number) as [number, number, number]
  const state = stateOf(link)
  const laneNum = counters.findLane(crawl, link.host, link.route) ?? counters.addLane(crawl, link.host, link.route)
  sql.visitAgain.run(
    laneNum,
    STATE[state],
    rankOf(crawl.spec.order, link.priority, seq),
    seq,
    link.route,
    link.depth,
    link.priority,
    counters.now + Math.max(0, link.delayMs ?? 0),
    link.url,
    jsonOf(link.request),
    jsonOf(link.data),
    num,
  )
  const before = counters.lane(oldLane)
  const lane = counters.lane(laneNum)
  moveLink(crawl, before, STATE_NAMES[oldState] ?? 'skipped', state)
  if (lane === before) return
  // It changed its lane as well.
  before.total--
  before[state]--
  lane.total++
  lane[state]++
}

/** False when it is known. */
export function restoreLink(tx: Transaction, crawl: CrawlRow, restored: RestoredLink, seq: number): boolean {
  const { state, link } = restored
  const fp = toSigned(link.fp)
  if (!insert(tx, crawl, fp, link, seq)) return false
  const [attempts, throttles, reclaims, failures] =
    restored.state === 'done'
      ? [1, 0, 0, []]
      : [restored.attempts, restored.throttles, restored.reclaims, restored.failures.slice(-FAILURES_KEPT)]
  const placed = stateOf(link)
  const to = state === 'pending' ? placed : state
  const last = state === 'pending' ? undefined : failures.at(-1)
  const kept = failures.length === 0 ? null : JSON.stringify(failures)
  const history = [attempts, throttles, reclaims, last?.at ?? null, last?.code ?? null, kept]
  tx.sql.setHistory.run(STATE[to], ...history, crawl.num, fp)
  const lane = tx.counters.lane(tx.counters.findLane(crawl, link.host, link.route) ?? -1)
  moveLink(crawl, lane, placed, to)
  return true
}

function stateOf({ delayMs = 0 }: Link): 'queued' | 'delayed' {
  return delayMs > 0 ? 'delayed' : 'queued'
}

function jsonOf(value: Json | RequestExtras | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
