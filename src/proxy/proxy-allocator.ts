import type { Clock, Random } from '../clock.js'
import type { Limits } from '../frontier/frontier.js'
import type { HostKey } from '../url/link.js'
import { chooseProxies } from './choose.js'
import type { Pool, ProxyChoice } from './pool.js'
import type { PoolProxy, ProxyId } from './proxy.js'
import type { ProxyAnswer, ProxyAsk, ProxyLedger, ProxyReport, ProxyScore, ProxyVerdict } from './proxy-ledger.js'

/**
 * Where the visits of a worker get their proxies: what is asked for in the same turn of the event loop goes to the ledger in one call, and so do
 * reports. It waits for nothing but the ledger: a caller that has to wait does so on its own.
 */
export interface ProxyAllocator {
  acquire(need: ProxyNeed): Promise<Acquired>
  /** Once for every grant. Does not wait; a report that the ledger could not take is sent again with the next ones. */
  report(grant: ProxyGrant, outcome: ProxyOutcome): void
  /** A message to the queue is about to leave: reports that wait travel with it. */
  goAlong(): void
  /** Sends what is left. */
  close(): Promise<void>
}

export interface ProxyNeed {
  readonly pool: Pool
  readonly choose: ProxyChoice
  /** Two letters, lower case; null: any. */
  readonly country: string | null
  /** The pace key. */
  readonly host: HostKey
  /** Its registrable domain. */
  readonly site: string
  /** Of one proxy on the host. */
  readonly limits: Limits
  /** A grant that is never reported ends after this. */
  readonly holdMs: number
  /** Proxies with a session to continue: asked for first. */
  readonly prefer?: readonly ProxyId[]
  /** This proxy and no other: the next request of a visit that began with it. */
  readonly stay?: ProxyId
}

export type Acquired =
  | { readonly ok: true; readonly grant: ProxyGrant }
  /** `none`: the pool has no proxy in that country. */
  | { readonly ok: false; readonly waitMs: number; readonly why: 'paced' | 'resting' | 'none' }

/** A request may leave through `proxy`. */
export interface ProxyGrant {
  readonly ask: string
  readonly proxy: PoolProxy
  /** Valid for this long, from when it was answered. */
  readonly permitMs: number
  readonly need: ProxyNeed
}

export interface ProxyOutcome {
  readonly verdict: ProxyVerdict
  /** From dispatch to now; null: nothing was sent. */
  readonly elapsedMs: number | null
  /** On the wire, for the cost. */
  readonly bytes: number
}

export interface AllocatorParts {
  readonly ledger: ProxyLedger
  readonly clock: Clock
  readonly random: Random
  /** Makes the names of asks unique among all workers. */
  readonly worker: string
}

/** Proxies named in one ask at most; a larger pool is asked for in several. */
const MOST_NAMED = 128
const SCORES_FRESH_MS = 5_000
/** Sites whose scores are kept at hand. */
const MOST_SITES = 1_000
/** Reports kept while the ledger is unreachable; the oldest are dropped, as if their worker had died. */
const MOST_UNSENT = 10_000
const RESEND_MS = 1_000
/**
 * Reports wait this long for a message to the queue with which they travel: one of their own to the database thread and back costs as much CPU as half a
 * page. The outbox sends one as soon as somebody may wait for the slot. Bad news does not wait.
 */
const GATHER_MS = 20

export function createProxyAllocator({ ledger, clock, random, worker }: AllocatorParts): ProxyAllocator {
  const turns = new Map<string, number>()
  const scores = createScoreBook(ledger, clock)
  const reports = reportPost(ledger, clock)
  const asks = gathered<ProxyAsk, ProxyAnswer>((batch) => {
    // First: the slots that they free are asked for.
    reports.goAlong()
    return ledger.grant(batch)
  })
  const arrivals = arrivalBook()
  let asked = 0
  return {
    async acquire(need) {
      const { pool, choose, country, host, site, limits, holdMs, prefer, stay } = need
      const turn = turns.get(pool.name) ?? Math.floor(random() * pool.proxies.length)
      turns.set(pool.name, turn + 1)
      const known = choose === 'cheapest' ? scores.of(pool.name, site) : NO_SCORES
      const choosing = {
        choose,
        country,
        turn,
        scores: known,
        ...(prefer && { prefer }),
        ...(stay !== undefined && { stay }),
      }
      const proxies = chooseProxies(pool, choosing, random)
      let refused: Extract<ProxyAnswer, { ok: false }> = { ok: false, waitMs: 0, why: 'none' }
      for (let at = 0; at < proxies.length; at += MOST_NAMED) {
        const named = proxies.slice(at, at + MOST_NAMED)
        const ask = `${worker}.${(asked++).toString(36)}`
        const ids = named.map(({ id }) => id)
        const answer = await asks({ ask, pool: pool.name, proxies: ids, host, site, limits, holdMs })
        if (!answer.ok) {
          refused = sooner(refused, answer)
          continue
        }
        const proxy = named.find(({ id }) => id === answer.proxy)
        if (proxy === undefined) continue
        return { ok: true, grant: { ask, proxy, permitMs: answer.permitMs, need } }
      }
      return refused
    },
    report({ ask, proxy, need }, { verdict, elapsedMs, bytes }) {
      const { pool, host, site, limits } = need
      const cost = elapsedMs === null ? 0 : proxy.cost.perRequest + (proxy.cost.perGb * bytes) / 1e9
      reports.add({
        ...{ ask, pool: pool.name, proxy: proxy.id, host, site, limits },
        ...{ verdict, bytes, cost, rest: pool.rest },
        ...(elapsedMs === null ? { elapsedMs } : arrivals.of(`${pool.name} ${host}`, proxy.id, elapsedMs)),
      })
      if (verdict.kind === 'banned' || verdict.kind === 'broken') queueMicrotask(reports.goAlong)
    },
    goAlong: reports.goAlong,
    close: () => reports.close(),
  }
}

/** Proxies on hosts whose fastest request is remembered. */
const MOST_ARRIVALS = 20_000
/** A route that has become slower is known as such after about fifty requests. */
const FASTEST_DRIFT = 0.02

/**
 * When a request reached the site. We know when it was sent, but the proxy may delay it, so that the next one follows too closely. Whatever it took longer
 * than the fastest request on its route counts as such a delay: otherwise equal requests then keep their distance at the site, and a route that is merely
 * long costs no time.
 */
function arrivalBook() {
  const fastest = new Map<string, number>()
  return {
    of(host: string, proxy: ProxyId, tookMs: number): { elapsedMs: number; tookMs: number } {
      const route = `${host} ${proxy}`
      // A route that is new to this worker counts as long as the fastest of the others. Nothing is known about the very first, and those are delayed most.
      const known = Math.min(tookMs, fastest.get(route) ?? fastest.get(host) ?? 0)
      if (fastest.size >= MOST_ARRIVALS) fastest.clear()
      for (const place of [route, host]) {
        const before = fastest.get(place) ?? tookMs
        fastest.set(place, Math.min(tookMs, before + (tookMs - before) * FASTEST_DRIFT))
      }
      return { elapsedMs: known, tookMs }
    },
  }
}

type Refused = Extract<ProxyAnswer, { ok: false }>

/** Of two parts of a pool: one that is only paced is better than one that rests. */
function sooner(a: Refused, b: Refused): Refused {
  if (a.why === 'none') return b
  if (b.why === 'none') return a
  if (a.why !== b.why) return a.why === 'paced' ? a : b
  return a.waitMs <= b.waitMs ? a : b
}

/** What is asked in the same turn of the event loop, in one call. */
function gathered<Ask, Answer>(call: (asks: readonly Ask[]) => Promise<readonly Answer[]>) {
  let waiting: { ask: Ask; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = []
  const send = async () => {
    const batch = waiting
    waiting = []
    try {
      const answers = await call(batch.map(({ ask }) => ask))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index]
        if (answer === undefined) reject(new Error('the ledger answered fewer asks than it was given'))
        else resolve(answer)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  return (ask: Ask) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ ask, resolve, reject })
      if (waiting.length === 1) setImmediate(() => void send())
    })
}

/** A report can be repeated, so those that failed are sent again, after a while and with what came meanwhile. */
function reportPost(ledger: Pick<ProxyLedger, 'report'>, clock: Clock) {
  let unsent: ProxyReport[] = []
  const sending = new Set<Promise<void>>()
  let cancel: (() => void) | null = null
  let unreachable = false
  const send = async (batch: readonly ProxyReport[]): Promise<void> => {
    try {
      await ledger.report(batch)
    } catch {
      unsent = [...batch, ...unsent].slice(-MOST_UNSENT)
      cancel?.()
      cancel = clock.after(RESEND_MS, flush)
      unreachable = true
    }
  }
  const flush = () => {
    cancel?.()
    cancel = null
    unreachable = false
    if (unsent.length === 0) return
    const sent = send(unsent)
    unsent = []
    sending.add(sent)
    void sent.finally(() => sending.delete(sent))
  }
  return {
    goAlong() {
      if (!unreachable) flush()
    },
    add(report: ProxyReport) {
      unsent.push(report)
      cancel ??= clock.after(GATHER_MS, flush)
    },
    async close() {
      await Promise.all(sending)
      flush()
      await Promise.all(sending)
      cancel?.()
    },
  }
}

const NO_SCORES: ReadonlyMap<ProxyId, ProxyScore> = new Map()

/** The scores of the sites that are being visited, read again in the background when they have grown old: no ask waits for them. */
function createScoreBook(ledger: Pick<ProxyLedger, 'scoresOn'>, clock: Clock) {
  interface Leaf {
    readAt: number
    reading: boolean
    scores: ReadonlyMap<ProxyId, ProxyScore>
  }
  const leaves = new Map<string, Leaf>()
  const read = async (leaf: Leaf, pool: string, site: string) => {
    leaf.reading = true
    try {
      const rows = await ledger.scoresOn(pool, site)
      leaf.scores = new Map(rows.map((row) => [row.proxy, row]))
    } catch {
      // The ledger is unreachable: the old scores will do.
    }
    leaf.readAt = clock.mono()
    leaf.reading = false
  }
  return {
    of(pool: string, site: string): ReadonlyMap<ProxyId, ProxyScore> {
      const key = `${pool} ${site}`
      let leaf = leaves.get(key)
      if (leaf === undefined) {
        if (leaves.size >= MOST_SITES) leaves.clear()
        leaf = { readAt: Number.NEGATIVE_INFINITY, reading: false, scores: NO_SCORES }
        leaves.set(key, leaf)
      }
      if (!leaf.reading && clock.mono() - leaf.readAt > SCORES_FRESH_MS) void read(leaf, pool, site)
      return leaf.scores
    },
  }
}
