import type { CrawlPartProps } from './view.js'

export function Explain(_: CrawlPartProps) {
  return <h2>Explain a URL</h2>
}
