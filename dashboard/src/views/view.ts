import type { CrawlView } from '../../../src/api/api-types.js'

/** Props of every view: the query of its address. */
export interface ViewProps {
  readonly query: Readonly<Record<string, string>>
}

/** Props of a crawl's view; the frame around it has the heading, the state and the tabs. */
export interface CrawlPartProps extends ViewProps {
  /** As of the last second. */
  readonly view: CrawlView
}
