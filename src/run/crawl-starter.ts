import { type Clock, systemRandom } from '../clock.js'
import type { ProcessSettings } from '../config.js'
import { type OpenedCrawl, openCrawl } from '../coordinator/crawls.js'
import { knownProxies } from '../coordinator/proxies.js'
import { seedCrawl } from '../coordinator/seeding.js'
import { asShoalError, ShoalError } from '../errors.js'
import type { CrawlId } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import { clearTrouble, noteTrouble } from '../observe/trouble.js'
import type { Spider } from '../spider/spider.js'
import { pauseUntil, whileAway } from '../while-away.js'
import type { OpenedForWork } from './open-for-work.js'
import { poolsAtHand } from './pools-at-hand.js'
import { fetchesFiles, seedOptions } from './seeds/seed-options.js'

/** Starts crawls from a process that keeps running: what `shoal start` does, with the start URLs added in the background. */
export interface CrawlStarter {
  readonly start: (spider: string, fresh: boolean) => Promise<OpenedCrawl>
  /** Start URLs that are not in the queue yet are added by the next start. */
  readonly stop: () => Promise<void>
}

interface StarterParts {
  readonly settings: ProcessSettings
  readonly clock: Clock
  readonly log: Log
}

export function createCrawlStarter(
  { backends, direct, spiders }: OpenedForWork,
  { settings, clock, log }: StarterParts,
): CrawlStarter {
  const stopped = new AbortController()
  const seedings = new Map<CrawlId, Promise<void>>()
  const common = { clock, random: systemRandom, log, signal: stopped.signal }

  const seed = async (spider: Spider, crawl: CrawlId) => {
    try {
      await clearTrouble(backends.notes, crawl)
      const pools = fetchesFiles(undefined, spider) ? poolsAtHand(settings, spiders) : new Map()
      const options = seedOptions(undefined, { ...common, backends, spider, crawl, pools })
      log.info('crawl.seeded', { crawl, ...(await seedCrawl(backends, spider, crawl, { ...common, ...options }).all) })
    } catch (error) {
      const failure = asShoalError(error)
      // Someone cancelled the crawl: its state says so.
      if (failure.code !== 'crawl_ended') await report(spider, crawl, failure)
    } finally {
      seedings.delete(crawl)
    }
  }

  /** The caller has its answer already, so the failure is shown with the crawl. */
  const report = async (spider: Spider, crawl: CrawlId, failure: ShoalError) => {
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
      await backends.store.audit.log({ at: clock.now(), ...entry })
    } catch (error) {
      log.warn('audit.failed', { action: entry.action, target: crawl, why: asShoalError(error).code })
    }
  }

  return {
    async start(name, fresh) {
      const spider = spiders.find((one) => one.name === name)
      if (spider === undefined) throw new ShoalError('not_found', `this process has no spider '${name}'`)
      const proxies = await knownProxies(direct.notes, spider)
      const opened = await openCrawl(direct, spider, { fresh, clock, random: systemRandom, proxies })
      const { crawl } = opened
      if (!seedings.has(crawl)) seedings.set(crawl, seed(spider, crawl))
      return opened
    },
    async stop() {
      stopped.abort()
      await Promise.all(seedings.values())
    },
  }
}

/** For processes that cannot start crawls. */
export const noCrawlStarter: CrawlStarter = {
  async start(spider) {
    throw new ShoalError('not_found', `the spider '${spider}' cannot be started from here`)
  },
  async stop() {},
}
