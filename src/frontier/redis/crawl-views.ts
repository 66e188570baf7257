import type { ErrorCode } from '../../errors.js'
import type { RedisReply } from '../../redis/connection.js'
import { bytes, fields, list, number, text, word } from '../../redis/replies.js'
import { type Counts, countsOf } from '../counts.js'
import { addFiltered, type FilterCounts, filteredOf } from '../filtered.js'
import type {
  CrawlId,
  CrawlInfo,
  CrawlSpec,
  CrawlState,
  CrawlStats,
  HostInfo,
  HostPage,
  WorkerAbout,
  WorkerInfo,
} from '../frontier.js'
import { earliestStart, FRESH_HOST, settingsShown } from '../pace.js'
import { type Ending, rateOf, runningSince } from '../rate.js'
import { unknownCrawl } from '../refusals.js'
import { decodeCounts, decodeFiltered, decodeHost, NO_LIMIT, sharesOf } from './codec.js'
import type { Shards } from './shards.js'

export interface DeadGroup {
  code: ErrorCode
  count: number
  sample: string
}

/** Hosts that one search for the busiest checks; the next search continues from there. */
const HOSTS_CHECKED = 500
/** Hosts of one script call. */
const HOSTS_AT_ONCE = 100
/** What view.lua answers for each. */
const HOST_FIELDS = 10

/** What workers.lua answers for each. */
const WORKER_FIELDS = 10

/** One shard's part of a crawl. */
interface Part {
  readonly wall: number
  /** What to add to the queue's own time to get the time of people. */
  readonly offset: number
  readonly fields: Map<string, Buffer>
  readonly delayed: number
  readonly endings: readonly Ending[]
  readonly quiet: boolean
  /** Since when somebody has reaped without a pause; null: never. */
  readonly watchedSince: number | null
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
    const filtered: FilterCounts = new Map()
    const counts: Counts = new Map()
    for (const part of parts) {
      addFiltered(filtered, decodeFiltered(part.fields))
      for (const { name, count } of decodeCounts(part.fields)) counts.set(name, (counts.get(name) ?? 0) + count)
    }
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
      filtered: filteredOf(filtered),
      counts: countsOf(counts),
      bytes: count('bytes'),
      rate: rateOf(
        parts.flatMap((part) => part.endings),
        { since: runningSince(info, Math.max(...parts.map((part) => part.watchedSince ?? 0))), now },
      ),
    }
  }

  /** What each shard has used of the limits that are divided over them, and what its share is. */
  async shares(crawl: CrawlId): Promise<{ used: readonly number[]; share: readonly number[] }[] | null> {
    const parts = await this.#parts(crawl)
    if (parts === null) return null
    return parts.map((part) => ({
      used: ['pending', 'total', 'bytes'].map((field) => Number(part.fields.get(field))),
      share: sharesOf(part.fields.get('s') ?? Buffer.alloc(0)),
    }))
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
    const busiest = page.busiest === true && page.begins === undefined
    const perShard = await Promise.all(
      this.#shards.all.map(async (shard) => {
        const num = await this.number(shard, crawl)
        if (num === null) throw unknownCrawl(crawl)
        if (busiest) return this.#busy(shard, crawl, num, page.limit)
        return this.hostInfos(shard, crawl, await this.#named(shard, num, page))
      }),
    )
    const byName = perShard.flat().sort((a, b) => (a.host < b.host ? -1 : 1))
    if (busiest) byName.sort((a, b) => b.pending - a.pending)
    return byName.slice(0, page.limit)
  }

  async hostNames(shard: number, num: number, from: number, count: number): Promise<string[]> {
    const names = await this.#shards.command(shard, 'ZRANGE', `n:${num}`, String(from), String(from + count - 1))
    return list(names).map(text)
  }

  async #named(shard: number, num: number, page: HostPage): Promise<string[]> {
    const { after, begins = '', limit } = page
    const first = begins === '' ? '-' : `[${begins}`
    const from = after === undefined || after < begins ? first : `(${after}`
    // No byte of UTF-8 is 0xff.
    const to = begins === '' ? '+' : Buffer.concat([Buffer.from(`[${begins}`), Buffer.of(0xff)])
    const names = await this.#shards.command(shard, 'ZRANGEBYLEX', `n:${num}`, from, to, 'LIMIT', '0', `${limit}`)
    return list(names).map(text)
  }

  #busy(shard: number, crawl: CrawlId, num: number, limit: number): Promise<HostInfo[]> {
    const key = `${shard}/${crawl}/${num}`
    const busy = this.#busiest.get(key) ?? new BusyHosts(this, shard, crawl, num)
    this.#busiest.set(key, busy)
    return busy.look(limit)
  }

  async hostInfos(shard: number, crawl: CrawlId, hosts: readonly string[]): Promise<HostInfo[]> {
    const infos: HostInfo[] = []
    for (let from = 0; from < hosts.length; from += HOSTS_AT_ONCE) {
      const some = hosts.slice(from, from + HOSTS_AT_ONCE)
      const reply = await this.#shards.run('view', shard, [crawl, 'hosts', ...some])
      if (word(reply) !== null) return []
      const [wall, now, ...answers] = list(reply)
      infos.push(
        ...some.map((host, nth) =>
          hostInfoOf(host, answers.slice(nth * HOST_FIELDS, (nth + 1) * HOST_FIELDS), number(wall), number(now)),
        ),
      )
    }
    return infos
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
    const [wall, now, ...values] = list(await this.#shards.run('workers', shard, []))
    const offset = number(wall) - number(now)
    return chunks(values.map(text), WORKER_FIELDS).map(
      ([worker = '', inFlight, done, failed, started, seen, progress = '', about = '', beat = '', lost = '']) => ({
        worker,
        inFlight: Number(inFlight),
        done: Number(done),
        failed: Number(failed),
        startedAt: Number(started),
        seenAt: Number(seen),
        progressAt: progress === '' ? null : Number(progress),
        beatAt: beat === '' ? null : Number.parseInt(beat, 10),
        lostAt: lost === '' ? null : Number(lost) + offset,
        about: about === '' ? null : (JSON.parse(about) as WorkerAbout),
      }),
    )
  }

  /** Of the shards that know the crawl, which may have been removed from some; null when none does. */
  async stateOfRest(crawl: CrawlId): Promise<CrawlState | null> {
    const rest = (await this.#partsKnown(crawl)).filter((part) => part !== null)
    return rest.length === 0 ? null : infoOf(rest).state
  }

  async #known(crawl: CrawlId): Promise<Part[]> {
    const parts = await this.#parts(crawl)
    if (parts === null) throw unknownCrawl(crawl)
    return parts
  }

  async #parts(crawl: CrawlId): Promise<Part[] | null> {
    const parts = (await this.#partsKnown(crawl)).filter((part) => part !== null)
    return parts.length === this.#shards.count ? parts : null
  }

  /** Null for a shard that does not know the crawl. */
  async #partsKnown(crawl: CrawlId): Promise<(Part | null)[]> {
    const replies = await Promise.all(
      this.#shards.all.map((shard) => this.#shards.run('view', shard, [crawl, 'stats'])),
    )
    return replies.map((reply) => {
      if (word(reply) !== null) return null
      const [wallText, nowText, record, delayed, ring, quiet, watched] = list(reply)
      const wall = number(wallText)
      const endings = list(ring).map((slot) => ({
        second: bytes(slot).readUIntBE(0, 6),
        count: bytes(slot).readUInt32BE(6),
      }))
      return {
        wall,
        offset: wall - number(nowText),
        fields: fields(record),
        delayed: number(delayed),
        endings,
        quiet: quiet === 1,
        watchedSince: text(watched) === '' ? null : number(watched),
      }
    })
  }
}

/** Finds the hosts with most links left without reading all of them at once: each search reads some more, and the best so far again. */
class BusyHosts {
  readonly #views: CrawlViews
  readonly #shard: number
  readonly #crawl: CrawlId
  readonly #num: number
  #best: string[] = []
  #next = 0

  constructor(views: CrawlViews, shard: number, crawl: CrawlId, num: number) {
    this.#views = views
    this.#shard = shard
    this.#crawl = crawl
    this.#num = num
  }

  async look(limit: number): Promise<HostInfo[]> {
    const more = await this.#views.hostNames(this.#shard, this.#num, this.#next, HOSTS_CHECKED)
    this.#next = more.length < HOSTS_CHECKED ? 0 : this.#next + more.length
    const hosts = [...new Set([...this.#best, ...more])]
    const infos = await this.#views.hostInfos(this.#shard, this.#crawl, hosts)
    const best = infos.sort((a, b) => b.pending - a.pending).slice(0, limit)
    this.#best = best.map(({ host }) => host)
    return best
  }
}

/** The answer of view.lua about one host. */
function hostInfoOf(host: string, answer: readonly RedisReply[], wall: number, now: number): HostInfo {
  const [
    pending = 0,
    done = 0,
    failed = 0,
    dead = 0,
    delayMs = 0,
    concurrency = 0,
    interval = 0,
    burst = 1,
    setMs = 0,
  ] = answer.slice(0, -1).map(number)
  const pace = decodeHost(bytes(answer.at(-1)))
  const rate = interval > 0 ? { rate: { count: 1, perMs: interval, burst } } : {}
  const opensAt = earliestStart(
    {
      ...FRESH_HOST,
      startedAt: Math.min(pace.startedAt, now),
      arrivalAt: pace.arrivalAt,
      blockedUntil: pace.blockedUntil,
    },
    { delayMs, concurrency, ...rate },
  )
  const offset = wall - now
  return {
    host,
    pending,
    inFlight: pace.inFlight,
    done,
    failed,
    dead,
    delayMs,
    slowedFromMs: delayMs > setMs ? setMs : null,
    concurrency: concurrency >= NO_LIMIT ? Number.POSITIVE_INFINITY : concurrency,
    ratePerSecond: interval > 0 ? 1000 / interval : null,
    nextAt: opensAt === 0 ? 0 : opensAt + offset,
    blockedUntil: pace.blockedUntil > now ? pace.blockedUntil + offset : null,
    throttles: pace.throttles,
    latencyMs: pace.latencyMs,
    set: settingsShown(pace.settings),
  }
}

function infoOf(parts: readonly Part[]): CrawlInfo {
  const [first] = parts
  if (first === undefined) throw new TypeError('a queue has one shard at least')
  const field = (name: string) => first.fields.get(name)?.toString() ?? ''
  const times = (name: string) => parts.flatMap((part) => part.fields.get(name)?.toString() || []).map(Number)
  const states = parts.map((part) => part.fields.get('state')?.toString() as CrawlState)
  // Finished is what all shards say; a link that wakes one of them wakes the crawl. Cancelled is what one says: the others will.
  const state = states.includes('cancelled') ? 'cancelled' : (states.find((one) => one !== 'finished') ?? 'finished')
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
    ...argsIn(field('spec')),
  }
}

/** Most crawls have none: their spec is not parsed every time somebody looks at them. */
function argsIn(spec: string): Pick<CrawlInfo, 'args'> {
  if (!spec.includes('"args":')) return {}
  const { args } = JSON.parse(spec) as CrawlSpec
  return args === undefined ? {} : { args }
}

function joined(a: WorkerInfo, b: WorkerInfo): WorkerInfo {
  return {
    worker: a.worker,
    inFlight: a.inFlight + b.inFlight,
    done: a.done + b.done,
    failed: a.failed + b.failed,
    startedAt: Math.min(a.startedAt, b.startedAt),
    seenAt: Math.max(a.seenAt, b.seenAt),
    progressAt:
      a.progressAt === null || b.progressAt === null
        ? (a.progressAt ?? b.progressAt)
        : Math.max(a.progressAt, b.progressAt),
    beatAt: earlier(a.beatAt, b.beatAt),
    lostAt: earlier(a.lostAt, b.lostAt),
    about: a.about ?? b.about,
  }
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: items.length / size }, (_, nth) => items.slice(nth * size, (nth + 1) * size))
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}
