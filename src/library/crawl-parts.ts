import type { Clock, Random } from '../clock.js'
import type { ProcessSettings } from '../config.js'
import type { CrawlId } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { Spider } from '../spider/spider.js'
import type { Backends } from '../wire/backends.js'

/** What the methods of a crawl handle share. */
export interface CrawlParts {
  readonly id: CrawlId
  readonly spider: Spider
  readonly backends: Backends
  readonly settings: ProcessSettings
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Aborted when the program closes its connection. */
  readonly closing: AbortSignal
  /** Work in flight that `close` waits for. */
  readonly running: Set<Promise<unknown>>
}

/** What a handle shares with its workers and subscriptions: whether more URLs may be added. */
export interface Feeding {
  sealed: boolean
  /** How many workers run `until: 'stopped'`. */
  workers: number
  /** Some of the spider's own start URLs are not in the queue yet. */
  seeding: boolean
  /** Aborted with the reason when they cannot be read, because the crawl would then never finish. */
  readonly failed: AbortController
}
