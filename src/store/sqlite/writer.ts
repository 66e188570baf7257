import type { SqliteDb } from '../../sqlite/db.js'
import type { SqliteEngine } from '../../sqlite/engine.js'
import { compareLease, judge } from '../judge.js'
import type { PreparedBatch, PreparedRecord, PreparedRejected } from '../prepare.js'
import type { ConfirmedRecord, WriteStatus } from '../record-store.js'
import type { ChangeNumbers, SqliteChanges } from './changes.js'
import type { SqliteFetches } from './fetches.js'
import { urlHash } from './hashes.js'
import type { SqliteHistory } from './history.js'
import { IndexRuns } from './index-runs.js'
import { InternedNames, type NameStatements, nameStatements } from './names.js'
import type { SqliteVisits } from './visits.js'

/** The parts that a batch adds rows to. */
interface Written {
  readonly fetches: SqliteFetches
  readonly visits: SqliteVisits
  readonly changes: SqliteChanges
  readonly history: SqliteHistory
}

/** What a batch of visits produced, into the tables of all parts. */
export class SqliteWriter implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set()
  readonly #sql: ReturnType<typeof statements>
  readonly #names: NameStatements
  readonly #recordUrls: IndexRuns
  readonly #parts: Written

  constructor(db: SqliteDb, parts: Written) {
    this.#sql = statements(db)
    this.#names = nameStatements(db)
    this.#recordUrls = new IndexRuns(db, 'records', 'record_urls', 'url_hash')
    this.#parts = parts
  }

  /**
   * One status per record, in order. Rows go in one by one: with strings this long json_each took half as long again, and many rows
   * in one VALUES gained nothing.
   */
  write(batch: PreparedBatch): WriteStatus[] {
    const names = new InternedNames(this.#names)
    const counts = new CountDeltas()
    const changes = this.#parts.changes.numbers()
    const statuses = batch.records.map((record) => this.#writeRecord(record, names, counts, changes))
    for (const row of batch.rejected) this.#writeRejected(row, names, counts)
    for (const row of batch.fetches) this.#parts.fetches.add(row, names)
    this.#parts.visits.add(batch.visits, names)
    for (const row of batch.confirmed) this.#confirm(row, names, counts)
    for (const delta of counts.all()) this.#sql.count.run(...delta)
    changes.keep()
    if (batch.records.length > 0) this.#recordUrls.fillWhenDue()
    if (batch.fetches.length > 0) this.#parts.fetches.index.fillWhenDue()
    return statuses
  }

  #writeRecord(record: PreparedRecord, names: InternedNames, counts: CountDeltas, changes: ChangeNumbers): WriteStatus {
    const { spider, kind, key, url, data, gen, epoch, scrapedAt, reparsedAt = scrapedAt, identity } = record
    const set = names.set(spider, record.site, kind)
    const crawl = names.number(record.crawl)
    const sql = this.#sql
    const lease = BigInt(epoch)
    const change = changes.next
    const times = [scrapedAt, reparsedAt] as const
    // Nearly every record of a crawl is new: it costs this one statement. Nearly every one of a reparse is known.
    const known = record.reparsedAt === undefined ? undefined : sql.find.get(set, key)
    if (
      known === undefined &&
      sql.insert.run(set, key, url, urlHash(url), data, crawl, gen, lease, ...times, change, identity) === 1
    ) {
      changes.used()
      counts.add(spider, kind, crawl, 'records', 1)
      return 'written'
    }
    const [id, oldUrl, oldData, oldCrawl, oldGen, oldEpoch, updatedAt, seenAt, named] = (known ??
      sql.find.get(set, key)) as [number, string, string, number, number, string, number, number, string | null]
    // A record that a reparse produced now is as old as the page it came from.
    const row = { gen: oldGen, epoch: oldEpoch, data: oldData, identity: named, at: Math.min(updatedAt, seenAt) }
    const status = judge(row, { gen, epoch, data, identity, at: scrapedAt }, record.freshMs)
    const repeated = gen === oldGen && epoch === oldEpoch
    if (status === 'fresh' || (status === 'unchanged' && !repeated)) counts.add(spider, kind, crawl, status, 1)
    if (status === 'fresh' || status === 'fenced') return status
    if (crawl !== oldCrawl) {
      counts.add(spider, kind, oldCrawl, 'records', -1)
      counts.add(spider, kind, crawl, 'records', 1)
    }
    if (status === 'unchanged') {
      // A reparse confirms most rows as they are.
      if (!repeated || crawl !== oldCrawl || seenAt !== scrapedAt) sql.confirm.run(id, crawl, gen, lease, scrapedAt)
      return status
    }
    // What the same lease corrects is not a version of its own, unless the handler has changed in between.
    if (record.history && (!repeated || record.reparsedAt !== undefined)) this.#parts.history.keep(id, reparsedAt)
    sql.update.run(id, crawl, gen, lease, scrapedAt, url, urlHash(url), data, reparsedAt, change, identity)
    changes.used()
    if (url !== oldUrl) sql.indexUrl.run(urlHash(url), id)
    return status
  }

  #confirm(confirmed: ConfirmedRecord, names: InternedNames, counts: CountDeltas): void {
    const { spider, site, kind, key, crawl, gen, epoch, scrapedAt } = confirmed
    const row = this.#sql.find.get(names.set(spider, site, kind), key)
    if (row === undefined) return
    const [id, , , oldCrawl, oldGen, oldEpoch] = row
    const order = compareLease({ gen, epoch }, { gen: Number(oldGen), epoch: String(oldEpoch) })
    if (order < 0) return
    const crawlNumber = names.number(crawl)
    if (order > 0) counts.add(spider, kind, crawlNumber, 'unchanged', 1)
    if (crawlNumber !== oldCrawl) {
      counts.add(spider, kind, Number(oldCrawl), 'records', -1)
      counts.add(spider, kind, crawlNumber, 'records', 1)
    }
    this.#sql.confirm.run(Number(id), crawlNumber, gen, BigInt(epoch), scrapedAt)
  }

  #writeRejected(row: PreparedRejected, names: InternedNames, counts: CountDeltas): void {
    const set = names.set(row.spider, row.site, row.kind)
    const crawl = names.number(row.crawl)
    const { key, url, data, issues, reason, scrapedAt } = row
    const added = this.#sql.insertRejected.run(set, key, url, data, issues, reason, crawl, scrapedAt)
    counts.add(row.spider, row.kind, crawl, 'rejected', added)
  }

  /** Before a scan that needs the whole index. */
  fillIndexes(): void {
    this.#recordUrls.fill()
    this.#parts.fetches.index.fill()
  }
}

type Counted = 'records' | 'rejected' | 'fresh' | 'unchanged'
type Delta = { spider: string; kind: string; crawl: number } & Record<Counted, number>

class CountDeltas {
  readonly #deltas = new Map<string, Delta>()

  add(spider: string, kind: string, crawl: number, field: Counted, by: number): void {
    const id = `${crawl}\0${spider}\0${kind}`
    let delta = this.#deltas.get(id)
    if (delta === undefined) {
      delta = { spider, kind, crawl, records: 0, rejected: 0, fresh: 0, unchanged: 0 }
      this.#deltas.set(id, delta)
    }
    delta[field] += by
  }

  all(): [string, string, number, number, number, number, number][] {
    return [...this.#deltas.values()].map((d) => [
      d.spider,
      d.kind,
      d.crawl,
      d.records,
      d.rejected,
      d.fresh,
      d.unchanged,
    ])
  }
}

function statements(db: SqliteDb) {
  return {
    insert: db.prepare(
      `INSERT INTO records (set_id, key, url, url_hash, data, crawl_id, gen, epoch, first_seen_at, updated_at, seen_at,
         change, identity)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?9, ?11, ?12) ON CONFLICT (set_id, key) DO NOTHING`,
    ),
    find: db.prepare(
      `SELECT id, url, data, crawl_id, gen, CAST(epoch AS TEXT), updated_at, seen_at, identity
       FROM records WHERE set_id = ? AND key = ?`,
    ),
    confirm: db.prepare('UPDATE records SET crawl_id = ?2, gen = ?3, epoch = ?4, seen_at = ?5 WHERE id = ?1'),
    update: db.prepare(
      `UPDATE records SET crawl_id = ?2, gen = ?3, epoch = ?4, seen_at = ?5, updated_at = ?9, url = ?6, url_hash = ?7, data = ?8,
         change = ?10, identity = ?11
       WHERE id = ?1`,
    ),
    indexUrl: db.prepare('INSERT OR IGNORE INTO record_urls (url_hash, id) VALUES (?, ?)'),
    count: db.prepare(
      `INSERT INTO record_counts (spider, kind, crawl_id, records, rejected, fresh, unchanged) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (spider, kind, crawl_id) DO UPDATE SET records = records + excluded.records,
         rejected = rejected + excluded.rejected, fresh = fresh + excluded.fresh, unchanged = unchanged + excluded.unchanged`,
    ),
    // A repeated write must not keep its rejected records twice.
    insertRejected: db.prepare(
      `INSERT INTO rejected (set_id, key, url, data, issues, reason, crawl_id, scraped_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (
         SELECT 1 FROM rejected WHERE set_id = ?1 AND key = ?2 AND scraped_at = ?8
           AND url = ?3 AND data = ?4 AND issues = ?5 AND reason = ?6 AND crawl_id = ?7)`,
    ),
  }
}
