import { systemClock, systemRandom } from '../clock.js'
import { warnOf, withClosers } from '../closers.js'
import type { ProcessSettings } from '../config.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownProxies } from '../coordinator/proxies.js'
import { seedCrawl } from '../coordinator/seeding.js'
import { createLog } from '../log.js'
import { audited } from '../observe/audit-control.js'
import { clearTrouble } from '../observe/trouble.js'
import { argsOf } from '../spider/arguments.js'
import { openForWork, refuseMemoryQueue } from './open-for-work.js'
import { poolsAtHand } from './pools-at-hand.js'
import type { RunStart } from './run-summary.js'
import { fetchesFiles, seedOptions } from './seeds/seed-options.js'
import type { SpiderSource } from './spider-source.js'

export interface StartOptions {
  readonly settings: ProcessSettings
  readonly source: SpiderSource
  /** A source of more start URLs: a file, `-` for standard input, a sitemap, a URL template. */
  readonly seeds?: string | undefined
  /** Start over instead of resuming an unfinished crawl of this spider. */
  readonly fresh: boolean
  /** Who starts it, for the audit log. */
  readonly by: string
  readonly drain: AbortSignal
  readonly writeLog: (line: string) => void
  /** The crawl is open; its start URLs are still being added, which needs workers if there are more than the queue may hold. */
  readonly onOpened?: (crawl: string) => void
}

export interface StartedCrawl extends RunStart {
  /** Every start URL is in the queue. False: the drain came first; the same command resumes. */
  readonly seeded: boolean
}

/** Opens the crawl and adds all its start URLs; workers elsewhere fetch the pages. */
export async function startCrawl(options: StartOptions): Promise<StartedCrawl> {
  const { settings, fresh, drain } = options
  refuseMemoryQueue(settings)
  const clock = systemClock
  const random = systemRandom
  const log = createLog(settings.logLevel, clock, options.writeLog)
  return withClosers(warnOf(log), async (closers) => {
    const { spiders, backends } = await openForWork([options.source], settings, drain, clock, log)
    closers.add(() => backends.close())
    const [spider] = spiders
    if (spider === undefined) throw new Error('one source gives one spider')
    const proxies = await knownProxies(backends.notes, spider)
    const opened = await audited(
      { audit: backends.store.audit, clock, log, by: options.by },
      {
        action: 'crawl.start',
        target: spider.name,
        details: { fresh, ...(spider.args !== null && { args: argsOf(spider) }) },
      },
      () => openCrawl(backends, spider, { fresh, clock, random, proxies }),
      ({ crawl, resumed, setAside }) => ({ crawl, resumed, setAside: setAside?.id ?? null }),
    )
    const { crawl } = opened
    options.onOpened?.(crawl)
    await clearTrouble(backends.notes, crawl)
    const pools = fetchesFiles(options.seeds, spider) ? poolsAtHand(settings, spiders) : new Map()
    const parts = { backends, spider, crawl, pools, clock, random, log, signal: drain }
    const how = { clock, signal: drain, ...seedOptions(options.seeds, parts) }
    const seeds = await seedCrawl(backends, spider, crawl, how).all
    log.info('crawl.seeded', { crawl, ...seeds })
    return { ...opened, spider: spider.name, args: argsOf(spider), seeds, seeded: !drain.aborted }
  })
}
