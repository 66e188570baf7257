import { systemClock, systemRandom } from '../clock.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownProxies } from '../coordinator/proxies.js'
import { seedCrawl } from '../coordinator/seeding.js'
import { createLog, type LogLevel } from '../log.js'
import { audited } from '../observe/audit-control.js'
import { clearTrouble } from '../observe/trouble.js'
import type { BackendAddresses } from '../wire/backends.js'
import { openForWork, refuseMemoryQueue } from './open-for-work.js'
import { type ProxyOrder, poolsAtHand } from './pools-at-hand.js'
import type { RunStart } from './run-crawl.js'
import { fetchesFiles, seedOptions } from './seeds/seed-options.js'
import type { SpiderSource } from './spider-source.js'

export interface StartOptions extends BackendAddresses, ProxyOrder {
  readonly source: SpiderSource
  /** A source of further seeds: a file, `-` for standard input, a sitemap, a template of URLs. */
  readonly seeds?: string | undefined
  /** Start anew instead of going on with an unfinished crawl of this spider. */
  readonly fresh: boolean
  /** Who starts it, for the audit log. */
  readonly by: string
  readonly logLevel: LogLevel
  readonly drain: AbortSignal
  readonly writeLog: (line: string) => void
  /** The crawl stands; start URLs are still being added, which takes workers when they are more than the queue may hold. */
  readonly onOpened?: (crawl: string) => void
}

export interface StartedCrawl extends RunStart {
  /** Every start URL is in the queue. False: the drain came first, and the same command goes on. */
  readonly seeded: boolean
}

/** Opens the crawl and adds all its start URLs; the pages are for the workers. */
export async function startCrawl(options: StartOptions): Promise<StartedCrawl> {
  refuseMemoryQueue(options)
  const clock = systemClock
  const log = createLog(options.logLevel, clock, options.writeLog)
  const { spiders, backends } = await openForWork([options.source], options, options.drain, clock, log)
  try {
    const [spider] = spiders
    if (spider === undefined) throw new Error('one source gives one spider')
    const proxies = await knownProxies(backends.notes, spider)
    const control = { action: 'crawl.start', target: spider.name, details: { fresh: options.fresh } }
    const opened = await audited(
      { store: backends.store, clock, log, by: options.by },
      control,
      () => openCrawl(backends, spider, { fresh: options.fresh, clock, random: systemRandom, proxies }),
      ({ crawl, resumed, setAside }) => ({ crawl, resumed, setAside: setAside?.id ?? null }),
    )
    options.onOpened?.(opened.crawl)
    await clearTrouble(backends.notes, opened.crawl)
    const seeds = await seedCrawl(backends, spider, opened.crawl, {
      clock,
      signal: options.drain,
      ...seedOptions(options.seeds, {
        ...{ backends, spider, crawl: opened.crawl, clock, random: systemRandom, log, signal: options.drain },
        pools: fetchesFiles(options.seeds, spider) ? poolsAtHand(options, spiders) : new Map(),
      }),
    }).all
    log.info('crawl.seeded', { crawl: opened.crawl, ...seeds })
    return { ...opened, spider: spider.name, seeds, seeded: !options.drain.aborted }
  } finally {
    await backends.close()
  }
}
