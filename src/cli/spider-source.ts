import { demoDefinition } from '../demo/spider.js'
import type { SpiderSource } from '../run/run-crawl.js'
import { type CrawlOptions, crawlDefinition } from '../spider/crawl-definition.js'
import { loadSpider } from '../spider/load.js'
import { spiderFromDefinition } from '../spider/resolve.js'
import type { Spider } from '../spider/spider.js'
import { rememberedSource } from './source-memory.js'

/** The spider as it is now; null when its file is gone or broken. */
export async function rememberedSpider(queue: string, spider: string): Promise<Spider | null> {
  const source = rememberedSource(queue, spider)
  if (source === null) return null
  try {
    return await loadSource(source)
  } catch {
    return null
  }
}

async function loadSource(source: SpiderSource): Promise<Spider> {
  if (source.kind === 'file') return loadSpider(source.path)
  return spiderFromDefinition(
    source.kind === 'demo' ? demoDefinition(source) : crawlDefinition(source.options as CrawlOptions),
  )
}
