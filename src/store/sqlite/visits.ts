import type { SqliteDb } from '../../sqlite/db.js'
import { type EngineCall, forward, type SqliteEngine } from '../../sqlite/engine.js'
import type { Fingerprint } from '../../url/link.js'
import { compareLease } from '../judge.js'
import { rowReader } from '../row-reader.js'
import { type LastVisit, NO_VISITS, type VisitCounts, type VisitRow, type Visits } from '../visits.js'
import { fpNumber } from './hashes.js'
import type { InternedNames } from './names.js'

export class SqliteVisits implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['last', 'counts'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  add(rows: readonly VisitRow[], names: InternedNames): void {
    const counted = new Map<number, VisitCounts>()
    for (const row of rows) {
      if (!this.#addOne(row, names)) continue
      const crawl = names.number(row.crawl)
      const counts = counted.get(crawl) ?? NO_VISITS
      counted.set(crawl, { ...counts, [row.result]: counts[row.result] + 1 })
    }
    for (const [crawl, counts] of counted) {
      this.#sql.count.run(crawl, counts.new, counts.changed, counts.notModified, counts.sameBody)
    }
  }

  /** Whether it counts: the lease is a new one. */
  #addOne(row: VisitRow, names: InternedNames): boolean {
    const { gen, epoch, at, url, etag, lastModified, bodyHash, readAs, page, memo } = row
    const link = [names.number(row.spider), fpNumber(row.fp)] as const
    const before = this.#sql.lease.get(...link)
    const order = before === undefined ? 1 : compareLease(row, { gen: Number(before[0]), epoch: String(before[1]) })
    if (order >= 0)
      this.#sql.put.run(...link, gen, BigInt(epoch), at, url, etag, lastModified, bodyHash, readAs, page, memo)
    return order > 0
  }

  last(spider: string, fps: readonly Fingerprint[]): LastVisit[] {
    return fps.flatMap((fp) => {
      const row = this.#sql.last.get(spider, fpNumber(fp))
      return row === undefined ? [] : [{ fp, ...toVisit(row) }]
    })
  }

  counts(crawl: string): VisitCounts | null {
    const row = this.#sql.counts.get(crawl)
    if (row === undefined) return null
    const [first, changed, notModified, sameBody] = row.map(Number)
    return { new: first ?? 0, changed: changed ?? 0, notModified: notModified ?? 0, sameBody: sameBody ?? 0 }
  }

  forget(crawl: string): void {
    this.#sql.forget.run(crawl)
  }
}

export function visitsOver(call: EngineCall<SqliteVisits>): Visits {
  return forward(call, 'last', 'counts')
}

function statements(db: SqliteDb) {
  return {
    lease: db.prepare('SELECT gen, CAST(epoch AS TEXT) FROM visits WHERE spider_id = ? AND fp = ?'),
    put: db.prepare(
      `INSERT INTO visits (spider_id, fp, gen, epoch, at, url, etag, last_modified, body_hash, read_as, page, memo)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (spider_id, fp) DO UPDATE SET gen = excluded.gen, epoch = excluded.epoch, at = excluded.at, url = excluded.url,
         etag = excluded.etag, last_modified = excluded.last_modified, body_hash = excluded.body_hash, read_as = excluded.read_as,
         page = excluded.page, memo = excluded.memo`,
    ),
    count: db.prepare(
      `INSERT INTO visit_counts (crawl_id, first_time, changed, not_modified, same_body) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (crawl_id) DO UPDATE SET first_time = first_time + excluded.first_time, changed = changed + excluded.changed,
         not_modified = not_modified + excluded.not_modified, same_body = same_body + excluded.same_body`,
    ),
    last: db.prepare(
      `SELECT at, url, etag, last_modified, body_hash, read_as, page, memo FROM visits
       WHERE spider_id = (SELECT id FROM names WHERE name = ?) AND fp = ?`,
    ),
    counts: db.prepare(
      `SELECT first_time, changed, not_modified, same_body FROM visit_counts
       WHERE crawl_id = (SELECT id FROM names WHERE name = ?)`,
    ),
    forget: db.prepare('DELETE FROM visit_counts WHERE crawl_id = (SELECT id FROM names WHERE name = ?)'),
  }
}

const toVisit = rowReader<Omit<LastVisit, 'fp'>>(
  ...(['at', 'url', 'etag', 'lastModified', 'bodyHash', 'readAs', 'page', 'memo'] as const),
)
