import { demoDefinition } from '../demo/spider.js'
import type { SpiderSource } from '../run/run-crawl.js'
import { type CrawlOptions, crawlDefinition } from '../spider/crawl-definition.js'
import { loadSpider } from '../spider/load.js'
import { spiderFromDefinition } from '../spider/resolve.js'
import type { Spider } from '../spider/spider.js'

export async function loadSource(source: SpiderSource): Promise<Spider> {
  if (source.kind === 'file') return loadSpider(source.path)
  return spiderFromDefinition(
    source.kind === 'demo' ? demoDefinition(source) : crawlDefinition(source.options as CrawlOptions),
  )
}
