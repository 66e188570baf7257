import type { ErrorCode } from '../../errors.js'
import { ShoalError } from '../../errors.js'
import type {
  CrawlId,
  CrawlInfo,
  CrawlState,
  CrawlStats,
  HostInfo,
  HostPage,
  WorkerAbout,
  WorkerInfo,
} from '../frontier.js'
import { earliestStart, FRESH_HOST } from '../pace.js'
import { decodeHost, decodeLane } from './codec.js'
import { bytes, fields, list, number, text, word } from './replies.js'
import type { Shards } from './shards.js'

export interface DeadGroup {
  code: ErrorCode
  count: number
  sample: string
}

const RATE_WINDOW_MS = 60_000
/** Looking for the busiest hosts, a call reads this many; the next one goes on from there. */
const LANES_LOOKED_AT = 2_000
const NO_LIMIT = 1e9

/** One shard's part of a crawl. */
interface Part {
  readonly wall: number
  /** What to add to the queue's own time to get the time of people. */
  readonly offset: number
  readonly fields: Map<string, Buffer>
  readonly delayed: number
  readonly ended: number
  readonly quiet: boolean
}

/** Answers about crawls, hosts and workers, summed over the shards. */
export class CrawlViews {
  readonly #shards: Shards
  readonly #busiest = new Map<CrawlId, BusyHosts>()

  constructor(shards: Shards) {
    this.#shards = shards
  }

  async crawls(): Promise<CrawlInfo[]> {
    const numbers = fields(await this.#shards.command(0, 'HGETALL', 'crawls'))
    const ids = [...numbers].sort(([, a], [, b]) => Number(a) - Number(b)).map(([id]) => id)
    const parts = await Promise.all(ids.map((id) => this.#parts(id)))
    return parts.flatMap((part) => (part === null ? [] : infoOf(part)))
  }

  async info(crawl: CrawlId): Promise<CrawlInfo> {
    return infoOf(await this.#known(crawl))
  }

  async stats(crawl: CrawlId): Promise<CrawlStats> {
    const parts = await this.#known(crawl)
    const count = (field: string) => total(parts.map((part) => Number(part.fields.get(field) ?? 0)))
    const info = infoOf(parts)
    const delayed = total(parts.map((part) => part.delayed))
    const now = Math.max(...parts.map((part) => part.wall))
    const windowMs = Math.min(RATE_WINDOW_MS, Math.max(1000, now - (info.startedAt ?? now)))
    return {
      ...info,
      total: count('total'),
      queued: count('pending') - delayed,
      delayed,
      leased: count('leased'),
      done: count('done'),
      dead: count('dead'),
      skipped: count('skipped'),
      failed: count('failed'),
      retried: count('retried'),
      throttled: count('throttled'),
      reclaimed: count('reclaimed'),
      stale: count('stale'),
      refused: count('refused'),
      bytes: count('bytes'),
      rate: total(parts.map((part) => part.ended)) / (windowMs / 1000),
    }
  }

  /** Links known to each shard, if none of them has anything to do. */
  async quietTotals(crawl: CrawlId): Promise<number[] | null> {
    const parts = await this.#parts(crawl)
    if (parts === null || parts.some((part) => !part.quiet)) return null
    return parts.map((part) => Number(part.fields.get('total')))
  }

  /** The crawl's number in a shard; null when the shard does not know it. */
  async number(shard: number, crawl: CrawlId): Promise<number | null> {
    const reply = await this.#shards.command(shard, 'HGET', 'crawls', crawl)
    return reply === null ? null : number(reply)
  }

  async hosts(crawl: CrawlId, page: HostPage): Promise<HostInfo[]> {
    await this.#known(crawl)
    const perShard = await Promise.all(
      this.#shards.all.map(async (shard) => {
        const num = await this.number(shard, crawl)
        if (num === null) return []
        return page.busiest ? this.#busy(shard, crawl, num, page.limit) : this.#named(shard, num, page)
      }),
    )
    const infos = await Promise.all(perShard.map((hosts, shard) => this.hostInfos(shard, crawl, hosts)))
    const byName = infos.flat().sort((a, b) => (a.host < b.host ? -1 : 1))
    if (page.busiest) byName.sort((a, b) => b.pending - a.pending)
    return byName.slice(0, page.limit)
  }

  async #named(shard: number, num: number, page: HostPage): Promise<string[]> {
    const from = page.after === undefined ? '-' : `(${page.after}`
    const names = await this.#shards.command(shard, 'ZRANGEBYLEX', `n:${num}`, from, '+', 'LIMIT', '0', `${page.limit}`)
    return list(names).map(text)
  }

  #busy(shard: number, crawl: CrawlId, num: number, limit: number): Promise<string[]> {
    const key = `${shard}/${crawl}/${num}`
    const busy = this.#busiest.get(key) ?? new BusyHosts(this.#shards, shard, num)
    this.#busiest.set(key, busy)
    return busy.look(limit)
  }

  async hostInfos(shard: number, crawl: CrawlId, hosts: readonly string[]): Promise<HostInfo[]> {
    if (hosts.length === 0) return []
    const reply = await this.#shards.run('view', shard, [crawl, 'hosts', ...hosts])
    if (word(reply) !== null) return []
    const answer = list(reply)
    const wall = number(answer[0])
    const now = number(answer[1])
    const offset = wall - now
    return hosts.map((host, index) => {
      const [lane, record, delay, concurrency, interval, burst] = answer.slice(2 + index * 6, 8 + index * 6)
      const laneBytes = bytes(lane)
      const counts = laneBytes.length === 0 ? null : decodeLane(laneBytes)
      const pace = decodeHost(bytes(record))
      const delayMs = number(delay)
      const perMs = number(interval)
      const rate = perMs > 0 ? { count: 1, perMs, burst: number(burst) } : undefined
      const startedAt = Math.min(pace.startedAt, now)
      const limits = { delayMs, concurrency: number(concurrency), ...(rate === undefined ? {} : { rate }) }
      const opensAt = earliestStart(
        { ...FRESH_HOST, startedAt, arrivalAt: pace.arrivalAt, blockedUntil: pace.blockedUntil },
        limits,
      )
      return {
        host,
        pending: counts?.pending ?? 0,
        inFlight: pace.inFlight,
        done: counts?.done ?? 0,
        failed: counts?.failed ?? 0,
        dead: counts?.dead ?? 0,
        delayMs,
        concurrency: limits.concurrency >= NO_LIMIT ? Number.POSITIVE_INFINITY : limits.concurrency,
        ratePerSecond: perMs > 0 ? 1000 / perMs : null,
        nextAt: opensAt === 0 ? 0 : opensAt + offset,
        blockedUntil: pace.blockedUntil > now ? pace.blockedUntil + offset : null,
        latencyMs: pace.latencyMs,
      }
    })
  }

  async workers(): Promise<WorkerInfo[]> {
    const perShard = await Promise.all(this.#shards.all.map((shard) => this.#workersOf(shard)))
    const byName = new Map<string, WorkerInfo>()
    for (const info of perShard.flat()) {
      const known = byName.get(info.worker)
      byName.set(info.worker, known === undefined ? info : joined(known, info))
    }
    return [...byName.values()].sort((a, b) => (a.worker < b.worker ? -1 : 1))
  }

  async #workersOf(shard: number): Promise<WorkerInfo[]> {
    const names = list(await this.#shards.command(shard, 'SMEMBERS', 'workers')).map(text)
    const infos = await Promise.all(
      names.map(async (worker): Promise<WorkerInfo[]> => {
        const record = fields(await this.#shards.command(shard, 'HGETALL', `worker:${worker}`))
        if (record.size === 0) return []
        const inHand = number(await this.#shards.command(shard, 'SCARD', `held:${worker}`))
        const count = (field: string) => Number(record.get(field) ?? 0)
        const progress = record.get('progress')?.toString() ?? ''
        const about = record.get('about')?.toString() ?? ''
        return [
          {
            worker,
            inHand,
            done: count('done'),
            failed: count('failed'),
            startedAt: count('started'),
            seenAt: count('seen'),
            progressAt: progress === '' ? null : Number(progress),
            about: about === '' ? null : (JSON.parse(about) as WorkerAbout),
          },
        ]
      }),
    )
    return infos.flat()
  }

  async #known(crawl: CrawlId): Promise<Part[]> {
    const parts = await this.#parts(crawl)
    if (parts === null) throw new ShoalError('not_found', `there is no crawl ${crawl}`)
    return parts
  }

  async #parts(crawl: CrawlId): Promise<Part[] | null> {
    const replies = await Promise.all(
      this.#shards.all.map((shard) => this.#shards.run('view', shard, [crawl, 'stats'])),
    )
    if (replies.some((reply) => word(reply) !== null)) return null
    return replies.map((reply) => {
      const [wallText, nowText, record, delayed, ring, quiet] = list(reply)
      const wall = number(wallText)
      const since = (wall - RATE_WINDOW_MS) / 1000
      const seconds = list(ring).map((slot) => ({
        second: bytes(slot).readUIntBE(0, 6),
        count: bytes(slot).readUInt32BE(6),
      }))
      return {
        wall,
        offset: wall - number(nowText),
        fields: fields(record),
        delayed: number(delayed),
        ended: total(seconds.filter(({ second }) => second > since).map(({ count }) => count)),
        quiet: quiet === 1,
      }
    })
  }
}

/** Finds the hosts with most links left without reading all lanes at once: each look reads some more and asks the best so far again. */
class BusyHosts {
  readonly #shards: Shards
  readonly #shard: number
  readonly #lanes: string
  readonly #best = new Map<string, number>()
  #cursor = '0'

  constructor(shards: Shards, shard: number, num: number) {
    this.#shards = shards
    this.#shard = shard
    this.#lanes = `l:${num}`
  }

  async look(limit: number): Promise<string[]> {
    for (let looked = 0; looked < LANES_LOOKED_AT; ) {
      const scan = await this.#shards.command(this.#shard, 'HSCAN', this.#lanes, this.#cursor, 'COUNT', '500')
      const [cursor, found] = list(scan)
      for (const [name, record] of fields(found)) {
        looked++
        if (!name.includes('\n')) this.#best.set(name, decodeLane(record).pending)
      }
      this.#cursor = text(cursor)
      if (this.#cursor === '0') break
    }
    const best = [...this.#best].sort(([, a], [, b]) => b - a).slice(0, Math.max(limit, 1))
    this.#best.clear()
    for (const [host, pending] of best) this.#best.set(host, pending)
    return best.map(([host]) => host)
  }
}

function infoOf(parts: readonly Part[]): CrawlInfo {
  const [first] = parts
  if (first === undefined) throw new TypeError('a queue has one shard at least')
  const field = (name: string) => first.fields.get(name)?.toString() ?? ''
  const times = (name: string) => parts.flatMap((part) => part.fields.get(name)?.toString() || []).map(Number)
  const states = parts.map((part) => part.fields.get('state')?.toString() as CrawlState)
  // Finished is what all shards say; a link that wakes one of them wakes the crawl.
  const state = states.every((one) => one === 'finished')
    ? 'finished'
    : (states.find((one) => one !== 'finished') ?? 'running')
  const ended = state === 'finished' || state === 'cancelled'
  const endedBy = parts.map((part) => part.fields.get('endedBy')?.toString() ?? '').find((by) => by !== '')
  const started = times('started')
  return {
    id: field('id'),
    spider: field('spider'),
    state,
    endedBy: ended && endedBy !== undefined ? (endedBy as CrawlInfo['endedBy']) : null,
    spiderHash: field('hash'),
    spiderChanges: Number(field('changes')),
    createdAt: Number(field('created')),
    startedAt: started.length === 0 ? null : Math.min(...started),
    finishedAt: ended ? Math.max(...times('finished')) : null,
    seeding: parts.some((part) => part.fields.get('seeding')?.toString() === '1'),
  }
}

function joined(a: WorkerInfo, b: WorkerInfo): WorkerInfo {
  return {
    worker: a.worker,
    inHand: a.inHand + b.inHand,
    done: a.done + b.done,
    failed: a.failed + b.failed,
    startedAt: Math.min(a.startedAt, b.startedAt),
    seenAt: Math.max(a.seenAt, b.seenAt),
    progressAt:
      a.progressAt === null || b.progressAt === null
        ? (a.progressAt ?? b.progressAt)
        : Math.max(a.progressAt, b.progressAt),
    about: a.about ?? b.about,
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}
