import { addedMatches, type MatchRow } from '../../quality/match-row.js'
import { cleanMatch, type MatchStats } from '../match-stats.js'

export class MemoryMatchStats implements MatchStats {
  #rows: readonly MatchRow[] = []

  async add(rows: readonly MatchRow[]): Promise<void> {
    this.#rows = addedMatches([...this.#rows, ...rows.map(cleanMatch)])
  }

  async of(crawl: string): Promise<MatchRow[]> {
    return this.#rows.filter((row) => row.crawl === crawl)
  }

  forget(crawl: string): void {
    this.#rows = this.#rows.filter((row) => row.crawl !== crawl)
  }
}
