import { ShoalError } from '../../errors.js'
import type { RedisConnection } from '../../redis/connection.js'
import { bytes, list, number, text, word } from '../../redis/replies.js'
import type { Fingerprint, HostKey, Link } from '../../url/link.js'
import {
  type AddResult,
  type Capabilities,
  type CrawlId,
  type CrawlInfo,
  type CrawlSpec,
  type CrawlStats,
  type DeadFilter,
  type Frontier,
  type HostInfo,
  type HostPage,
  type HostSettings,
  type Lease,
  type LeaseRef,
  type LeaseReply,
  type LeaseRequest,
  type LinkInfo,
  type LinkQuery,
  type LinkSteer,
  type LinkSteered,
  type Outcome,
  type Permit,
  POSITION_CAP,
  REMOVED,
  type Release,
  type RestoredLink,
  type Settlement,
  type Whereabouts,
  type WorkerId,
  type WorkerInfo,
} from '../frontier.js'
import { checkSeen } from '../seen.js'
import {
  decimalOf,
  decodeItem,
  decodeLease,
  encodeFailure,
  encodeFailures,
  encodeHistory,
  encodeItem,
  encodeLimits,
  encodeLinks,
  encodeReport,
  encodeSettlement,
  encodeSpec,
} from './codec.js'
import { CrawlViews, type DeadGroup } from './crawl-views.js'
import { LinkViews } from './link-views.js'
import { seekLink } from './seek-link.js'
import { type RedisFrontierOptions, Shards } from './shards.js'
import { parseToken, type Token, tokenOf } from './token.js'

/** Arguments of one script call: unpack in Lua fails near 8,000, and no call should take long. */
const LINKS_AT_ONCE = 500
const LEASES_AT_ONCE = 500
const SWEPT_AT_ONCE = 100
/** A link that moved between being found and being steered is looked for again, so often at most. */
const STEER_TRIES = 5
/** Links that one bloom filter is made for. */
const BLOOM_CAPACITY = 10_000_000

/** One question of a lease call over several shards. Only one that is alone gets a link that must be held alone. */
interface LeasePart {
  readonly shard: number
  readonly want: number
  readonly round: string
  readonly alone: boolean
}

interface LeasePlan {
  readonly seq: number
  readonly parts: LeasePart[]
  complete: boolean
}

interface LeasingCrawl {
  readonly id: CrawlId
  readonly gen: number
  readonly visibilityMs: number
}

/** A frontier with a door of its own for the keeper: renewing all leases of a worker without naming them. */
export interface RedisFrontier extends Frontier {
  /**
   * Renews every lease of the worker that is not older than `holdMs`, without their tokens, but for `disowned` ones; answers the epochs
   * (`Lease.epoch`) that were renewed.
   */
  keep(worker: WorkerId, holdMs: number, disowned: readonly string[], waiting: readonly string[]): Promise<string[]>
}

export async function openRedisFrontier(
  connection: RedisConnection,
  options: RedisFrontierOptions = {},
): Promise<RedisFrontier> {
  return new ShardedFrontier(await Shards.open(connection, options))
}

class ShardedFrontier implements RedisFrontier {
  readonly can: Capabilities
  readonly #shards: Shards
  readonly #crawlViews: CrawlViews
  readonly #linkViews: LinkViews
  /** Other shards in which a lease of ours holds the slot of a host. */
  readonly #guests = new Map<string, Set<HostKey>>()
  /** Whose lease it is: a slot in another shard is forfeited by worker. */
  readonly #holders = new Map<string, WorkerId>()
  /** What the last lease call of each worker asked of which shard. */
  readonly #plans = new Map<WorkerId, LeasePlan>()

  constructor(shards: Shards) {
    this.#shards = shards
    this.can = {
      priorities: shards.count === 1 ? 'exact' : 'approximate',
      shared: true,
      durable: true,
      ended: 'counted',
      seen: ['exact', 'bloom', 'set'],
    }
    this.#crawlViews = new CrawlViews(shards)
    this.#linkViews = new LinkViews(shards, this.#crawlViews)
  }

  get doubts(): number {
    return this.#shards.losses
  }

  async identity(): Promise<string> {
    return this.#shards.identity
  }

  async mark(): Promise<number> {
    const marks = await this.#everywhere((shard) => this.#shards.command(shard, 'INCR', 'mark'))
    // A shard that went back must not hide behind the others.
    return Math.min(...marks.map(number))
  }

  async open(spec: CrawlSpec): Promise<CrawlInfo> {
    checkSeen(spec, this.can)
    const seen = spec.seen ?? { mode: 'exact', scope: 'crawl', ttlMs: null, errorRate: 0.001 }
    const named = [
      ...Object.entries(spec.routeLimits).map(([route, limits]) => [`r:${route}`, encodeLimits(limits)] as const),
      ...Object.entries(spec.keyLimits ?? {}).map(([key, limits]) => [`k:${key}`, encodeLimits(limits)] as const),
    ]
    const capacity = Math.ceil(BLOOM_CAPACITY / this.#shards.count)
    const args = (shard: number) => [
      spec.id,
      spec.spider,
      spec.spiderHash,
      encodeSpec(spec, shard, this.#shards.count),
      String(spec.gen),
      [seen.mode, seen.scope, seen.ttlMs ?? 0, seen.errorRate, capacity].join('|'),
      JSON.stringify(spec),
      String(named.length),
      ...named.flat(),
    ]
    await this.#everywhere((shard) => this.#shards.run('open', shard, args(shard)))
    return this.#crawlViews.info(spec.id)
  }

  async add(crawl: CrawlId, links: readonly Link[]): Promise<AddResult> {
    const total = { added: 0, known: 0, refused: 0, pending: 0 }
    const parts = this.#byShard(links, (link) => this.#shards.of(link.host))
    if (parts.size === 0) parts.set(0, [])
    await Promise.all(
      [...parts].map(async ([shard, part]) => {
        let pending = 0
        for (let from = 0; from === 0 || from < part.length; from += LINKS_AT_ONCE) {
          const result = await this.#addTo(shard, crawl, part.slice(from, from + LINKS_AT_ONCE))
          if (typeof result === 'string') throw notPossible(result, crawl)
          total.added += result.added
          total.known += result.known
          total.refused += result.refused
          pending = result.pending
        }
        total.pending += pending
      }),
    )
    if (this.#shards.count === 1) return total
    const { queued, delayed } = await this.#crawlViews.stats(crawl)
    return { ...total, pending: queued + delayed }
  }

  /** Links refused for want of room are offered once more when other shards could spare some. */
  async #addTo(shard: number, crawl: CrawlId, links: readonly Link[]): Promise<AddResult | string> {
    const first = await this.#offer(shard, crawl, links, this.#shards.count > 1)
    if (typeof first === 'string' || first.refused === 0 || this.#shards.count === 1) return first
    await this.#share(crawl, shard, first.refused)
    const second = await this.#offer(shard, crawl, links, false)
    if (typeof second === 'string') return second
    return {
      added: first.added + second.added,
      known: second.known - first.added,
      refused: second.refused,
      pending: second.pending,
    }
  }

  async #offer(shard: number, crawl: CrawlId, links: readonly Link[], uncounted: boolean): Promise<AddResult | string> {
    const args: (string | Buffer)[] = [crawl, uncounted ? '1' : '0']
    encodeLinks(links, args)
    const reply = await this.#shards.run('add', shard, args)
    const refusal = word(reply)
    if (refusal !== null) return refusal
    const [added = 0, known = 0, refused = 0, pending = 0, woke = 0, quiet = 0] = list(reply).map(number)
    if (this.#shards.count > 1) {
      if (woke === 1) await this.#everywhere((other) => this.#shards.run('wake', other, [crawl]))
      if (quiet === 1) await this.#finishIfQuiet([crawl])
    }
    return { added, known, refused, pending }
  }

  /**
   * A shard has used up its share of a limit: it gets half of what the others can spare, at least as much as it needs now if they have it. Taken
   * before it is given, so that the sum never exceeds the limit. True when it got something.
   */
  async #share(crawl: CrawlId, needy: number, need: number): Promise<boolean> {
    const shares = await this.#crawlViews.shares(crawl)
    return shares !== null && this.#shareOut(crawl, needy, need, shares)
  }

  /** A shard that has links and no more bytes to spend gets some of the others': the budget is the crawl's. */
  async #shareBytes(crawl: CrawlId): Promise<void> {
    const shares = await this.#crawlViews.shares(crawl)
    for (const [shard, { used, share }] of shares?.entries() ?? []) {
      const [pending = 0, , bytes = 0] = used
      const [, , limit = -1] = share
      if (shares === null || pending === 0 || limit < 0 || bytes < limit) continue
      const spared = shares.map((other) => ({
        used: other.used,
        share: other.share.map((of, nth) => (nth === 2 ? of : -1)),
      }))
      await this.#shareOut(crawl, shard, bytes - limit + 1, spared)
      return
    }
  }

  async #shareOut(
    crawl: CrawlId,
    needy: number,
    need: number,
    shares: readonly { readonly used: readonly number[]; readonly share: readonly number[] }[],
  ): Promise<boolean> {
    const got = [0, 0, 0]
    for (const [shard, { used, share }] of shares.entries()) {
      if (shard === needy) continue
      const wish = share.map((limit, nth) => {
        const spare = limit - (used[nth] ?? 0)
        const short = Math.max(0, need - (got[nth] ?? 0))
        return limit < 0 || spare <= 0 ? 0 : -Math.min(spare, Math.max(Math.floor(spare / 2), short))
      })
      if (wish.every((amount) => amount === 0)) continue
      const taken = list(await this.#shards.run('share', shard, [crawl, ...wish.map(String)])).map(number)
      taken.forEach((amount, nth) => {
        got[nth] = (got[nth] ?? 0) - amount
      })
    }
    if (got.every((amount) => amount === 0)) return false
    await this.#shards.run('share', needy, [crawl, ...got.map(String)])
    return true
  }

  async restore(crawl: CrawlId, links: readonly RestoredLink[]): Promise<number> {
    let added = 0
    const parts = this.#byShard(links, ({ link }) => this.#shards.of(link.host))
    // Without links too: a crawl that is not paused refuses.
    if (parts.size === 0) parts.set(0, [])
    for (const [shard, part] of parts) {
      for (let from = 0; from === 0 || from < part.length; from += LINKS_AT_ONCE) {
        const args = [crawl, ...part.slice(from, from + LINKS_AT_ONCE).flatMap(restoredArgs)]
        const reply = await this.#shards.run('restore', shard, args)
        const refusal = word(reply)
        if (refusal === 'unknown') throw notPossible(refusal, crawl)
        if (refusal !== null) throw new ShoalError('usage', `crawl ${crawl} is ${refusal}: pause it first`)
        added += number(reply)
      }
    }
    return added
  }

  async seeded(crawl: CrawlId): Promise<void> {
    const replies = await this.#everywhere((shard) => this.#shards.run('seeded', shard, [crawl]))
    if (replies.some((reply) => word(reply) === 'unknown')) throw notPossible('unknown', crawl)
    await this.#finishIfQuiet([crawl])
  }

  async lease(request: LeaseRequest): Promise<LeaseReply> {
    if (this.#shards.count === 1) {
      const { reply } = await this.#leaseFrom(request, { shard: 0, want: request.want, round: '', alone: true })
      return reply
    }
    const known = this.#plans.get(request.worker)
    const plan = known?.seq === request.seq ? known : { seq: request.seq, parts: [], complete: false }
    this.#plans.set(request.worker, plan)
    // The reply was lost: the same questions to the same shards, and no others.
    const replies = await Promise.all(plan.parts.map((part) => this.#leaseFrom(request, part)))
    if (plan.complete) return merge(plan, replies)
    const ask = async (parts: readonly LeasePart[]) => {
      plan.parts.push(...parts)
      const answers = await Promise.all(parts.map((part) => this.#leaseFrom(request, part)))
      replies.push(...answers)
      return answers
    }
    const missing = () => request.want - sum(replies.map(({ reply }) => reply.leases.length))
    await this.#askInTurn(request, ask, missing)
    // A link that killed workers waits to be leased alone, which means by a worker that holds nothing in any shard.
    const waiting = replies.find(({ reply }) => reply.drain)
    if (
      waiting !== undefined &&
      request.want > 0 &&
      missing() === request.want &&
      (await this.#holdsNothing(request))
    ) {
      await ask([{ shard: waiting.shard, want: 1, round: '.3', alone: true }])
    }
    plan.complete = true
    return merge(plan, replies)
  }

  /** Each call begins with another shard, so that none is always asked last. */
  async #askInTurn(
    request: LeaseRequest,
    ask: (parts: readonly LeasePart[]) => Promise<{ shard: number; reply: LeaseReply }[]>,
    missing: () => number,
  ): Promise<void> {
    const { count, all } = this.#shards
    const turn = request.seq % count
    const order = [...all.slice(turn), ...all.slice(0, turn)]
    // An equal part of every shard, or one link of as many shards as are needed …
    const share = Math.min(request.want, Math.max(1, Math.floor(request.want / count)))
    const open: number[] = []
    for (let from = 0; from < count && (missing() > 0 || from === 0); ) {
      const some = order.slice(from, from + (request.want < count ? Math.max(1, missing()) : count))
      from += some.length
      const answers = await ask(some.map((shard) => ({ shard, want: share, round: '.1', alone: false })))
      open.push(...answers.filter(({ reply }) => reply.leases.length >= share).map(({ shard }) => shard))
    }
    // … then the rest of those that had as much.
    const rest = missing()
    const more = open.map((shard, nth) => {
      const want = Math.floor(rest / open.length) + (nth < rest % open.length ? 1 : 0)
      return { shard, want, round: '.2', alone: false }
    })
    await ask(more.filter(({ want }) => want > 0))
  }

  async #holdsNothing({ worker }: LeaseRequest): Promise<boolean> {
    const held = await this.#everywhere((shard) => this.#shards.command(shard, 'SCARD', `held:${worker}`))
    return held.every((count) => number(count) === 0)
  }

  async #leaseFrom(request: LeaseRequest, part: LeasePart): Promise<{ shard: number; reply: LeaseReply }> {
    const { worker, spiders, about } = request
    const { shard, want, round, alone } = part
    const args = [
      worker,
      `${request.seq}${round}`,
      String(Math.min(want, LEASES_AT_ONCE)),
      about === undefined ? '' : JSON.stringify(about),
      alone ? '0' : '1',
      ...spiders,
    ]
    const [idleMs, drain, names, records, quiet, now, deadlines] = list(await this.#shards.run('lease', shard, args))
    const crawls = new Map<number, LeasingCrawl>()
    const known = list(names)
    for (let i = 0; i < known.length; i += 4) {
      const [num, id, gen, visibilityMs] = known.slice(i, i + 4)
      crawls.set(number(num), { id: text(id), gen: number(gen), visibilityMs: number(visibilityMs) })
    }
    await this.#finishIfQuiet(list(quiet).map(text))
    const flat = list(records)
    const leases: Lease[] = []
    for (let i = 0; i < flat.length; i += 2) {
      const lease = this.#lease(shard, worker, text(flat[i]), bytes(flat[i + 1]), crawls)
      const deadline = list(deadlines)[i / 2]
      // A repeated call: what is left of permit and lease is counted from the first answer.
      if (deadline === undefined) leases.push(lease.fresh)
      else leases.push(lease.aged(number(now), number(deadline)))
    }
    return { shard, reply: { leases, idleMs: number(idleMs), drain: drain === 1 } }
  }

  #lease(shard: number, worker: WorkerId, epoch: string, record: Buffer, crawls: Map<number, LeasingCrawl>) {
    const { num, host, grantedAt, permitMs, attempts, throttles, bypassFresh, item } = decodeLease(record)
    const { link } = decodeItem(item, host)
    const crawl = crawls.get(num)
    if (crawl === undefined) throw new TypeError('the queue leased a link of a crawl that it did not name')
    const token = tokenOf({ shard, crawl: String(num), epoch, fp: link.fp })
    if (this.#shards.count > 1) this.#holders.set(token, worker)
    const fresh: Lease = {
      crawl: crawl.id,
      token,
      link,
      attempt: attempts + 1,
      throttles,
      gen: crawl.gen,
      epoch,
      permitMs,
      visibilityMs: crawl.visibilityMs,
      bypassFresh,
    }
    const aged = (now: number, deadline: number): Lease => ({
      ...fresh,
      permitMs: Math.max(0, permitMs - (now - grantedAt)),
      visibilityMs: deadline - now,
    })
    return { fresh, aged }
  }

  async permit(lease: LeaseRef, host: HostKey): Promise<Permit> {
    const token = this.#token(lease)
    const shard = this.#shards.of(host)
    const home = token.shard === shard
    if (!home && !(await this.#held(token))) return { ok: false, waitMs: 0, lost: true }
    const holder = this.#holders.get(lease.token) ?? ''
    const args = [lease.crawl, token.epoch, host, home ? '' : lease.token, holder]
    const reply = await this.#shards.run('permit', shard, args)
    if (word(reply) !== null) return { ok: false, waitMs: 0, lost: true }
    const [ok = 0, amount = 0] = list(reply).map(number)
    if (ok === 0) return { ok: false, waitMs: amount, lost: false }
    if (!home) {
      const guests = this.#guests.get(lease.token) ?? new Set()
      this.#guests.set(lease.token, guests.add(host))
    }
    return { ok: true, permitMs: amount / 1000 }
  }

  async #held(token: Token): Promise<boolean> {
    return list(await this.#shards.run('held', token.shard, [token.epoch]))[0] === 1
  }

  async release(releases: readonly Release[]): Promise<void> {
    const parts = this.#byShard(releases, ({ host }) => this.#shards.of(host))
    await Promise.all(
      [...parts].map(async ([shard, part]) => {
        for (let from = 0; from < part.length; from += LEASES_AT_ONCE) {
          const args = part.slice(from, from + LEASES_AT_ONCE).flatMap((release) => this.#releaseArgs(shard, release))
          await this.#shards.run('release', shard, args)
        }
      }),
    )
  }

  #releaseArgs(shard: number, { lease, host, elapsedMs, report }: Release): (string | Buffer)[] {
    const token = this.#token(lease)
    const home = token.shard === shard
    if (!home) this.#guests.get(lease.token)?.delete(host)
    return [lease.crawl, token.epoch, host, encodeReport(elapsedMs, report), home ? '' : lease.token]
  }

  async extend(worker: WorkerId, tokens: readonly string[]): Promise<string[]> {
    const parts = this.#byShard(tokens, (token) => parseToken(token, this.#shards.count).shard)
    if (parts.size === 0) parts.set(0, [])
    const lost = await Promise.all(
      [...parts].map(async ([shard, part]) => {
        const epochs = part.map((token) => parseToken(token, this.#shards.count).epoch)
        const gone = new Set<string>()
        for (let from = 0; from === 0 || from < epochs.length; from += LEASES_AT_ONCE) {
          const some = epochs.slice(from, from + LEASES_AT_ONCE)
          for (const epoch of list(await this.#shards.run('extend', shard, [worker, ...some]))) gone.add(text(epoch))
        }
        return part.filter((_, index) => gone.has(epochs[index] ?? ''))
      }),
    )
    return lost.flat()
  }

  async keep(
    worker: WorkerId,
    holdMs: number,
    disowned: readonly string[],
    waiting: readonly string[],
  ): Promise<string[]> {
    const epochs = [String(disowned.length), ...disowned, ...waiting]
    const kept = await this.#everywhere((shard) =>
      this.#shards.run('keep', shard, [worker, String(holdMs), String(5000), ...epochs]),
    )
    return kept.flatMap((reply) => list(reply).map(text))
  }

  async settle(settlements: readonly Settlement[]): Promise<boolean[]> {
    const answers: boolean[] = []
    const numbered = settlements.map((settlement, index) => ({ ...settlement, index }))
    await this.#sendLinksAway(settlements)
    const parts = this.#byShard(numbered, ({ lease }) => this.#token(lease).shard)
    const quiet = new Set<CrawlId>()
    const refused: Settlement[] = []
    await Promise.all(
      [...parts].map(async ([shard, part]) => {
        for (const batch of batches(part)) {
          const args: (string | Buffer)[] = []
          for (const settlement of batch) this.#settleArgs(shard, settlement, args)
          const [answered, quietened] = list(await this.#shards.run('settle', shard, args))
          list(answered).forEach((answer, nth) => {
            const settlement = batch[nth]
            if (settlement === undefined) return
            answers[settlement.index] = number(answer) > 0
            if (number(answer) > 1) refused.push(settlement)
          })
          for (const id of list(quietened)) quiet.add(text(id))
        }
      }),
    )
    if (this.#shards.count > 1) {
      await this.#freeGuests(settlements.map(({ lease }) => lease))
      for (const { lease, outcome } of refused) {
        const { shard } = this.#token(lease)
        const own = outcome.kind === 'done' ? outcome.links.filter((link) => this.#shards.of(link.host) === shard) : []
        await this.#addTo(shard, lease.crawl, own)
      }
      await this.#finishIfQuiet([...quiet])
    }
    return answers
  }

  /**
   * Links of other shards are in the queue before the link that they were found on has ended: else the crawl could look finished. So are those
   * of a page with more links than one call should take.
   */
  async #sendLinksAway(settlements: readonly Settlement[]): Promise<void> {
    for (const { lease, outcome } of settlements) {
      if (outcome.kind !== 'done') continue
      if (this.#shards.count === 1 && outcome.links.length <= LINKS_AT_ONCE) continue
      const token = this.#token(lease)
      const parts = this.#byShard(outcome.links, (link) => this.#shards.of(link.host))
      const own = parts.get(token.shard) ?? []
      if (own.length > LINKS_AT_ONCE) parts.set(token.shard, own.slice(0, -LINKS_AT_ONCE))
      else parts.delete(token.shard)
      if (parts.size === 0 || !(await this.#held(token))) continue
      await Promise.all([...parts].map(([shard, links]) => this.#addInParts(shard, lease.crawl, links)))
    }
  }

  async #addInParts(shard: number, crawl: CrawlId, links: readonly Link[]): Promise<void> {
    for (let from = 0; from < links.length; from += LINKS_AT_ONCE) {
      await this.#addTo(shard, crawl, links.slice(from, from + LINKS_AT_ONCE))
    }
  }

  #settleArgs(shard: number, { lease, outcome }: Settlement, args: (string | Buffer)[]): void {
    const token = this.#token(lease)
    const links: (string | Buffer)[] = []
    if (outcome.kind === 'done') {
      const all = this.#shards.count === 1
      const own = all ? outcome.links : outcome.links.filter((link) => this.#shards.of(link.host) === shard)
      encodeLinks(own.slice(-LINKS_AT_ONCE), links)
    }
    const head = encodeSettlement({ crawl: Number(token.crawl), fp: token.fp, outcome, linkArgs: links.length })
    args.push(lease.crawl, token.epoch, head, failureText(outcome))
    for (const link of links) args.push(link)
  }

  /** Slots on other shards that a worker did not release before the end: nothing is known about those requests, so nothing is reported. */
  async #freeGuests(leases: readonly LeaseRef[]): Promise<void> {
    const slots = leases.flatMap(({ token }) => [...(this.#guests.get(token) ?? [])].map((host) => ({ token, host })))
    for (const { token } of leases) {
      this.#guests.delete(token)
      this.#holders.delete(token)
    }
    const parts = this.#byShard(slots, ({ host }) => this.#shards.of(host))
    await Promise.all(
      [...parts].map(([shard, part]) =>
        this.#shards.run(
          'free-guests',
          shard,
          part.map(({ token, host }) => `${token}\n${host}`),
        ),
      ),
    )
  }

  async reap(limit: number): Promise<number> {
    let reaped = 0
    for (const shard of this.#shards.all) {
      const most = Math.min(limit - reaped, LEASES_AT_ONCE)
      const [count, quiet] = list(await this.#shards.run('reap', shard, [String(Math.max(0, most))]))
      reaped += number(count)
      await this.#shards.run('sweep', shard, [String(SWEPT_AT_ONCE)])
      await this.#finishIfQuiet(list(quiet).map(text))
    }
    return reaped
  }

  async forfeit(worker: WorkerId): Promise<number> {
    const counts = await this.#everywhere(async (shard) => {
      for (let all = 0; ; ) {
        const [count, quiet] = list(await this.#shards.run('forfeit', shard, [worker, String(LEASES_AT_ONCE)]))
        await this.#finishIfQuiet(list(quiet).map(text))
        all += number(count)
        if (number(count) < LEASES_AT_ONCE) return all
      }
    })
    for (const [token, holder] of this.#holders) if (holder === worker) this.#holders.delete(token)
    return sum(counts)
  }

  async setState(crawl: CrawlId, state: 'running' | 'paused' | 'cancelled'): Promise<void> {
    if (this.#shards.count > 1) {
      // A crawl has ended when all of its shards say so; one that has not forbids nothing.
      const current = (await this.#crawlViews.info(crawl)).state
      // The same state again goes to all of them: the call before may have reached only some.
      if (current !== state && (current === 'finished' || current === 'cancelled')) throw notPossible(current, crawl)
    }
    const replies = await this.#everywhere((shard) => this.#shards.run('set-state', shard, [crawl, state]))
    const refusals = replies.flatMap((reply) => word(reply) ?? [])
    const [refusal] = refusals
    if (refusal !== undefined && (refusal === 'unknown' || this.#shards.count === 1)) throw notPossible(refusal, crawl)
    await this.#finishIfQuiet([crawl])
  }

  async remove(crawl: CrawlId): Promise<void> {
    const state = await this.#crawlViews.stateOfRest(crawl)
    if (state === null) throw notPossible('unknown', crawl)
    if (state !== 'finished' && state !== 'cancelled') {
      throw new ShoalError('usage', `crawl ${crawl} is ${state}: cancel it first`)
    }
    await this.#everywhere(async (shard) => {
      if (state === 'cancelled') await this.#shards.run('set-state', shard, [crawl, state])
      await this.#shards.run('remove', shard, [crawl])
      while (number(await this.#shards.run('sweep', shard, [String(SWEPT_AT_ONCE)])) === 1);
    })
  }

  crawls(): Promise<CrawlInfo[]> {
    return this.#crawlViews.crawls()
  }

  stats(crawl: CrawlId): Promise<CrawlStats> {
    return this.#crawlViews.stats(crawl)
  }

  hosts(crawl: CrawlId, page: HostPage): Promise<HostInfo[]> {
    return this.#crawlViews.hosts(crawl, page)
  }

  workers(): Promise<WorkerInfo[]> {
    return this.#crawlViews.workers()
  }

  links(query: LinkQuery): Promise<LinkInfo[]> {
    return this.#linkViews.links(query)
  }

  explain(crawl: CrawlId, fp: Fingerprint, host?: HostKey): Promise<Whereabouts> {
    return this.#linkViews.explain(crawl, fp, host)
  }

  deadByError(crawl: CrawlId): Promise<DeadGroup[]> {
    return this.#linkViews.deadByError(crawl)
  }

  replay(crawl: CrawlId, filter: DeadFilter): Promise<number> {
    return this.#moveDead(crawl, filter, 'replay')
  }

  purge(crawl: CrawlId, filter: DeadFilter): Promise<number> {
    return this.#moveDead(crawl, filter, 'purge')
  }

  async #moveDead(crawl: CrawlId, filter: DeadFilter, how: 'replay' | 'purge'): Promise<number> {
    let moved = 0
    // Asked without links first: a cancelled crawl refuses even if nothing is dead.
    const refusal = word(await this.#shards.run('replay', 0, [crawl, how]))
    if (refusal !== null) throw notPossible(refusal, crawl)
    for await (const { shard, fps } of this.#linkViews.deadMatching(crawl, filter)) {
      const [count, woke] = list(await this.#shards.run('replay', shard, [crawl, how, ...fps])).map(number)
      moved += count ?? 0
      if (woke === 1 && this.#shards.count > 1) {
        await this.#everywhere((other) => this.#shards.run('wake', other, [crawl]))
      }
    }
    return moved
  }

  async steer(crawl: CrawlId, fp: Fingerprint, host: HostKey, order: LinkSteer): Promise<LinkSteered> {
    const { state } = await this.#crawlViews.info(crawl)
    if (state === 'cancelled' && order !== 'remove') throw notPossible(state, crawl)
    const shard = this.#shards.of(host)
    const seen = await this.#shards.run('seen', shard, [crawl, decimalOf(fp)])
    const num = await this.#crawlViews.number(shard, crawl)
    if (seen !== 1 || num === null) return 'unknown'
    for (let tries = 0; tries < STEER_TRIES; tries++) {
      const sought = await seekLink({ shards: this.#shards, shard, num, fp, host })
      if (typeof sought === 'string') return sought
      if (sought.where === 'dead' && order === 'promote') return 'ended'
      const args = [order, fp, sought.where, sought.lane, String(sought.level), sought.held]
      const reply = await this.#shards.run('steer', shard, [
        crawl,
        ...args,
        encodeFailure(REMOVED),
        String(2 * POSITION_CAP),
      ])
      const refusal = word(reply)
      if (refusal === 'moved') continue
      if (refusal !== null) throw notPossible(refusal, crawl)
      const [, woke, quiet] = list(reply).map(number)
      if (woke === 1 && this.#shards.count > 1) {
        await this.#everywhere((other) => this.#shards.run('wake', other, [crawl]))
      }
      if (quiet === 1) await this.#finishIfQuiet([crawl])
      return 'ok'
    }
    // It moves from hand to hand faster than it can be found.
    return 'in_flight'
  }

  async setHost(host: HostKey, settings: HostSettings): Promise<void> {
    const setting = (value: number | null | undefined) => (value === undefined ? '' : String(value))
    const { delayMs, concurrency, floorMs, blocked } = settings
    const closed = blocked === undefined ? '' : blocked === true ? '1' : '0'
    const args = [host, setting(delayMs), setting(concurrency), setting(floorMs), closed]
    await this.#shards.run('set-host', this.#shards.of(host), args)
  }

  close(): Promise<void> {
    return this.#shards.close()
  }

  /**
   * Over several shards a crawl is finished when all of them were quiet at one moment: all are counted twice, and nothing was added to any in
   * between. Each is then closed on the condition that nothing was added since.
   */
  async #finishIfQuiet(crawls: readonly CrawlId[]): Promise<void> {
    if (this.#shards.count === 1) return
    for (const crawl of crawls) {
      await this.#shareBytes(crawl)
      const before = await this.#crawlViews.quietTotals(crawl)
      if (before === null) continue
      const after = await this.#crawlViews.quietTotals(crawl)
      if (after === null || after.some((total, shard) => total !== before[shard])) continue
      const closed = await this.#everywhere((shard) =>
        this.#shards.run('finish', shard, [crawl, String(after[shard] ?? -1)]),
      )
      if (closed.some((reply) => reply !== 1)) {
        await this.#everywhere((shard) => this.#shards.run('wake', shard, [crawl]))
      }
    }
  }

  #token(lease: LeaseRef): Token {
    return parseToken(lease.token, this.#shards.count)
  }

  #everywhere<Result>(call: (shard: number) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.#shards.all.map(call))
  }

  #byShard<Item>(items: readonly Item[], shardOf: (item: Item) => number): Map<number, Item[]> {
    const parts = new Map<number, Item[]>()
    if (this.#shards.count === 1) return items.length === 0 ? parts : parts.set(0, [...items])
    for (const item of items) {
      const shard = shardOf(item)
      const part = parts.get(shard)
      if (part === undefined) parts.set(shard, [item])
      else part.push(item)
    }
    return parts
  }
}

/** Settlements of one call: bounded in leases and in links. A page with thousands of links goes alone. */
function* batches<Item extends Settlement>(settlements: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = []
  let links = 0
  for (const settlement of settlements) {
    const found = settlement.outcome.kind === 'done' ? settlement.outcome.links.length : 0
    if (batch.length > 0 && (batch.length >= LEASES_AT_ONCE || links + found > 2 * LINKS_AT_ONCE)) {
      yield batch
      batch = []
      links = 0
    }
    batch.push(settlement)
    links += found
  }
  if (batch.length > 0) yield batch
}

function failureText(outcome: Outcome): string {
  if (outcome.kind === 'done' || outcome.kind === 'back') return ''
  const failure = encodeFailure(outcome.failure)
  return outcome.kind === 'retry' ? failure : `${outcome.failure.code}\n${failure}`
}

function restoredArgs(restored: RestoredLink): (string | Buffer)[] {
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

/** Who got the link that must be held alone need not drain for it. */
function merge(plan: LeasePlan, parts: readonly { readonly reply: LeaseReply }[]): LeaseReply {
  const replies = parts.map(({ reply }) => reply)
  const leases = replies.flatMap((reply) => reply.leases)
  const holdsAlone = plan.parts.at(-1)?.alone === true && leases.length > 0
  return {
    leases,
    idleMs: Math.min(...replies.map((reply) => reply.idleMs)),
    drain: !holdsAlone && replies.some((reply) => reply.drain),
  }
}

function notPossible(refusal: string, crawl: CrawlId): ShoalError {
  if (refusal === 'unknown') return new ShoalError('not_found', `there is no crawl ${crawl}`)
  return new ShoalError('crawl_ended', `crawl ${crawl} is ${refusal}`)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
