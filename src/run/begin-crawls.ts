import { type Clock, systemRandom } from '../clock.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownProxies } from '../coordinator/proxies.js'
import { seedCrawl } from '../coordinator/seeding.js'
import { asShoalError, ShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import { clearTrouble, noteTrouble } from '../observe/trouble.js'
import type { Spider } from '../spider/spider.js'
import { pauseUntil, whileAway } from '../while-away.js'
import type { OpenedForWork } from './open-for-work.js'
import { type ProxyOrder, poolsAtHand } from './pools-at-hand.js'
import { fetchesFiles, seedOptions } from './seeds/seed-options.js'

interface Begun {
  readonly crawl: CrawlId
  readonly resumed: boolean
  /** The unfinished crawl that was cancelled to start anew. */
  readonly setAside: CrawlInfo | null
}

/** Begins crawls inside a process that goes on: what `shoal start` does, with the start URLs in the background. */
export interface Beginner {
  begin(spider: string, fresh: boolean): Promise<Begun>
  /** Start URLs that are not in the queue yet wait for the next start. */
  stop(): Promise<void>
}

export function beginCrawls(
  { backends, direct, spiders }: OpenedForWork,
  parts: ProxyOrder & { readonly clock: Clock; readonly log: Log },
): Beginner {
  const { clock, log } = parts
  const stopped = new AbortController()
  const seedings = new Map<CrawlId, Promise<void>>()
  const common = { clock, random: systemRandom, log, signal: stopped.signal }

  const seed = async (spider: Spider, crawl: CrawlId) => {
    try {
      await clearTrouble(backends.notes, crawl)
      const pools = fetchesFiles(undefined, spider) ? poolsAtHand(parts, spiders) : new Map()
      const options = seedOptions(undefined, { ...common, backends, spider, crawl, pools })
      log.info('crawl.seeded', { crawl, ...(await seedCrawl(backends, spider, crawl, { ...common, ...options }).all) })
    } catch (error) {
      const failure = asShoalError(error)
      // Cancelled by somebody: its state says so.
      if (failure.code !== 'crawl_ended') await tell(spider, crawl, failure)
    } finally {
      seedings.delete(crawl)
    }
  }

  /** Whoever asked for it has had an answer already: it is to be seen where the crawl is looked at. */
  const tell = async (spider: Spider, crawl: CrawlId, failure: ShoalError) => {
    const { code, message } = failure
    log.error('crawl.seeding_failed', { crawl, code, message })
    const entry = {
      by: 'dashboard',
      action: 'crawl.seed',
      target: crawl,
      details: { spider: spider.name },
      result: code,
    }
    try {
      await whileAway(() => noteTrouble(backends.notes, crawl, failure), pauseUntil(stopped.signal, clock))
      await backends.store.noteAudit({ at: clock.now(), ...entry })
    } catch (error) {
      log.warn('audit.failed', { action: entry.action, target: crawl, why: asShoalError(error).code })
    }
  }

  return {
    async begin(name, fresh) {
      const spider = spiders.find((one) => one.name === name)
      if (spider === undefined) throw new ShoalError('not_found', `there is no spider '${name}' here`)
      const proxies = await knownProxies(direct.notes, spider)
      const { crawl, resumed, setAside } = await openCrawl(direct, spider, {
        fresh,
        clock,
        random: systemRandom,
        proxies,
      })
      if (!seedings.has(crawl)) seedings.set(crawl, seed(spider, crawl))
      return { crawl, resumed, setAside }
    },
    async stop() {
      stopped.abort()
      await Promise.all(seedings.values())
    },
  }
}

/** Where no crawl can be begun. */
export const noBeginner: Beginner = {
  async begin(spider) {
    throw new ShoalError('not_found', `the spider '${spider}' cannot be started from here`)
  },
  async stop() {},
}
