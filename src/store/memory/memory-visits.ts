import { compareLease } from '../judge.js'
import { type LastVisit, NO_VISITS, type VisitCounts, type VisitRow, type Visits } from '../visits.js'

export class MemoryVisits implements Visits {
  readonly #rows = new Map<string, VisitRow>()
  readonly #counts = new Map<string, VisitCounts>()

  add(rows: readonly VisitRow[]): void {
    for (const row of rows) {
      const id = idOf(row.spider, row.fp)
      const before = this.#rows.get(id)
      const order = before === undefined ? 1 : compareLease(row, before)
      if (order < 0) continue
      this.#rows.set(id, row)
      if (order === 0) continue
      const counts = this.#counts.get(row.crawl) ?? NO_VISITS
      this.#counts.set(row.crawl, { ...counts, [row.result]: counts[row.result] + 1 })
    }
  }

  async last(spider: string, fps: readonly string[]): Promise<LastVisit[]> {
    const found = fps.map((fp) => this.#rows.get(idOf(spider, fp)))
    return found.flatMap((row) => (row === undefined ? [] : [lastOf(row)]))
  }

  async counts(crawl: string): Promise<VisitCounts | null> {
    return this.#counts.get(crawl) ?? null
  }

  forget(crawl: string): void {
    this.#counts.delete(crawl)
  }
}

function idOf(spider: string, fp: string): string {
  return `${spider}\n${fp}`
}

function lastOf({ fp, at, url, etag, lastModified, bodyHash, readAs, page, memo }: VisitRow): LastVisit {
  return { fp, at, url, etag, lastModified, bodyHash, readAs, page, memo }
}
