import { compareLease } from '../judge.js'
import type { KeptPage, KeptPagePart, KeptPageQuery, KeptPages } from '../kept-pages.js'
import type { Fetches, FetchRow } from '../record-store.js'
import type { MemoryTables } from './memory-tables.js'

export class MemoryFetches implements Fetches {
  readonly #tables: MemoryTables

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  async of(query: { fp: string; crawl?: string; limit: number }): Promise<FetchRow[]> {
    return [...this.#tables.fetches.values()]
      .filter((row) => row.fp === query.fp && (query.crawl ?? row.crawl) === row.crawl)
      .reverse()
      .sort((a, b) => b.at - a.at)
      .slice(0, query.limit)
  }
}

export class MemoryKeptPages implements KeptPages {
  readonly #tables: MemoryTables

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  async part(query: KeptPageQuery, after: string | null, limit: number): Promise<KeptPagePart> {
    const start = Number(after ?? 0)
    const all = this.#matching(query)
    const end = start + limit
    return { pages: all.slice(start, end), next: end < all.length ? String(end) : null }
  }

  async count(query: KeptPageQuery): Promise<number> {
    return this.#matching(query).length
  }

  #matching({ spider, crawl, route, since = 0, before = Number.POSITIVE_INFINITY, newestOnly }: KeptPageQuery) {
    const kept = [...this.#tables.fetches.values()].filter(
      (row): row is KeptPage =>
        row.page !== null && row.spider === spider && (crawl ?? row.crawl) === row.crawl && row.at < before,
    )
    const newest = new Map<string, KeptPage>()
    for (const row of kept) {
      const known = newest.get(row.fp)
      if (known === undefined || (compareLease(row, known) || row.at - known.at) >= 0) newest.set(row.fp, row)
    }
    return kept.filter(
      (row) => (!newestOnly || newest.get(row.fp) === row) && (route ?? row.route) === row.route && row.at >= since,
    )
  }
}
