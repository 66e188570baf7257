import { expect } from 'vitest'
import type { ManualClock } from '../../src/clock.js'
import {
  type CrawlSpec,
  type Frontier,
  type HostSettings,
  type Lease,
  type LeaseReply,
  type Limits,
  type LinkSteer,
  type LinkSteered,
  type Outcome,
  type Permit,
  type Release,
  SOLO_AFTER,
} from '../../src/frontier/frontier.js'
import { RETRY_AFTER_CAP_MS } from '../../src/frontier/pace.js'
import type { HostKey, Link } from '../../src/url/link.js'
import { counterFaults, scan } from '../contract/frontier-fixtures.js'

/** A repeated settlement is remembered for this long at least. */
const REMEMBERED_MS = 300_000

export interface Held {
  readonly lease: Lease
  readonly worker: string
  readonly seq: number
  expiresAt: number
  state: 'held' | 'settled' | 'lost'
  settledAt: number
  readonly slots: Set<HostKey>
}

/** A host, or a route with limits on a host. */
interface Gate {
  startedAt: number
  blockedUntil: number
  settings: HostSettings
  readonly starts: number[]
}

interface Known {
  ended: 'done' | 'dead' | 'skipped' | null
  epoch: bigint
}

/**
 * What a driver's replies alone say, and what they must never say: two workers with one link, a request over a host's pace, a lost lease
 * that is accepted. It knows nothing of order, so that it holds for engines that keep none.
 */
export class Book {
  readonly clock: ManualClock
  readonly specs: readonly CrawlSpec[]
  /** Newest last. */
  readonly leases: Held[] = []
  readonly #links = new Map<string, Known>()
  readonly #gates = new Map<string, Gate>()
  readonly #seeding = new Set<string>()
  readonly #paused = new Set<string>()

  constructor(clock: ManualClock, specs: readonly CrawlSpec[]) {
    this.clock = clock
    this.specs = specs
    for (const { id } of specs) this.#seeding.add(id)
  }

  /** How many of them are new. */
  added(crawl: string, links: readonly Link[]): number {
    const fresh = new Set(links.map((link) => `${crawl} ${link.fp}`).filter((name) => !this.#links.has(name)))
    for (const name of fresh) this.#links.set(name, { ended: null, epoch: 0n })
    return fresh.size
  }

  seeded(crawl: string): void {
    this.#seeding.delete(crawl)
  }

  setState(crawl: string, state: 'running' | 'paused'): void {
    if (state === 'paused') this.#paused.add(crawl)
    else this.#paused.delete(crawl)
  }

  setHost(host: HostKey, settings: HostSettings): void {
    const gate = this.#gate(host)
    gate.settings = { ...gate.settings, ...settings }
  }

  isLive(held: Held): boolean {
    return held.state === 'held' && held.expiresAt > this.clock.now()
  }

  hasEnded(crawl: string): boolean {
    return !this.#seeding.has(crawl) && !this.#paused.has(crawl) && this.#count(crawl, null) === 0
  }

  leased(worker: string, seq: number, want: number, spiders: readonly string[], reply: LeaseReply): void {
    const now = this.clock.now()
    expect(reply.leases.length, 'more leases than were wanted').toBeLessThanOrEqual(Math.max(0, want))
    for (const lease of reply.leases) {
      const spec = this.#spec(lease.crawl)
      expect(spiders, 'lease of a spider not asked for').toContain(spec.spider)
      expect(this.#paused.has(lease.crawl), 'lease of a paused crawl').toBe(false)
      const link = this.#link(lease)
      expect(link.ended, `${lease.link.url} was leased after its end`).toBeNull()
      const others = this.leases.filter((held) => this.isLive(held) && sameLink(held.lease, lease))
      expect(others, `${lease.link.url} is in two hands`).toEqual([])
      expect(BigInt(lease.epoch) > link.epoch, 'the epoch does not grow').toBe(true)
      link.epoch = BigInt(lease.epoch)
      const held: Held = {
        lease,
        worker,
        seq,
        expiresAt: now + lease.visibilityMs,
        state: 'held',
        settledAt: 0,
        slots: new Set(),
      }
      this.#start(held, lease.link.host)
      this.leases.push(held)
    }
  }

  /** A link that killed workers must be the only one in flight. */
  async checkSolo(frontier: Frontier, worker: string, reply: LeaseReply): Promise<void> {
    for (const lease of reply.leases) {
      const where = await frontier.explain(lease.crawl, lease.link.fp)
      if (where.state === 'unknown' || where.link === null || where.link.reclaims < SOLO_AFTER) continue
      const inFlight = this.leases.filter((held) => held.worker === worker && this.isLive(held))
      expect(inFlight, 'a solo link with company').toHaveLength(1)
    }
  }

  leasedAgain(worker: string, seq: number, reply: LeaseReply): void {
    const batch = this.leases.filter((held) => held.worker === worker && held.seq === seq && this.isLive(held))
    const tokens = (leases: readonly Lease[]) => leases.map((lease) => `${lease.crawl} ${lease.token}`).sort()
    expect(tokens(reply.leases), 'a repeated lease call').toEqual(tokens(batch.map((held) => held.lease)))
  }

  permitted(held: Held, host: HostKey, permit: Permit): void {
    const live = this.isLive(held)
    if (permit.ok) {
      expect(live, 'a permit for a lost lease').toBe(true)
      this.#start(held, host)
    } else expect(permit.lost, 'whether the lease is lost').toBe(!live)
  }

  released({ host, elapsedMs, report }: Release, held: Held): void {
    const now = this.clock.now()
    if (!held.slots.delete(host) || !this.isLive(held)) return
    if (report.kind !== 'wait') {
      for (const [gate] of this.#gatesOf(held.lease, host))
        gate.startedAt = Math.max(gate.startedAt, now - Math.max(0, elapsedMs))
    }
    const asked = report.kind === 'wait' ? report.ms : report.kind === 'throttled' ? (report.retryAfterMs ?? 0) : 0
    if (asked <= 0) return
    const gate = this.#gate(host)
    gate.blockedUntil = Math.max(gate.blockedUntil, now + Math.min(asked, RETRY_AFTER_CAP_MS))
  }

  settled(held: Held, outcome: Outcome, answer: boolean | undefined): void {
    const now = this.clock.now()
    if (held.state === 'settled') {
      if (now - held.settledAt < REMEMBERED_MS) expect(answer, 'a repeated settlement').toBe(true)
      return
    }
    expect(answer, `settlement of a lease that is ${this.isLive(held) ? 'held' : 'lost'}`).toBe(this.isLive(held))
    if (!answer) return
    held.state = 'settled'
    held.settledAt = now
    held.slots.clear()
    const link = this.#link(held.lease)
    if (outcome.kind === 'done' || outcome.kind === 'dead' || outcome.kind === 'skipped') link.ended = outcome.kind
    if (outcome.kind === 'done') this.added(held.lease.crawl, outcome.links)
  }

  extended(worker: string, asked: readonly Held[], lost: readonly string[]): void {
    for (const held of asked) {
      const mine = this.isLive(held) && held.worker === worker
      expect(lost.includes(held.lease.token), 'whether the lease is lost').toBe(!mine)
      if (mine) held.expiresAt = this.clock.now() + this.#spec(held.lease.crawl).visibilityMs
    }
  }

  reaped(limit: number, count: number): void {
    const expired = this.leases.filter((held) => held.state === 'held' && !this.isLive(held))
    expect(count, 'leases reaped').toBeLessThanOrEqual(Math.min(limit, expired.length))
    if (limit >= expired.length) for (const held of expired) held.state = 'lost'
  }

  forfeited(worker: string, count: number): void {
    const own = this.leases.filter((held) => held.worker === worker && held.state === 'held')
    const live = own.filter((held) => this.isLive(held))
    expect(count, 'leases forfeited').toBeGreaterThanOrEqual(live.length)
    expect(count, 'leases forfeited').toBeLessThanOrEqual(own.length)
    for (const held of own) held.state = 'lost'
  }

  /** A reap without a limit that found the worker lost: everything that ran out, and everything that it held. */
  lost(worker: string, count: number): void {
    const over = this.leases.filter((held) => held.state === 'held' && (held.worker === worker || !this.isLive(held)))
    const own = over.filter((held) => held.worker === worker)
    expect(count, 'leases of a lost worker').toBeGreaterThanOrEqual(own.filter((held) => this.isLive(held)).length)
    expect(count, 'leases of a lost worker').toBeLessThanOrEqual(over.length)
    for (const held of over) held.state = 'lost'
  }

  /** Dead letters put back; which ones, the driver says. */
  async replayed(frontier: Frontier, crawl: string, count: number): Promise<void> {
    const dead = new Set((await frontier.links({ crawl, state: 'dead', limit: 1000 })).map(({ fp }) => fp))
    let back = 0
    for (const [name, link] of this.#links) {
      const [id, fp] = name.split(' ')
      if (id !== crawl || link.ended !== 'dead' || dead.has(fp ?? '')) continue
      link.ended = null
      back++
    }
    expect(count, 'dead letters replayed').toBe(back)
  }

  steered(crawl: string, link: Link, order: LinkSteer, answer: LinkSteered): void {
    const known = this.#links.get(`${crawl} ${link.fp}`)
    if (known === undefined) {
      expect(answer, 'a link that nobody added').toBe('unknown')
      return
    }
    const held = this.leases.some(
      (one) => this.isLive(one) && one.lease.crawl === crawl && one.lease.link.fp === link.fp,
    )
    if (held) expect(answer, 'a link in flight').toBe('in_flight')
    if (answer === 'ok') {
      expect(order === 'promote' ? [null] : [null, 'dead'], `${link.url} was steered`).toContain(known.ended)
      if (order === 'remove') known.ended = 'skipped'
      if (order === 'retry') known.ended = null
    }
    if (answer === 'ended') expect(known.ended, `${link.url} has ended`).not.toBeNull()
  }

  /** What can be seen of the driver is what the replies say. */
  async check(frontier: Frontier): Promise<void> {
    for (const { id, maxReclaims } of this.specs) {
      const stats = await frontier.stats(id)
      const links = await scan(frontier, id)
      for (const { fp, failures, reclaims } of links.filter(({ state }) => state === 'dead')) {
        const known = this.#links.get(`${id} ${fp}`)
        if (known?.ended !== null || failures.at(-1)?.code !== 'poison') continue
        expect(reclaims, 'deaths of a poisoned link').toBe(SOLO_AFTER + maxReclaims)
        known.ended = 'dead'
      }
      const done = this.#count(id, 'done')
      expect(counterFaults(stats, links, { done, can: frontier.can })).toEqual([])
      expect(stats).toMatchObject({ dead: this.#count(id, 'dead'), skipped: this.#count(id, 'skipped') })
      expect(stats.queued + stats.delayed + stats.leased, 'links open').toBe(this.#count(id, null))
      const state = this.#paused.has(id) ? 'paused' : this.hasEnded(id) ? 'finished' : 'running'
      expect(stats.state, `state with ${this.#count(id, null)} links open`).toBe(state)
      for (const { host, inFlight } of await frontier.hosts(id, { limit: 100 })) {
        const slots = this.leases.filter((held) => held.state === 'held' && held.slots.has(host))
        const live = slots.filter((held) => this.isLive(held))
        expect(inFlight, `requests under way on ${host}`).toBeGreaterThanOrEqual(live.length)
        expect(inFlight, `requests under way on ${host}`).toBeLessThanOrEqual(slots.length)
      }
    }
  }

  #start(held: Held, host: HostKey): void {
    const now = this.clock.now()
    for (const [gate, limits, name] of this.#gatesOf(held.lease, host)) {
      expect(gate.settings.blocked ?? false, `${name} is closed by hand`).toBe(false)
      expect(now, `${name} is blocked`).toBeGreaterThanOrEqual(gate.blockedUntil)
      expect(now - gate.startedAt, `delay of ${name}`).toBeGreaterThanOrEqual(limits.delayMs)
      if (!held.slots.has(host)) {
        const inFlight = this.leases.filter(
          (other) =>
            this.isLive(other) &&
            other.slots.has(host) &&
            this.#gatesOf(other.lease, host).some(([also]) => also === gate),
        )
        expect(inFlight.length + 1, `requests at once on ${name}`).toBeLessThanOrEqual(limits.concurrency)
      }
      gate.startedAt = now
      gate.starts.push(now)
      checkRate(gate.starts, limits, name)
    }
    held.slots.add(host)
  }

  /** What a request of this lease to `host` must pass, with the limits that it must keep at least. */
  #gatesOf({ crawl, link }: Lease, host: HostKey): [gate: Gate, limits: Limits, name: string][] {
    const { limits, routeLimits } = this.#spec(crawl)
    const gate = this.#gate(host)
    const { delayMs, concurrency, floorMs } = gate.settings
    const own: Limits = {
      ...limits,
      delayMs: Math.max(delayMs ?? limits.delayMs, floorMs ?? 0),
      concurrency: concurrency ?? limits.concurrency,
    }
    const route = host === link.host ? routeLimits[link.route] : undefined
    if (route === undefined) return [[gate, own, host]]
    const name = `${crawl} ${host} ${link.route}`
    return [
      [gate, own, host],
      [this.#gate(name), route, name],
    ]
  }

  #gate(name: string): Gate {
    let gate = this.#gates.get(name)
    if (gate === undefined) {
      gate = { startedAt: Number.NEGATIVE_INFINITY, blockedUntil: 0, settings: {}, starts: [] }
      this.#gates.set(name, gate)
    }
    return gate
  }

  #spec(crawl: string): CrawlSpec {
    const spec = this.specs.find(({ id }) => id === crawl)
    if (spec === undefined) throw new Error(`a lease of ${crawl}, which nobody opened`)
    return spec
  }

  #link({ crawl, link }: Lease): Known {
    const known = this.#links.get(`${crawl} ${link.fp}`)
    if (known === undefined) throw new Error(`a lease of ${link.url}, which nobody added`)
    return known
  }

  #count(crawl: string, ended: Known['ended']): number {
    return [...this.#links].filter(([name, link]) => name.startsWith(`${crawl} `) && link.ended === ended).length
  }
}

function sameLink(a: Lease, b: Lease): boolean {
  return a.crawl === b.crawl && a.link.fp === b.link.fp
}

/** In no stretch of time more starts than the bucket held at its beginning and got since. */
function checkRate(starts: readonly number[], { rate }: Limits, name: string): void {
  const last = starts.at(-1)
  if (rate === undefined || last === undefined) return
  starts.forEach((since, i) => {
    const allowed = rate.burst + ((last - since) * rate.count) / rate.perMs
    expect(starts.length - i, `rate of ${name}`).toBeLessThanOrEqual(allowed + 0.01)
  })
}
