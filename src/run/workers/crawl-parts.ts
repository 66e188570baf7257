import { asShoalError, isAway } from '../../errors.js'
import type { CrawlArgs, CrawlId, CrawlInfo } from '../../frontier/frontier.js'
import { productToken } from '../../politeness/product-token.js'
import { createRobotsCache } from '../../politeness/robots-cache.js'
import { argsOf, argumentsText, isCrawlOf, spiderForCrawl } from '../../spider/arguments.js'
import { rendersPages, type Spider } from '../../spider/spider.js'
import { createAdmitter } from '../../url/admit.js'
import type { Backends } from '../../wire/backends.js'
import { KnownLinks } from '../../worker/known-links.js'
import { robotsWaitMs } from '../../worker/retry-waits.js'
import { maskedLog, openSecrets } from '../../worker/secrets.js'
import type { VisitParts } from '../../worker/visit-parts.js'
import { visitorsOf } from '../../worker/visitors.js'
import type { PartsOf } from '../../worker/worker.js'

/** How many crawls have their known links in memory, 4 MB each; the least recently served one is dropped first. */
const MOST_CRAWLS = 8
/** Crawls that were reported as impossible to serve: each is reported once. */
const MOST_REFUSED = 1_000

type Shared = Omit<
  VisitParts,
  'spider' | 'secrets' | 'admitter' | 'pages' | 'screenshots' | 'robots' | 'known' | 'proxies' | 'visitors'
>

type SpiderParts = Omit<VisitParts, 'known'>

/**
 * The parts that a visit works with, chosen by the spider of its crawl and by the arguments that the crawl was started with. The queue is asked once per
 * crawl, and not at all by a worker whose only spider takes no arguments.
 */
export function partsOfCrawls(
  spiders: readonly Spider[],
  backends: Backends,
  spiderProxies: (spider: Spider) => VisitParts['proxies'],
  shared: Shared,
): PartsOf {
  const spiderParts = (spider: Spider): SpiderParts => {
    const secrets = openSecrets(spider.name, spider.secrets, process.env)
    return {
      ...shared,
      ...(secrets !== null && { secrets, log: maskedLog(shared.log, secrets) }),
      spider,
      admitter: createAdmitter(spider.admit),
      robots: createRobotsCache({
        clock: shared.clock,
        productToken: productToken(spider.userAgent),
        notes: backends.notes,
        // Spiders with different arguments each have a cache: one waits for what the other fetches.
        holder: [shared.worker, spider.name, argumentsText(argsOf(spider))].join(' ').trimEnd(),
        strict: spider.robots === 'strict',
        retryWait: (failures) => robotsWaitMs(spider.routes.values(), failures),
      }),
      pages: spider.savePages ? backends.pages : null,
      screenshots: rendersPages(spider) ? backends.pages : null,
      proxies: spiderProxies(spider),
      visitors: visitorsOf(spider, shared.clock, shared.random),
    }
  }
  const bySpider = new Map(spiders.map((spider) => [spider.name, spiderParts(spider)]))
  /** Of spiders built with other arguments than the worker was given. Least recently served first. */
  const byArgs = new Map<string, SpiderParts>()
  /** Least recently served first. */
  const byCrawl = new Map<CrawlId, VisitParts>()
  const refused = new Set<CrawlId>()
  let asking: Promise<Map<CrawlId, CrawlInfo>> | null = null

  const begin = (crawl: CrawlId, spider: string, args?: CrawlArgs): VisitParts | null => {
    const loaded = bySpider.get(spider)
    if (loaded === undefined) return null
    const parts = isCrawlOf(loaded.spider, args) ? loaded : builtParts(crawl, loaded.spider, args)
    return parts === null ? null : served(byCrawl, crawl, { ...parts, known: new KnownLinks() })
  }

  /** A crawl whose arguments the spider file no longer accepts is left to workers with another version of it. */
  const builtParts = (crawl: CrawlId, loaded: Spider, args?: CrawlArgs): SpiderParts | null => {
    const key = JSON.stringify([loaded.name, args])
    try {
      return served(byArgs, key, byArgs.get(key) ?? spiderParts(spiderForCrawl(loaded, args)))
    } catch (error) {
      const { code, message } = asShoalError(error)
      if (!refused.has(crawl)) shared.log.error('spider.args_refused', { crawl, spider: loaded.name, code, message })
      if (refused.size >= MOST_REFUSED) refused.clear()
      refused.add(crawl)
      return null
    }
  }

  const ask = async (crawl: CrawlId): Promise<VisitParts | null> => {
    asking ??= backends.frontier
      .crawls()
      .then((crawls) => new Map(crawls.map((info) => [info.id, info])))
      .finally(() => {
        asking = null
      })
    try {
      const info = (await asking).get(crawl)
      // Another visit of the same crawl may have asked first.
      return byCrawl.get(crawl) ?? (info === undefined ? null : begin(crawl, info.spider, info.args))
    } catch (error) {
      if (isAway(error)) return null
      throw error
    }
  }

  const [only, ...others] = spiders
  const isCertain = only !== undefined && only.args === null && others.length === 0
  return (crawl) => {
    const parts = byCrawl.get(crawl)
    if (parts !== undefined) return served(byCrawl, crawl, parts)
    return isCertain ? begin(crawl, only.name) : ask(crawl)
  }
}

/** Puts it last; the first makes room if there are too many. */
function served<Key, Parts>(all: Map<Key, Parts>, key: Key, parts: Parts): Parts {
  if (all.size > 1) all.delete(key)
  all.set(key, parts)
  if (all.size > MOST_CRAWLS) for (const oldest of [...all.keys()].slice(0, 1)) all.delete(oldest)
  return parts
}
