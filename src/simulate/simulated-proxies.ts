import { seededRandom } from '../clock.js'
import type { Limits } from '../frontier/frontier.js'
import { overProxies } from '../frontier/over-proxies.js'
import type { ProxyVerdict } from '../proxy/proxy-ledger.js'
import { afterVerdict, FRESH_HEALTH, FRESH_PACE, type ProxyHealth } from '../proxy/proxy-state.js'
import { streamSeed } from './chance.js'
import type { Profile } from './profile.js'
import type { SimulatedHost } from './simulated-host.js'

type Proxies = NonNullable<Profile['proxies']>

/**
 * Which proxies rest, by the rules of proxy-state.ts. Those that work are all alike and take turns, so only one that was refused or does not work has
 * a state. The pace of each proxy on a host is kept by the host's own: `overProxies` of those that do not rest there.
 */
export class SimulatedProxies {
  banned = 0
  broken = 0
  readonly #proxies: Proxies
  readonly #ceiling: Limits | null
  readonly #isBroken: Uint8Array
  /** Of a proxy as a whole. */
  readonly #whole: ProxyHealth[]
  /** By host and proxy. */
  readonly #onSite = new Map<number, ProxyHealth>()
  /** Ends of rests, by host. */
  readonly #rests = new Map<number, number[]>()
  #turn = 0

  constructor(profile: Profile, proxies: Proxies) {
    const random = seededRandom(streamSeed(profile.seed, 'proxies'))
    this.#proxies = proxies
    this.#ceiling = null
    this.#isBroken = Uint8Array.from({ length: proxies.count }, () => (random() < proxies.broken ? 1 : 0))
    this.#whole = Array.from({ length: proxies.count }, () => FRESH_HEALTH)
  }

  /** The next in turn that does not rest; −1: all of them do. */
  choose({ id }: SimulatedHost, now: number): number {
    const { count } = this.#proxies
    for (let tries = 0; tries < count; tries++) {
      const proxy = this.#turn++ % count
      if ((this.#whole[proxy]?.restsUntil ?? 0) > now) continue
      if (this.#onSite.size > 0 && (this.#onSite.get(id * count + proxy)?.restsUntil ?? 0) > now) continue
      return proxy
    }
    return -1
  }

  doesNotWork(proxy: number): boolean {
    return this.#isBroken[proxy] === 1
  }

  report(host: SimulatedHost, proxy: number, verdict: ProxyVerdict, grantedAt: number, now: number): void {
    const { count, rest } = this.#proxies
    const key = host.id * count + proxy
    const known = this.#onSite.get(key)
    if (verdict.kind === 'good' && known === undefined) return
    const whole = this.#whole[proxy] ?? FRESH_HEALTH
    const report = { verdict, rest, bytes: 0, cost: 0, elapsedMs: 0 }
    const state = { whole, onSite: known ?? FRESH_HEALTH, pace: FRESH_PACE }
    const next = afterVerdict(state, report, grantedAt, now)
    this.#whole[proxy] = next.whole
    if (verdict.kind === 'broken') this.broken++
    if (verdict.kind !== 'banned') {
      if (known !== undefined) this.#onSite.set(key, next.onSite)
      return
    }
    this.banned++
    this.#onSite.set(key, next.onSite)
    if (next.onSite.restsUntil > now && next.onSite.restsUntil !== known?.restsUntil)
      this.#rest(host, next.onSite.restsUntil)
  }

  /** When the first proxy that rests on the host is back. */
  firstBack({ id }: SimulatedHost, now: number): number {
    const { count } = this.#proxies
    let first = Number.POSITIVE_INFINITY
    for (let proxy = 0; proxy < count; proxy++) {
      const whole = this.#whole[proxy]?.restsUntil ?? 0
      first = Math.min(first, Math.max(whole, this.#onSite.get(id * count + proxy)?.restsUntil ?? 0))
    }
    return Math.max(now, first)
  }

  /** What the host as a whole may be asked for, with the proxies that do not rest there; null: nothing has changed. */
  limitsFor(host: SimulatedHost, now: number): Limits | null {
    const ends = this.#rests.get(host.id)
    if (ends === undefined) return null
    const left = ends.filter((end) => end > now)
    if (left.length === host.resting) return null
    host.resting = left.length
    if (left.length === 0) this.#rests.delete(host.id)
    else this.#rests.set(host.id, left)
    return overProxies(this.#proxies.each, Math.max(1, this.#proxies.count - left.length), this.#ceiling)
  }

  #rest(host: SimulatedHost, until: number): void {
    const ends = this.#rests.get(host.id)
    if (ends === undefined) this.#rests.set(host.id, [until])
    else ends.push(until)
  }
}
