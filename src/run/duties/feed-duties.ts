import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { REPORT_FEED_MS, reportFeedPlace } from '../../coordinator/feed-places.js'
import { feedSpider } from '../../coordinator/feeding.js'
import { DEFAULT_FEED } from '../../feed/feed.js'
import type { Log } from '../../log.js'
import type { Spider } from '../../spider/spider.js'
import { warnUnlessAway } from '../../while-away.js'
import type { Backends } from '../../wire/backends.js'

/** The name under which this process claims notes. */
const HOLDER = randomUUID()
/** After a failure. */
const RETRY_REPORT_MS = 60_000

interface Parts {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Adds what other programs push for the spider, and reports to the fleet where that is. */
export async function startFeedDuties(backends: Backends, spider: Spider, parts: Parts): Promise<void> {
  const { clock, log, signal } = parts
  const feed = backends.feed(spider.name, spider.feed ?? DEFAULT_FEED)
  const feeding = feedSpider({ backends, spider, feed, clock, log }, signal)
  if (feed !== null) await keepReporting(backends, spider, parts)
  await feeding
}

async function keepReporting(backends: Backends, spider: Spider, { clock, log, signal }: Parts): Promise<void> {
  while (!signal.aborted) {
    let waitMs = REPORT_FEED_MS
    try {
      await reportFeedPlace(backends.notes, HOLDER, spider)
    } catch (error) {
      warnUnlessAway(log, error)
      waitMs = RETRY_REPORT_MS
    }
    await clock.sleep(waitMs, signal)
  }
}
