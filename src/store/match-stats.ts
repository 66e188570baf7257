import type { CrawlId } from '../frontier/frontier.js'
import type { MatchRow } from '../quality/match-row.js'
import { cleanText } from './prepare.js'

/**
 * How often the rules, fields and routes of a crawl found something. Duties of every driver:
 *  - `add` adds counts: many workers add to the same rows. They are statistics: a call whose answer was lost may be repeated, and then counts
 *    those seconds twice.
 *  - The first example stays.
 *  - The rows go with their crawl (`Crawls.remove`).
 */
export interface MatchStats {
  /** Each row once, in order of crawl, part, of, name, selector (see `addedMatches`). */
  add(rows: readonly MatchRow[]): Promise<void>
  /** In the same order. */
  of(crawl: CrawlId): Promise<MatchRow[]>
}

/** Selectors and names come from a spider, URLs from pages: what cannot be stored is replaced. */
export function cleanMatch(row: MatchRow): MatchRow {
  const { of, name, selector, example } = row
  return {
    ...row,
    of: cleanText(of),
    name: cleanText(name),
    selector: cleanText(selector),
    example: cleanText(example),
  }
}
