import type { Profile } from './profile.js'
import type { SimulatedHost } from './simulated-host.js'
import type { SimulatedQueue } from './simulated-queue.js'
import type { Web } from './web.js'

/** Which URLs are known at the start, and which are found by links of pages: a crawl that begins with one URL takes a while to fill its workers. */
export class LinksFound {
  readonly #profile: Profile
  readonly #queue: SimulatedQueue
  readonly #web: Web
  /** Hosts are found in the order of their numbers. */
  #hostsKnown = 0
  /** Found, below one. */
  #newHosts = 0

  constructor(profile: Profile, queue: SimulatedQueue, web: Web) {
    this.#profile = profile
    this.#queue = queue
    this.#web = web
  }

  seed(): void {
    const { seeds } = this.#profile
    const { hosts } = this.#queue
    const each = Math.floor(seeds / hosts.length)
    let left = seeds
    for (const host of hosts) {
      if (each === 0 && left === 0) break
      left -= this.#queue.add(host, each + (left > 0 && each === 0 ? 1 : 0), true)
      this.#hostsKnown = host.id + 1
    }
    // Small hosts have fewer than their share, and large ones make up for it.
    for (const host of hosts) {
      if (left <= 0) break
      left -= this.#queue.add(host, left, true)
    }
  }

  /** New links of a page. One that failed for good has none, but others lead to the same pages, unless the host is down. */
  ended(host: SimulatedHost): void {
    const { newPerPage, toNewHosts } = this.#profile.links
    if (newPerPage === 0 || this.#web.isDown(host.id)) return
    const { hosts } = this.#queue
    const elsewhere = this.#hostsKnown < hosts.length ? newPerPage * toNewHosts : 0
    if (host.unknown > 0) {
      host.found += newPerPage - elsewhere
      const whole = Math.floor(host.found)
      if (whole > 0) {
        host.found -= whole
        this.#queue.add(host, whole)
      }
    }
    this.#newHosts += elsewhere
    for (; this.#newHosts >= 1 && this.#hostsKnown < hosts.length; this.#newHosts--) {
      const found = hosts[this.#hostsKnown++]
      if (found !== undefined) this.#queue.add(found, 1)
    }
  }
}
