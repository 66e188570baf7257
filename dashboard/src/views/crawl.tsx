import type { CrawlView } from '../../../src/api/api-types.js'

export function Crawl({ view }: { readonly view: CrawlView }) {
  return <p>{view.stats.done}</p>
}
