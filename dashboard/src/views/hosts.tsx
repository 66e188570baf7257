import type { CrawlPartProps } from './view.js'

export function Hosts(_: CrawlPartProps) {
  return <h2>Hosts</h2>
}
