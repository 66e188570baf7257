import type { CrawlId } from '../frontier/frontier.js'
import type { Fingerprint } from '../url/link.js'

/** Fingerprints remembered in each of two generations: about 60 bytes each. */
const GENERATION = 50_000

/**
 * Links the queue is known to have, so that the forty navigation links of every page do not travel to it. One that is not here may be known
 * to the queue all the same; one that is here must be: so it is remembered only after the queue has said ok.
 */
export class KnownLinks {
  #crawl: CrawlId | null = null
  #gen = 0
  #young = new Set<Fingerprint>()
  #old = new Set<Fingerprint>()

  /** Another crawl, or a queue that went back: nothing is known. */
  serve(crawl: CrawlId, gen: number): void {
    if (this.#crawl === crawl && this.#gen === gen) return
    this.#crawl = crawl
    this.#gen = gen
    this.forget()
  }

  has(fp: Fingerprint): boolean {
    return this.#young.has(fp) || this.#old.has(fp)
  }

  add(fp: Fingerprint): void {
    this.#young.add(fp)
    if (this.#young.size < GENERATION) return
    this.#old = this.#young
    this.#young = new Set()
  }

  forget(): void {
    this.#young.clear()
    this.#old.clear()
  }
}
