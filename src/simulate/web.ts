import { type Random, seededRandom } from '../clock.js'
import { drawFrom, lognormalTable, spread, streamSeed } from './chance.js'
import type { Profile } from './profile.js'

/** What a site makes of a request. */
export type AnswerKind = 'page' | 'not_found' | 'server_error' | 'timeout' | 'connection' | 'throttled' | 'banned'

/** Of one request; the same object for every one of them. */
export interface Answer {
  kind: AnswerKind
  latencyMs: number
}

/** A host that cannot be connected to says so after this long, or not before the timeout: half and half. */
const REFUSED_MS = 50
/** A site that limits its rate lets through what it allows in this long at once. */
const BURST_S = 1

/**
 * The web as the profile describes it: how many URLs each host has, how fast it answers, whether it is down, limits its rate or wants a delay. Everything
 * follows from the seed, so that two runs see the same web.
 */
export class Web {
  readonly urls: Float64Array
  readonly #profile: Profile
  readonly #medianMs: Float64Array
  readonly #isDown: Uint8Array
  readonly #hasDelay: Uint8Array
  readonly #isLimited: Uint8Array
  /** When the site's own bucket is empty again (GCRA), by host. */
  readonly #arrivalAt: Float64Array
  readonly #latencies: Float64Array
  readonly #latency: Random
  readonly #failure: Random

  constructor(profile: Profile) {
    const { seed, hosts, urls, zipf, latency, failures, robots, rateLimits } = profile
    const stream = (purpose: string) => seededRandom(streamSeed(seed, purpose))
    const flags = (purpose: string, share: number) => {
      const random = stream(purpose)
      return Uint8Array.from({ length: hosts }, () => (random() < share ? 1 : 0))
    }
    this.#profile = profile
    this.urls = spread(urls, hosts, zipf)
    const betweenHosts = lognormalTable(latency.hostsP95)
    const ofHosts = stream('hosts')
    this.#medianMs = Float64Array.from({ length: hosts }, () => latency.medianMs * drawFrom(betweenHosts, ofHosts))
    this.#isDown = flags('down', failures.hostsDown)
    this.#hasDelay = flags('crawl-delay', robots.enabled ? robots.hosts : 0)
    this.#isLimited = flags('rate-limits', rateLimits?.hosts ?? 0)
    this.#arrivalAt = new Float64Array(hosts)
    this.#latencies = lognormalTable(latency.medianMs === 0 ? 1 : latency.p95Ms / latency.medianMs)
    this.#latency = stream('latency')
    this.#failure = stream('failures')
  }

  isDown(host: number): boolean {
    return this.#isDown[host] === 1
  }

  limitsRate(host: number): boolean {
    return this.#isLimited[host] === 1
  }

  /** Of its robots.txt; null: none. */
  crawlDelayMs(host: number): number | null {
    return this.#hasDelay[host] === 1 ? this.#profile.robots.delayMs : null
  }

  medianMs(host: number): number {
    return this.#medianMs[host] ?? 0
  }

  /** The host is asked at this time. */
  answer(host: number, at: number, into: Answer): void {
    const { failures, timeoutMs, proxies } = this.#profile
    const latencyMs = (this.#medianMs[host] ?? 0) * drawFrom(this.#latencies, this.#latency)
    // Whole milliseconds, like the pauses of a worker: otherwise the simulator would be ahead by half of one at every start.
    into.latencyMs = Math.min(timeoutMs, Math.round(latencyMs))
    const chance = this.#failure()
    if (this.#isDown[host] === 1) {
      into.kind = chance < 0.5 ? 'connection' : 'timeout'
      into.latencyMs = into.kind === 'connection' ? REFUSED_MS : timeoutMs
      return
    }
    if (this.#isLimited[host] === 1 && !this.#admits(host, at)) {
      into.kind = 'throttled'
      return
    }
    into.kind = this.#kindOf(chance, proxies?.banned ?? 0, failures)
    if (into.kind === 'timeout') into.latencyMs = timeoutMs
    else if (into.kind === 'connection') into.latencyMs = Math.min(into.latencyMs, REFUSED_MS)
  }

  #kindOf(chance: number, banned: number, failures: Profile['failures']): AnswerKind {
    let above = failures.serverErrors
    if (chance < above) return 'server_error'
    above += failures.timeouts
    if (chance < above) return 'timeout'
    above += failures.connections
    if (chance < above) return 'connection'
    above += failures.notFound
    if (chance < above) return 'not_found'
    above += banned
    return chance < above ? 'banned' : 'page'
  }

  #admits(host: number, at: number): boolean {
    const perSecond = this.#profile.rateLimits?.perSecond ?? 1
    const gapMs = 1_000 / perSecond
    const arrivalAt = Math.max(this.#arrivalAt[host] ?? 0, at)
    if (arrivalAt - at > Math.max(0, BURST_S * 1_000 - gapMs)) return false
    this.#arrivalAt[host] = arrivalAt + gapMs
    return true
  }
}
