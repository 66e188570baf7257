import type { ShoalError } from '../../errors.js'
import type { RedisConnection } from '../../redis/connection.js'
import { list, number, text, word } from '../../redis/replies.js'
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
import {
  checkSeen,
  crawlEnded,
  hasEnded,
  refuseCancelled,
  refuseUnended,
  refuseUnpaused,
  unknownCrawl,
} from '../refusals.js'
import { poisonFormat, steerStep } from '../transitions.js'
import {
  decimalOf,
  encodeFailure,
  encodeLimits,
  encodeLinks,
  encodeReport,
  encodeRestored,
  encodeSettlement,
  encodeSpec,
} from './codec.js'
import { CrawlViews, type DeadGroup } from './crawl-views.js'
import { DeadLetters } from './dead-letters.js'
import { GuestSlots, slotField } from './guest-slots.js'
import { type LeasePart, LeasePlans } from './lease-plan.js'
import { decodeLeaseReply } from './lease-reply.js'
import { LinkSearch } from './link-search.js'
import { LinkViews } from './link-views.js'
import { seekLink } from './seek-link.js'
import { LEASES_AT_ONCE, LINKS_AT_ONCE, linksOf, outcomeText, settleBatches, slices } from './settle-batches.js'
import { bytesOnly, giveUp, outOfBytes, type ShardShare } from './shard-shares.js'
import { type RedisFrontierOptions, Shards } from './shards.js'
import { parseToken, type Token } from './token.js'

const SWEPT_AT_ONCE = 100
/** A link that moved between being found and being steered is searched for again, this often at most. */
const STEER_TRIES = 5
/** Links that one bloom filter is created for. */
const BLOOM_CAPACITY = 10_000_000

/** A frontier with one more call, for the keeper: it renews all leases of a worker without naming them. */
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
  readonly #search: LinkSearch
  readonly #deadLetters: DeadLetters
  readonly #guests = new GuestSlots()
  readonly #plans: LeasePlans

  constructor(shards: Shards) {
    this.#shards = shards
    this.#plans = new LeasePlans(shards.count)
    this.can = {
      priorities: shards.count === 1 ? 'exact' : 'approximate',
      shared: true,
      durable: true,
      ended: 'counted',
      leasesWithoutPermit: false,
      seen: ['exact', 'bloom', 'set'],
    }
    this.#crawlViews = new CrawlViews(shards)
    this.#linkViews = new LinkViews(shards, this.#crawlViews)
    this.#search = new LinkSearch(shards, this.#crawlViews, this.#linkViews)
    this.#deadLetters = new DeadLetters(shards, this.#crawlViews)
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
        for (const some of slices(part, LINKS_AT_ONCE)) {
          const result = await this.#addTo(shard, crawl, some)
          if (typeof result === 'string') throw refused(result, crawl)
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
   * A shard has used up its share of a limit: it gets some of the others'. Taken before it is given, so that the sum never exceeds the
   * limit.
   */
  async #share(crawl: CrawlId, needy: number, need: number): Promise<void> {
    const shares = await this.#crawlViews.shares(crawl)
    if (shares !== null) await this.#shareOut(crawl, needy, need, shares)
  }

  /** A shard that has links and no more bytes to spend gets some of the others': the budget is the crawl's. */
  async #shareBytes(crawl: CrawlId): Promise<void> {
    const shares = (await this.#crawlViews.shares(crawl)) ?? []
    const needy = outOfBytes(shares)
    if (needy !== null) await this.#shareOut(crawl, needy.shard, needy.need, bytesOnly(shares))
  }

  async #shareOut(crawl: CrawlId, needy: number, need: number, shares: readonly ShardShare[]): Promise<void> {
    const got = [0, 0, 0]
    for (const [shard, share] of shares.entries()) {
      if (shard === needy) continue
      const wish = giveUp(share, need, got)
      if (wish.every((amount) => amount === 0)) continue
      const changed = list(await this.#shards.run('share', shard, [crawl, ...wish.map((amount) => String(-amount))]))
      changed.forEach((change, nth) => {
        got[nth] = (got[nth] ?? 0) - number(change)
      })
    }
    if (got.some((amount) => amount > 0)) await this.#shards.run('share', needy, [crawl, ...got.map(String)])
  }

  async restore(crawl: CrawlId, links: readonly RestoredLink[]): Promise<number> {
    let added = 0
    const parts = this.#byShard(links, ({ link }) => this.#shards.of(link.host))
    // Without links too: a crawl that is not paused refuses.
    if (parts.size === 0) parts.set(0, [])
    for (const [shard, part] of parts) {
      for (const some of slices(part, LINKS_AT_ONCE)) {
        const reply = await this.#shards.run('restore', shard, [crawl, ...some.flatMap(encodeRestored)])
        const refusal = word(reply)
        if (refusal === 'unknown') throw unknownCrawl(crawl)
        if (refusal !== null) refuseUnpaused(crawl, refusal)
        added += number(reply)
      }
    }
    return added
  }

  async seeded(crawl: CrawlId): Promise<void> {
    const replies = await this.#everywhere((shard) => this.#shards.run('seeded', shard, [crawl]))
    if (replies.some((reply) => word(reply) === 'unknown')) throw unknownCrawl(crawl)
    await this.#finishIfQuiet([crawl])
  }

  lease(request: LeaseRequest): Promise<LeaseReply> {
    return this.#plans.lease(
      request,
      (part) => this.#leaseFrom(request, part),
      () => this.#holdsNothing(request),
    )
  }

  async #holdsNothing({ worker }: LeaseRequest): Promise<boolean> {
    const held = await this.#everywhere((shard) => this.#shards.command(shard, 'SCARD', `held:${worker}`))
    return held.every((count) => number(count) === 0)
  }

  async #leaseFrom(request: LeaseRequest, part: LeasePart): Promise<LeaseReply> {
    const { worker, spiders, about, busy } = request
    const { shard, want, before, round, alone } = part
    const args = [
      worker,
      `${request.seq}${round}`,
      String(Math.min(want, LEASES_AT_ONCE)),
      about === undefined ? '' : JSON.stringify(about),
      alone ? '0' : '1',
      busy === undefined ? '' : String(busy + before),
      ...spiders,
    ]
    const { quiet, ...reply } = decodeLeaseReply(shard, await this.#shards.run('lease', shard, args))
    if (this.#shards.count > 1) for (const { token } of reply.leases) this.#guests.leased(token, worker)
    await this.#finishIfQuiet(quiet)
    return reply
  }

  async permit(lease: LeaseRef, host: HostKey): Promise<Permit> {
    const token = this.#token(lease)
    const shard = this.#shards.of(host)
    const home = token.shard === shard
    if (!home && !(await this.#held(token))) return { ok: false, waitMs: 0, lost: true }
    const args = [lease.crawl, token.epoch, host, home ? '' : lease.token, this.#guests.workerOf(lease.token)]
    const reply = await this.#shards.run('permit', shard, args)
    if (word(reply) !== null) return { ok: false, waitMs: 0, lost: true }
    const [ok = 0, amount = 0] = list(reply).map(number)
    if (ok === 0) return { ok: false, waitMs: amount, lost: false }
    if (!home) this.#guests.taken({ token: lease.token, host })
    return { ok: true, permitMs: amount / 1000 }
  }

  async #held(token: Token): Promise<boolean> {
    return list(await this.#shards.run('held', token.shard, [token.epoch]))[0] === 1
  }

  async release(releases: readonly Release[]): Promise<void> {
    const parts = this.#byShard(releases, ({ host }) => this.#shards.of(host))
    await Promise.all(
      [...parts].map(async ([shard, part]) => {
        for (const some of slices(part, LEASES_AT_ONCE)) {
          const args = some.flatMap((release) => this.#releaseArgs(shard, release))
          await this.#shards.run('release', shard, args)
        }
      }),
    )
  }

  #releaseArgs(shard: number, release: Release): (string | Buffer)[] {
    const { lease, host } = release
    const token = this.#token(lease)
    const home = token.shard === shard
    if (!home) this.#guests.released({ token: lease.token, host })
    return [lease.crawl, token.epoch, host, encodeReport(release), home ? '' : lease.token]
  }

  async extend(worker: WorkerId, tokens: readonly string[]): Promise<string[]> {
    const parts = this.#byShard(tokens, (token) => parseToken(token, this.#shards.count).shard)
    if (parts.size === 0) parts.set(0, [])
    const lost = await Promise.all(
      [...parts].map(async ([shard, part]) => {
        const epochs = part.map((token) => parseToken(token, this.#shards.count).epoch)
        const gone = new Set<string>()
        for (const some of slices(epochs, LEASES_AT_ONCE)) {
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

  async beat(worker: WorkerId, lostAfterMs: number): Promise<boolean> {
    const expected = await this.#everywhere((shard) => this.#shards.run('beat', shard, [worker, String(lostAfterMs)]))
    return expected.every((reply) => number(reply) === 1)
  }

  async settle(settlements: readonly Settlement[]): Promise<boolean[]> {
    const answers: boolean[] = []
    const numbered = settlements.map((settlement, index) => ({ ...settlement, index }))
    await this.#addLinksAhead(settlements)
    const parts = this.#byShard(numbered, ({ lease }) => this.#token(lease).shard)
    const quiet = new Set<CrawlId>()
    const refused: Settlement[] = []
    await Promise.all(
      [...parts].map(async ([shard, part]) => {
        for (const batch of settleBatches(part)) {
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
      await this.#freeGuests(settlements.map(({ lease }) => lease.token))
      for (const { lease, outcome } of refused) {
        const { shard } = this.#token(lease)
        await this.#addTo(shard, lease.crawl, this.#ownLinks(shard, outcome))
      }
      await this.#finishIfQuiet([...quiet])
    }
    return answers
  }

  /**
   * Links of other shards are in the queue before the link that they were found on has ended: else the crawl could look finished. So are those
   * of a page with more links than one call should take.
   */
  async #addLinksAhead(settlements: readonly Settlement[]): Promise<void> {
    for (const { lease, outcome } of settlements) {
      const links = linksOf(outcome)
      if (this.#shards.count === 1 && links.length <= LINKS_AT_ONCE) continue
      const token = this.#token(lease)
      const parts = this.#byShard(links, (link) => this.#shards.of(link.host))
      const own = parts.get(token.shard) ?? []
      if (own.length > LINKS_AT_ONCE) parts.set(token.shard, own.slice(0, -LINKS_AT_ONCE))
      else parts.delete(token.shard)
      if (parts.size === 0 || !(await this.#held(token))) continue
      await Promise.all(
        [...parts].map(async ([shard, part]) => {
          for (const some of slices(part, LINKS_AT_ONCE)) await this.#addTo(shard, lease.crawl, some)
        }),
      )
    }
  }

  #ownLinks(shard: number, outcome: Outcome): readonly Link[] {
    const links = linksOf(outcome)
    return this.#shards.count === 1 ? links : links.filter((link) => this.#shards.of(link.host) === shard)
  }

  #settleArgs(shard: number, { lease, outcome }: Settlement, args: (string | Buffer)[]): void {
    const token = this.#token(lease)
    const links: (string | Buffer)[] = []
    encodeLinks(this.#ownLinks(shard, outcome).slice(-LINKS_AT_ONCE), links)
    const head = encodeSettlement({ crawl: Number(token.crawl), fp: token.fp, outcome, linkArgs: links.length })
    args.push(lease.crawl, token.epoch, head, outcomeText(outcome))
    for (const link of links) args.push(link)
  }

  /** Slots on other shards that a worker did not release before the end: nothing is known about those requests, so nothing is reported. */
  async #freeGuests(tokens: readonly string[]): Promise<void> {
    const parts = this.#byShard(this.#guests.ended(tokens), ({ host }) => this.#shards.of(host))
    await Promise.all([...parts].map(([shard, slots]) => this.#shards.run('free-guests', shard, slots.map(slotField))))
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

  async forfeit(worker: WorkerId, cause?: string): Promise<number> {
    const failure = encodeFailure(poisonFormat(cause))
    const counts = await this.#everywhere(async (shard) => {
      for (let all = 0; ; ) {
        const [count, quiet] = list(await this.#shards.run('forfeit', shard, [worker, String(LEASES_AT_ONCE), failure]))
        await this.#finishIfQuiet(list(quiet).map(text))
        all += number(count)
        if (number(count) < LEASES_AT_ONCE) return all
      }
    })
    this.#guests.forfeited(worker)
    return counts.reduce((total, count) => total + count, 0)
  }

  async setState(crawl: CrawlId, state: 'running' | 'paused' | 'cancelled'): Promise<void> {
    if (this.#shards.count > 1) {
      // A crawl has ended when all of its shards say so; one that has not forbids nothing.
      const current = (await this.#crawlViews.info(crawl)).state
      // The same state again goes to all of them: the call before may have reached only some.
      if (current !== state && hasEnded(current)) throw crawlEnded(crawl, current)
    }
    const replies = await this.#everywhere((shard) => this.#shards.run('set-state', shard, [crawl, state]))
    const refusals = replies.flatMap((reply) => word(reply) ?? [])
    const [refusal] = refusals
    if (refusal !== undefined && (refusal === 'unknown' || this.#shards.count === 1)) throw refused(refusal, crawl)
    await this.#finishIfQuiet([crawl])
  }

  async remove(crawl: CrawlId): Promise<void> {
    const state = await this.#crawlViews.stateOfRest(crawl)
    if (state === null) throw unknownCrawl(crawl)
    refuseUnended(crawl, state)
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
    return this.#search.explain(crawl, fp, host)
  }

  deadByError(crawl: CrawlId): Promise<DeadGroup[]> {
    return this.#deadLetters.byError(crawl)
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
    if (refusal !== null) throw refused(refusal, crawl)
    for await (const { shard, fps } of this.#deadLetters.matching(crawl, filter)) {
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
    if (order !== 'remove') refuseCancelled(crawl, state)
    const shard = this.#shards.of(host)
    const seen = await this.#shards.run('seen', shard, [crawl, decimalOf(fp)])
    const num = await this.#crawlViews.number(shard, crawl)
    if (seen !== 1 || num === null) return 'unknown'
    for (let tries = 0; tries < STEER_TRIES; tries++) {
      const sought = await seekLink({ shards: this.#shards, shard, num, fp, host })
      if (typeof sought === 'string') return sought
      if (steerStep(sought.where === 'returned' ? 'queued' : sought.where, order) === 'ended') return 'ended'
      const args = [order, fp, sought.where, sought.lane, String(sought.level), sought.held]
      const reply = await this.#shards.run('steer', shard, [
        crawl,
        ...args,
        encodeFailure(REMOVED),
        String(2 * POSITION_CAP),
      ])
      const refusal = word(reply)
      if (refusal === 'moved') continue
      if (refusal !== null) throw refused(refusal, crawl)
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

function refused(refusal: string, crawl: CrawlId): ShoalError {
  return refusal === 'unknown' ? unknownCrawl(crawl) : crawlEnded(crawl, refusal)
}
