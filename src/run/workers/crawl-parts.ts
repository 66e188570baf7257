import { isAway } from '../../errors.js'
import type { CrawlId } from '../../frontier/frontier.js'
import { productToken } from '../../politeness/product-token.js'
import { createRobotsCache } from '../../politeness/robots-cache.js'
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

type Shared = Omit<
  VisitParts,
  'spider' | 'secrets' | 'admitter' | 'pages' | 'screenshots' | 'robots' | 'known' | 'proxies' | 'visitors'
>

/** The parts that a visit works with, chosen by the spider of its crawl. */
export function partsOfCrawls(
  spiders: readonly Spider[],
  backends: Backends,
  spiderProxies: (spider: Spider) => VisitParts['proxies'],
  shared: Shared,
): PartsOf {
  const bySpider = new Map(
    spiders.map((spider) => {
      const robots = createRobotsCache({
        clock: shared.clock,
        productToken: productToken(spider.userAgent),
        notes: backends.notes,
        holder: `${shared.worker} ${spider.name}`,
        strict: spider.robots === 'strict',
        retryWait: (failures) => robotsWaitMs(spider.routes.values(), failures),
      })
      const pages = spider.savePages ? backends.pages : null
      const screenshots = rendersPages(spider) ? backends.pages : null
      const secrets = openSecrets(spider.name, spider.secrets, process.env)
      return [
        spider.name,
        {
          ...shared,
          ...(secrets !== null && { secrets, log: maskedLog(shared.log, secrets) }),
          spider,
          admitter: createAdmitter(spider.admit),
          robots,
          pages,
          screenshots,
          proxies: spiderProxies(spider),
          visitors: visitorsOf(spider, shared.clock, shared.random),
        },
      ]
    }),
  )
  /** Least recently served first. */
  const byCrawl = new Map<CrawlId, VisitParts>()
  let asking: Promise<Map<CrawlId, string>> | null = null

  const begin = (crawl: CrawlId, spider: string): VisitParts | null => {
    const parts = bySpider.get(spider)
    if (parts === undefined) return null
    return served(crawl, { ...parts, known: new KnownLinks() })
  }

  const served = (crawl: CrawlId, parts: VisitParts): VisitParts => {
    if (byCrawl.size > 1) byCrawl.delete(crawl)
    byCrawl.set(crawl, parts)
    if (byCrawl.size > MOST_CRAWLS) for (const oldest of [...byCrawl.keys()].slice(0, 1)) byCrawl.delete(oldest)
    return parts
  }

  const ask = async (crawl: CrawlId): Promise<VisitParts | null> => {
    asking ??= backends.frontier
      .crawls()
      .then((crawls) => new Map(crawls.map(({ id, spider }) => [id, spider])))
      .finally(() => {
        asking = null
      })
    try {
      const name = (await asking).get(crawl)
      // Another visit of the same crawl may have asked first.
      return byCrawl.get(crawl) ?? (name === undefined ? null : begin(crawl, name))
    } catch (error) {
      if (isAway(error)) return null
      throw error
    }
  }

  const [only, ...others] = spiders
  return (crawl) => {
    const parts = byCrawl.get(crawl)
    if (parts !== undefined) return served(crawl, parts)
    return only !== undefined && others.length === 0 ? begin(crawl, only.name) : ask(crawl)
  }
}
