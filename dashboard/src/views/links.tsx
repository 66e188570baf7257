import type { CrawlPartProps } from './view.js'

export function Links(_: CrawlPartProps) {
  return <h2>Links</h2>
}
