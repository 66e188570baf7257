import { demoDefinition } from '../demo/spider.js'
import { ShoalError } from '../errors.js'
import type { CrawlArgs } from '../frontier/frontier.js'
import { type CrawlOptions, crawlDefinition, crawlPurpose } from '../spider/crawl-definition.js'
import { loadSpider } from '../spider/load.js'
import { hashOf, spiderFromDefinition } from '../spider/resolve.js'
import type { Spider } from '../spider/spider.js'

/** Where a spider comes from, in a form that can be sent to a thread or another process. */
export type SpiderSource =
  | { readonly kind: 'file'; readonly path: string; readonly args?: CrawlArgs }
  /** `shoal crawl`: a spider built from flags. */
  | { readonly kind: 'crawl'; readonly options: CrawlOptions }
  | { readonly kind: 'demo'; readonly origin: string }

export function spiderFrom(source: SpiderSource): Promise<Spider> {
  switch (source.kind) {
    case 'file':
      return loadSpider(source.path, source.args)
    case 'crawl':
      return Promise.resolve().then(() => ({
        ...spiderFromDefinition(crawlDefinition(source.options)),
        hash: hashOf(crawlPurpose(source.options)),
      }))
    case 'demo':
      return Promise.resolve().then(() => spiderFromDefinition(demoDefinition({ origin: source.origin })))
    default:
      throw new ShoalError('internal', `unknown source of a spider: ${JSON.stringify(source)}`)
  }
}
