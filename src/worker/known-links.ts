import type { CrawlId } from '../frontier/frontier.js'
import type { Target } from '../url/admit.js'
import type { Fingerprint, Link } from '../url/link.js'

/** Fingerprints remembered in each of two generations: about 60 bytes each. */
const GENERATION = 50_000

/** Never the same for two memories, because a door and its targets may serve more than one. */
let stamps = 0

/**
 * Links the queue is known to have, so that the forty navigation links of every page do not travel to it. One that is not here may be known
 * to the queue all the same; one that is here must be: so it is remembered only after the queue has said ok.
 */
export class KnownLinks {
  #crawl: CrawlId | null = null
  #gen = 0
  #stamp = ++stamps
  #young = new Set<Fingerprint>()
  #old = new Set<Fingerprint>()

  /**
   * Another crawl, or a queue that went back: nothing is known. The stamp stands for what is known since then; it is also put on the targets
   * that are known, where it is found without looking up the fingerprint.
   */
  serve(crawl: CrawlId, gen: number): number {
    if (this.#crawl !== crawl || this.#gen !== gen) {
      this.#crawl = crawl
      this.#gen = gen
      this.forget()
    }
    return this.#stamp
  }

  has(target: Target): boolean {
    if (target.known === this.#stamp) return true
    if (!this.#young.has(target.fp) && !this.#old.has(target.fp)) return false
    target.known = this.#stamp
    return true
  }

  /** What the queue took under `stamp`; nothing when that is over. */
  add(stamp: number, links: readonly Link[], targets: readonly Target[]): void {
    if (stamp !== this.#stamp) return
    for (const { fp } of links) this.#remember(fp)
    for (const target of targets) target.known = stamp
  }

  forget(): void {
    this.#stamp = ++stamps
    this.#young.clear()
    this.#old.clear()
  }

  #remember(fp: Fingerprint): void {
    this.#young.add(fp)
    if (this.#young.size < GENERATION) return
    this.#old = this.#young
    this.#young = new Set()
  }
}
