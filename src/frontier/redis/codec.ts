import { hash } from 'node:crypto'
import { ShoalError } from '../../errors.js'
import { FILTER_REASONS, type FilterExample, type FilteredLinks } from '../../url/filter-reasons.js'
import {
  type Fingerprint,
  type HostKey,
  type Json,
  type Link,
  PRIORITY_MAX,
  type RequestExtras,
} from '../../url/link.js'
import type { NamedCount } from '../counts.js'
import type {
  CrawlSpec,
  Failure,
  HostReport,
  HostSettings,
  Limits,
  Outcome,
  Release,
  RestoredLink,
} from '../frontier.js'

/** What travels between TypeScript and the scripts. Of an item, Redis reads only the priority, and what it needs for the fingerprint. */

const HTTPS = 1
const ABSOLUTE = 2
const OWN_FINGERPRINT = 4
const EXTRAS = 8
/** The time, which the script puts in front. */
const STAMP_BYTES = 6
export const HISTORY_BYTES = 6
/** A history and the rank in its lane, in front of an item that is not in a list. */
export const OUTSIDE_BYTES = HISTORY_BYTES + 8

/** Signed decimal: how a 64-bit set of Redis wants it. */
export function decimalOf(fp: Fingerprint): string {
  return BigInt.asIntN(64, BigInt(`0x${fp}`)).toString()
}

/** The client's part of an item: a few bytes, then path and query; the whole URL only where it is not its host's. */
function encodeItem(link: Link): Buffer {
  const { url, host, fp, request, data } = link
  const https = url.startsWith('https://')
  const origin = `${https ? 'https' : 'http'}://${host}`
  const relative = url.startsWith(origin) && url.charCodeAt(origin.length) === 47
  const own = hash('sha1', url).slice(0, 16) !== fp
  const extras = request !== undefined || data !== undefined
  const flags = (https ? HTTPS : 0) | (relative ? 0 : ABSOLUTE) | (own ? OWN_FINGERPRINT : 0) | (extras ? EXTRAS : 0)
  const rest =
    (own ? fp : '') +
    (relative ? url.slice(origin.length) : url) +
    (extras ? `\0${JSON.stringify({ request, data })}` : '')
  const routeBytes = Buffer.byteLength(link.route)
  if (routeBytes > 255) throw new ShoalError('usage', 'the name of a route has at most 255 bytes')
  const item = Buffer.allocUnsafe(5 + routeBytes + Buffer.byteLength(rest))
  item[0] = flags
  item.writeUInt16BE(Math.min(link.depth, 0xffff), 1)
  item[3] = link.priority + PRIORITY_MAX
  item[4] = routeBytes
  item.write(link.route, 5)
  item.write(rest, 5 + routeBytes)
  return item
}

export interface DecodedItem {
  readonly link: Link
  readonly addedAt: number
}

export function decodeItem(item: Buffer, host: HostKey): DecodedItem {
  const addedAt = item.readUIntBE(0, 6)
  const flags = item[STAMP_BYTES] ?? 0
  const depth = item.readUInt16BE(STAMP_BYTES + 1)
  const priority = (item[STAMP_BYTES + 3] ?? PRIORITY_MAX) - PRIORITY_MAX
  const routeEnd = STAMP_BYTES + 5 + (item[STAMP_BYTES + 4] ?? 0)
  const route = item.toString('utf8', STAMP_BYTES + 5, routeEnd)
  let rest = item.toString('utf8', routeEnd)
  let extras: { request?: RequestExtras; data?: Json } = {}
  if (flags & EXTRAS) {
    const cut = rest.indexOf('\0')
    extras = JSON.parse(rest.slice(cut + 1)) as typeof extras
    rest = rest.slice(0, cut)
  }
  let fp: Fingerprint | null = null
  if (flags & OWN_FINGERPRINT) {
    fp = rest.slice(0, 16)
    rest = rest.slice(16)
  }
  const url = flags & ABSOLUTE ? rest : `${flags & HTTPS ? 'https' : 'http'}://${host}${rest}`
  fp ??= hash('sha1', url).slice(0, 16)
  return { link: { url, fp, host, route, depth, priority, ...extras }, addedAt }
}

/** Runs of links of the same lane, level and delay, as parts/links.lua reads them. */
export function encodeLinks(links: readonly Link[], args: (string | Buffer)[]): void {
  for (let from = 0; from < links.length; ) {
    const first = links[from]
    if (first === undefined) return
    let to = from + 1
    for (let next = links[to]; next !== undefined && sameRun(first, next); next = links[++to]);
    args.push(encodeRun(first, to - from))
    for (const link of links.slice(from, to)) args.push(decimalOf(link.fp), encodeItem(link))
    from = to
  }
}

/** parts/links.lua, RUN, and the host. */
function encodeRun(link: Link, count: number): Buffer {
  const routeBytes = Buffer.byteLength(link.route)
  const run = Buffer.allocUnsafe(15 + routeBytes + Buffer.byteLength(link.host))
  run[0] = PRIORITY_MAX - link.priority
  run.writeDoubleBE(Math.max(0, link.delayMs ?? 0), 1)
  run[9] = link.again ? 1 : 0
  run.writeUInt32BE(count, 10)
  run[14] = routeBytes
  run.write(link.route, 15)
  run.write(link.host, 15 + routeBytes)
  return run
}

function sameRun(a: Link, b: Link): boolean {
  return (
    a.host === b.host &&
    a.route === b.route &&
    a.priority === b.priority &&
    (a.delayMs ?? 0) === (b.delayMs ?? 0) &&
    a.again === b.again
  )
}

/** The crawl's limits that are divided over shards, in this order: links pending, pages, bytes; −1: none. */
export function sharesOf(spec: Buffer): readonly [pending: number, pages: number, bytes: number] {
  return [spec.readDoubleBE(65), spec.readDoubleBE(81), spec.readDoubleBE(97)]
}

const ORDERS: readonly CrawlSpec['order'][] = ['priority', 'fifo', 'lifo']
/** @lua */
export const BY_PRIORITY = ORDERS.indexOf('priority')
export const NEWEST_FIRST = ORDERS.indexOf('lifo')
/** More than any host is asked at once; concurrency Infinity has no place in a script. */
export const NO_LIMIT = 1e9
/** Room between two levels in a rank (parts/order.lua). */
export const LEVEL = 2 ** 32
/** First byte of the record of a link that ended (parts/ends.lua). */
export const DEAD_LETTER = 4
/** @lua */
export const SKIPPED_LINK = 5

/** parts/crawls.lua, SPEC, for one shard of several. Limits of the whole crawl are divided over them. */
export function encodeSpec(spec: CrawlSpec, shard: number, shards: number): Buffer {
  const { limits, budget } = spec
  const share = (all: number | undefined) =>
    all === undefined ? -1 : Math.floor(all / shards) + (shard < all % shards ? 1 : 0)
  const special = (Object.keys(spec.routeLimits).length > 0 ? 1 : 0) + (hasEntries(spec.keyLimits) ? 2 : 0)
  const numbers = [
    ...limitNumbers(limits),
    spec.visibilityMs,
    spec.retryPriorityStep,
    spec.agingMs,
    spec.maxReclaims,
    share(spec.maxPending),
    spec.overflow === 'keep' ? 1 : 0,
    share(budget.pages),
    budget.pagesPerHost ?? -1,
    share(budget.bytes),
    budget.ms ?? -1,
    shards,
  ]
  return Buffer.concat([
    Buffer.of(ORDERS.indexOf(spec.order)),
    doubles(numbers),
    Buffer.of(special),
    doubles(adaptiveNumbers(limits)),
  ])
}

function doubles(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 8)
  numbers.forEach((number, index) => {
    bytes.writeDoubleBE(number, index * 8)
  })
  return bytes
}

function hasEntries(record: object | undefined): boolean {
  return record !== undefined && Object.keys(record).length > 0
}

function limitNumbers({ delayMs, concurrency, rate }: Limits): number[] {
  const interval = rate === undefined ? 0 : rate.perMs / rate.count
  return [delayMs, Math.min(concurrency, NO_LIMIT), interval, rate?.burst ?? 1]
}

/** parts/crawls.lua, ADAPTIVE; left out where there is none. */
function adaptiveNumbers({ adaptive }: Limits): number[] {
  return adaptive === undefined ? [] : [adaptive.target, adaptive.maxDelayMs]
}

/** parts/pace.lua, LIMITS: delay, concurrency, interval of the rate (0: none), burst. */
export function encodeLimits(limits: Limits): Buffer {
  return doubles([...limitNumbers(limits), ...adaptiveNumbers(limits)])
}

/** parts/items.lua, HISTORY. */
export interface History {
  readonly reclaims: number
  readonly attempts: number
  readonly throttles: number
  readonly bypassFresh: boolean
}

export function encodeHistory(history: History): Buffer {
  const bytes = Buffer.alloc(HISTORY_BYTES)
  bytes[0] = Math.min(255, history.reclaims)
  bytes.writeUInt16BE(Math.min(0xffff, history.attempts), 1)
  bytes.writeUInt16BE(Math.min(0xffff, history.throttles), 3)
  bytes[5] = history.bypassFresh ? 1 : 0
  return bytes
}

export function decodeHistory(bytes: Buffer): History {
  return {
    reclaims: bytes[0] ?? 0,
    attempts: bytes.readUInt16BE(1),
    throttles: bytes.readUInt16BE(3),
    bypassFresh: bytes[5] === 1,
  }
}

/** @lua */
export const REPORT_KINDS: readonly HostReport['kind'][] = ['ok', 'failed', 'throttled', 'wait']

/** release.lua, REPORT. */
export function encodeReport({
  elapsedMs,
  latencyMs = elapsedMs,
  report,
}: Pick<Release, 'elapsedMs' | 'latencyMs' | 'report'>): Buffer {
  const bytes = Buffer.alloc(25)
  bytes.writeDoubleBE(elapsedMs, 0)
  bytes[8] = REPORT_KINDS.indexOf(report.kind) + 1
  bytes.writeDoubleBE(askedMs(report), 9)
  bytes.writeDoubleBE(latencyMs, 17)
  return bytes
}

function askedMs(report: HostReport): number {
  if (report.kind === 'wait') return report.ms
  return report.kind === 'throttled' ? (report.retryAfterMs ?? -1) : -1
}

/** @lua */
export const OUTCOME_KINDS: readonly Outcome['kind'][] = ['done', 'retry', 'dead', 'skipped', 'back']

/** settle.lua, SETTLEMENT. */
export function encodeSettlement(settlement: {
  crawl: number
  fp: Fingerprint
  outcome: Outcome
  linkArgs: number
}): Buffer {
  const { crawl, fp, outcome, linkArgs } = settlement
  const bytes = Buffer.alloc(34)
  bytes.writeUInt32BE(crawl, 0)
  bytes[4] = OUTCOME_KINDS.indexOf(outcome.kind) + 1
  if (outcome.kind === 'done') bytes.writeDoubleBE(outcome.bytes, 5)
  else if (outcome.kind === 'retry' || outcome.kind === 'back') bytes.writeDoubleBE(outcome.afterMs, 5)
  bytes[13] = outcome.kind === 'retry' && outcome.countsAsAttempt ? 1 : 0
  bytes.writeUInt32BE(linkArgs, 14)
  bytes.write(fp, 18, 'latin1')
  return bytes
}

/** settle.lua, TALLY: one after the other. What the filter did has its reason, with an example as JSON; what the spider counted has `=` and its name. */
export function encodeTallies(filtered: readonly FilteredLinks[], counts: readonly NamedCount[]): Buffer {
  return Buffer.concat([
    ...filtered.map(({ reason, count, example }) =>
      tallyOf(reason, count, example === null ? '' : JSON.stringify(example)),
    ),
    ...counts.map(({ name, count }) => tallyOf(`=${name}`, count, '')),
  ])
}

function tallyOf(name: string, count: number, example: string): Buffer {
  const named = Buffer.from(name)
  const shown = Buffer.from(example)
  const numbers = Buffer.alloc(6)
  numbers.writeUInt32BE(count, 0)
  numbers.writeUInt16BE(shown.length, 4)
  return Buffer.concat([Buffer.of(named.length), named, numbers, shown])
}

/** Fields of a crawl's record (settle.lua). */
export function decodeCounts(fields: ReadonlyMap<string, Buffer>): NamedCount[] {
  return [...fields]
    .filter(([field]) => field.startsWith(COUNT_FIELD))
    .map(([field, count]) => ({ name: field.slice(COUNT_FIELD.length), count: Number(count) }))
}

const COUNT_FIELD = 'count:'

/** Fields of a crawl's record (settle.lua). */
export function decodeFiltered(fields: ReadonlyMap<string, Buffer>): FilteredLinks[] {
  return FILTER_REASONS.flatMap((reason) => {
    const count = fields.get(`filtered:${reason}`)
    const example = fields.get(`example:${reason}`)
    if (count === undefined) return []
    return {
      reason,
      count: Number(count),
      example: example === undefined ? null : (JSON.parse(example.toString()) as FilterExample),
    }
  })
}

/** parts/leases.lua, LEASE: as much as a client needs. */
export interface LeaseRecord extends History {
  readonly num: number
  readonly worker: string
  readonly host: HostKey
  readonly grantedAt: number
  readonly permitMs: number
  readonly item: Buffer
}

export function decodeLease(record: Buffer): LeaseRecord {
  const workerEnd = 51 + (record[50] ?? 0)
  const laneEnd = workerEnd + 2 + record.readUInt16BE(workerEnd)
  let at = laneEnd + 1
  for (let guests = record[laneEnd] ?? 0; guests > 0; guests--) at += 2 + record.readUInt16BE(at) + 8
  return {
    num: record.readUInt32BE(0),
    grantedAt: record.readDoubleBE(12),
    permitMs: record.readDoubleBE(20),
    attempts: record.readUInt16BE(36),
    throttles: record.readUInt16BE(38),
    reclaims: record[40] ?? 0,
    bypassFresh: ((record[41] ?? 0) & 1) === 1,
    worker: record.toString('utf8', 51, workerEnd),
    host: hostOfLane(record.toString('utf8', workerEnd + 2, laneEnd)),
    item: record.subarray(at),
  }
}

/** A lane is called by its host; with limits of a route, by host and route. */
export function hostOfLane(name: string): HostKey {
  const cut = name.indexOf('\n')
  return cut < 0 ? name : name.slice(0, cut)
}

export type KeptFailure = Failure & { readonly at: number }

/** As keep_failure in parts/ends.lua writes them: time, length, JSON. */
export function decodeFailures(bytes: Buffer | null): KeptFailure[] {
  const failures: KeptFailure[] = []
  for (let at = 0; bytes !== null && at < bytes.length; ) {
    const when = bytes.readDoubleBE(at)
    const end = at + 12 + bytes.readUInt32BE(at + 8)
    failures.push({ ...(JSON.parse(bytes.toString('utf8', at + 12, end)) as Failure), at: when })
    at = end
  }
  return failures
}

export function encodeFailure({ code, message }: Failure): string {
  return JSON.stringify({ code, message })
}

function encodeFailures(failures: readonly KeptFailure[]): Buffer {
  return Buffer.concat(
    failures.map((failure) => {
      const text = Buffer.from(encodeFailure(failure))
      const head = Buffer.alloc(12)
      head.writeDoubleBE(failure.at, 0)
      head.writeUInt32BE(text.length, 8)
      return Buffer.concat([head, text])
    }),
  )
}

/** restore.lua: the arguments of one link. */
export function encodeRestored(restored: RestoredLink): (string | Buffer)[] {
  const { link, state } = restored
  const failures = restored.state === 'done' ? [] : restored.failures
  const history = {
    reclaims: restored.state === 'done' ? 0 : restored.reclaims,
    attempts: restored.state === 'done' ? 0 : restored.attempts,
    throttles: restored.state === 'done' ? 0 : restored.throttles,
    bypassFresh: false,
  }
  return [
    link.host,
    link.route,
    String(Math.max(0, link.delayMs ?? 0)),
    state,
    decimalOf(link.fp),
    link.fp,
    encodeHistory(history),
    failures.at(-1)?.code ?? '',
    String(failures.at(-1)?.at ?? ''),
    failures.length === 0 ? '' : encodeFailures(failures),
    encodeItem(link),
  ]
}

/** parts/hosts.lua, HOST and LANE: as much as views and `seekLink` need. */
export interface HostRecord {
  readonly startedAt: number
  readonly arrivalAt: number
  readonly inFlight: number
  readonly blockedUntil: number
  readonly throttles: number
  readonly latencyMs: number | null
  readonly settings: HostSettings
  readonly lanes: readonly LaneRecord[]
}

export interface LaneRecord {
  readonly crawl: number
  readonly route: string
  readonly num: number
  readonly delayed: number
  /** Over all lanes of the crawl on the host, in the one without a route; 0 in the others. */
  readonly leased: number
  readonly levels: readonly { readonly level: number; readonly popped: number }[]
}

/** Latency of a host without any measurement; a worker's clock may produce small negative ones. @lua */
export const UNKNOWN_LATENCY = -1e15
/** Later than any time: when a lane without a free slot wakes; added to the end of a host's block while the host is closed by hand. @lua */
export const FAR = 1e15

export function decodeHost(bytes: Buffer): HostRecord {
  if (bytes.length === 0) {
    const nothing = { startedAt: 0, arrivalAt: 0, inFlight: 0, blockedUntil: 0, throttles: 0, latencyMs: null }
    return { ...nothing, settings: {}, lanes: [] }
  }
  const latency = bytes.readDoubleBE(12)
  const rareBytes = bytes[20] ?? 0
  const lanes: LaneRecord[] = []
  for (let at = 21 + rareBytes; at < bytes.length; ) {
    const laneAt = at + 5 + (bytes[at + 4] ?? 0)
    const levelsAt = laneAt + 42 + (bytes[laneAt + 41] ?? 0)
    const count = bytes[levelsAt] ?? 0
    const rareLane = (bytes[laneAt + 41] ?? 0) > 0
    lanes.push({
      crawl: bytes.readUInt32BE(at),
      route: bytes.toString('utf8', at + 5, laneAt),
      num: bytes.readUInt32BE(laneAt + 8),
      leased: bytes.readUInt32BE(laneAt + 4),
      delayed: rareLane ? bytes.readUInt32BE(laneAt + 42 + 32) : 0,
      levels: Array.from({ length: count }, (_, nth) => ({
        level: bytes[levelsAt + 1 + nth * 5] ?? 0,
        popped: bytes.readUInt32BE(levelsAt + 2 + nth * 5),
      })),
    })
    at = levelsAt + 1 + count * 5
  }
  const blocked = rareBytes === 0 ? 0 : bytes.readDoubleBE(29)
  const setting = (at: number) => {
    const value = rareBytes === 0 ? -1 : bytes.readDoubleBE(at)
    return value < 0 ? null : value
  }
  return {
    startedAt: bytes.readDoubleBE(0),
    arrivalAt: rareBytes === 0 ? 0 : bytes.readDoubleBE(21),
    inFlight: bytes.readUInt32BE(8),
    blockedUntil: blocked >= FAR ? blocked - FAR : blocked,
    settings: { delayMs: setting(49), concurrency: setting(57), floorMs: setting(65), blocked: blocked >= FAR },
    throttles: rareBytes === 0 ? 0 : bytes.readUInt32BE(45),
    latencyMs: latency === UNKNOWN_LATENCY ? null : latency,
    lanes,
  }
}
