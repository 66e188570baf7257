import type { CrawlPartProps } from './view.js'

export function Dead(_: CrawlPartProps) {
  return <h2>Dead letters</h2>
}
