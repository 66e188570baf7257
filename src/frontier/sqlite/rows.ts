import type { SqlValue, Statement } from '../../sqlite/db.js'
import type { HostKey, Json, RequestExtras } from '../../url/link.js'
import { type CrawlSpec, FAILURES_KEPT, type Failure, type Lease, type Limits, type WorkerId } from '../frontier.js'
import { afterStart } from '../pace.js'
import { type CrawlRow, type LaneRow, lanePace } from './counter-rows.js'

export interface LeaseRow {
  readonly link: number
  readonly crawl: number
  readonly lane: number
  readonly host: number
  readonly worker: WorkerId
  readonly epoch: number
  readonly grantedAt: number
  readonly deadline: number
  readonly slotAt: number
  held: boolean
  readonly solo: boolean
}

/** Columns of a queued link that a lease needs, as SQLite's JSON delivers them. */
export type LinkColumns = [
  num: number,
  fp: string,
  url: string,
  route: string,
  depth: number,
  priority: number,
  attempts: number,
  throttles: number,
  reclaims: number,
  bypass: number,
  request: RequestExtras | null,
  data: Json | null,
]

/** The next `count` places in the order of the crawl. */
export function reserve(crawl: CrawlRow, count: number): number {
  const first = crawl.nextSeq
  crawl.nextSeq += count
  return first
}

/** Links that may still be added. */
export function roomFor({ spec, queued, delayed, total }: CrawlRow): number {
  const pending = spec.overflow === 'refuse' ? spec.maxPending - queued - delayed : Number.POSITIVE_INFINITY
  return Math.min(pending, (spec.budget.pages ?? Number.POSITIVE_INFINITY) - total)
}

export function startLane(lane: LaneRow, limits: Limits, now: number): void {
  const { startedAt, arrivalAt } = afterStart(lanePace(lane), limits, now)
  lane.startedAt = startedAt
  lane.arrivalAt = arrivalAt
}

export function reopen(crawl: CrawlRow): void {
  crawl.state = 'running'
  crawl.endedBy = null
  crawl.finishedAt = null
}

/** Smallest first. Within a rank, by sequence. */
export function rankOf(order: CrawlSpec['order'], priority: number, seq: number): number {
  if (order === 'priority') return -priority
  return order === 'fifo' ? 0 : -seq
}

/** SQLite's integers are signed: the same 64 bits, as decimal digits. */
export function toSigned(fp: string): string {
  return BigInt.asIntN(64, BigInt(`0x${fp}`)).toString()
}

export function parseToken(token: string): [link: number, epoch: number] {
  const colon = token.indexOf(':')
  return [Number(token.slice(0, colon)), Number(token.slice(colon + 1))]
}

export function toLease(
  columns: LinkColumns,
  host: HostKey,
  spec: CrawlSpec,
  epoch: number,
  permitMs: number,
  visibilityMs: number,
): Lease {
  const [num, fp, url, route, depth, priority, attempts, throttles, , bypass, request, data] = columns
  return {
    crawl: spec.id,
    token: `${num}:${epoch}`,
    link: {
      url,
      fp,
      host,
      route,
      depth,
      priority,
      ...(request === null ? {} : { request }),
      ...(data === null ? {} : { data }),
    },
    attempt: attempts + 1,
    throttles,
    gen: spec.gen,
    epoch: String(epoch),
    permitMs,
    visibilityMs,
    bypassFresh: bypass === 1,
  }
}

/** By token; those that do not exist (any more) are missing. */
export function leasesOf(statement: Statement, tokens: readonly string[]): Map<string, LeaseRow> {
  const found = new Map<string, LeaseRow>()
  const json = statement.get(JSON.stringify(tokens.map(parseToken)))?.[0]
  for (const row of JSON.parse(String(json)) as SqlValue[][]) {
    const lease = toLeaseRow(row)
    found.set(`${lease.link}:${lease.epoch}`, lease)
  }
  return found
}

export function leaseOf(statement: Statement, token: string): LeaseRow | null {
  const row = statement.get(...parseToken(token))
  return row === undefined ? null : toLeaseRow(row)
}

export function toLeaseRow(v: SqlValue[]): LeaseRow {
  return {
    link: Number(v[0]),
    crawl: Number(v[1]),
    lane: Number(v[2]),
    host: Number(v[3]),
    worker: String(v[4]),
    epoch: Number(v[5]),
    grantedAt: Number(v[6]),
    deadline: Number(v[7]),
    slotAt: Number(v[8]),
    held: v[9] === 1,
    solo: v[10] === 1,
  }
}

export function addFailure(failures: SqlValue | undefined, failure: Failure, at: number): string {
  const all = typeof failures === 'string' ? (JSON.parse(failures) as unknown[]) : []
  all.push({ ...failure, at })
  return JSON.stringify(all.slice(-FAILURES_KEPT))
}
