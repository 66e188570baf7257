import type { CrawlView } from '../../../src/api/api-types.js'

/** What a view is given: the query of its address. */
export interface ViewProps {
  readonly query: Readonly<Record<string, string>>
}

/** What a view of one crawl is given; the frame around it has the heading, the state and the tabs. */
export interface CrawlPartProps extends ViewProps {
  /** As of the last second. */
  readonly view: CrawlView
}
