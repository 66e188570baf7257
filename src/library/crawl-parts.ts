import type { Clock, Random } from '../clock.js'
import type { CrawlId } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { BrowserOrder } from '../run/browser-order.js'
import type { ProxyOrder } from '../run/pools-at-hand.js'
import type { Spider } from '../spider/spider.js'
import type { Backends } from '../wire/backends.js'

/** What the parts of a crawl in a program have in common. */
export interface CrawlParts {
  readonly id: CrawlId
  readonly spider: Spider
  readonly backends: Backends
  /** Its address. */
  readonly queue: string
  readonly proxies: ProxyOrder
  readonly browser: BrowserOrder
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly concurrency: number
  readonly graceMs: number
  /** Aborted when the program closes its connection. */
  readonly closing: AbortSignal
  /** What `close` waits for. */
  readonly running: Set<Promise<unknown>>
}

/** What a handle shares with its workers and its subscriptions: whether the program still adds. */
export interface Feeding {
  sealed: boolean
  /** Workers that run `until: 'stopped'`. */
  workers: number
  /** The spider's own seeds are not all in the queue. */
  seeding: boolean
  /** Aborted with the reason when they cannot be read: the crawl would never finish. */
  readonly failed: AbortController
}
