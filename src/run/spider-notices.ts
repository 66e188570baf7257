import { isFileCrawl } from '../coordinator/file-crawl.js'
import type { CrawlInfo } from '../frontier/frontier.js'
import type { Spider } from '../spider/spider.js'

export interface SpiderNotice {
  readonly event: 'spider.unknown' | 'spider.changed'
  readonly crawl: string
  readonly spider: string
}

/**
 * What a worker has to report about the crawls it finds, once per crawl: one of a spider it does not have is left alone; one that was started with
 * another version of the spider file is served with the version of this worker.
 */
export function spiderNotices(
  spiders: readonly Pick<Spider, 'name' | 'hash'>[],
): (crawls: readonly CrawlInfo[]) => SpiderNotice[] {
  const hashes = new Map(spiders.map(({ name, hash }) => [name, hash]))
  const reported = new Set<string>()
  return (crawls) => {
    const notices: SpiderNotice[] = []
    for (const crawl of crawls) {
      const { id, spider, state, spiderHash } = crawl
      const hash = hashes.get(spider)
      if (isFileCrawl(crawl) || state !== 'running' || hash === spiderHash) continue
      const event = hash === undefined ? 'spider.unknown' : 'spider.changed'
      const once = `${event} ${id} ${spiderHash}`
      if (reported.has(once)) continue
      reported.add(once)
      notices.push({ event, crawl: id, spider })
    }
    return notices
  }
}
