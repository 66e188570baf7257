import type { CrawlSpec } from '../../frontier/frontier.js'
import type { FieldRow } from '../../quality/field-row.js'
import type { SqliteDb, SqlValue, Statement } from '../../sqlite/db.js'
import type { SqliteEngine } from '../../sqlite/engine.js'
import type { Fingerprint, Link } from '../../url/link.js'
import type { StoredAudit } from '../audit.js'
import type { BlobEntry, BlobMove } from '../blob-index.js'
import type {
  ChangeQuery,
  ChangesLag,
  Cursor,
  LagQuery,
  OutletClaim,
  OutletHold,
  OutletInfo,
  OutletNote,
} from '../changes.js'
import type { EntityQuery } from '../entities.js'
import type { FieldQuery } from '../field-stats.js'
import { compareLease, judge } from '../judge.js'
import type { KeptPageQuery } from '../kept-pages.js'
import type { KindColumns } from '../kind-views.js'
import { type PreparedBatch, type PreparedRecord, type PreparedRejected, storedKey } from '../prepare.js'
import type { PageRecord, RecordKey } from '../record-lookup.js'
import type {
  ConfirmedRecord,
  CrawlNote,
  FetchRow,
  KindCount,
  KnownPage,
  RecordQuery,
  WriteStatus,
} from '../record-store.js'
import type { LastVisit, VisitCounts } from '../visits.js'
import { type AuditRow, SqliteAudit } from './audit.js'
import { SqliteBlobs } from './blobs.js'
import { type ChangeNumbers, type ChangeRows, SqliteChanges } from './changes.js'
import { type EntityCursor, type EntityPage, SqliteEntities } from './entities.js'
import { SqliteFieldStats } from './field-stats.js'
import { fpNumber } from './fp-number.js'
import { SqliteHistory, type VersionRow } from './history.js'
import { IndexRuns } from './index-runs.js'
import { type KeptPageCount, type KeptPageRows, SqliteKeptPages } from './kept-pages.js'
import { makeView } from './kind-views.js'
import { type LeasedRow, SqliteRecordLookup } from './record-lookup.js'
import { type RecordPageRow, toPageRow } from './record-rows.js'
import {
  type ChangePlace,
  type KeyPlace,
  type SearchFilter,
  type SearchRow,
  SqliteRecordSearch,
} from './record-search.js'
import { readStatements, writeStatements } from './statements.js'
import { urlHash } from './url-hash.js'
import { SqliteVisits } from './visits.js'

export type RejectedPageRow = PreparedRejected & { readonly id: number }
/** Where a scan goes on: after this row. */
export interface RecordCursor {
  readonly id: number
  readonly updatedAt: number
}

export interface KnownPages {
  readonly pages: KnownPage[]
  readonly next: number | null
}

type Counted = 'records' | 'rejected' | 'fresh' | 'unchanged'

/** The record store's work on one SQLite connection. Nothing is remembered between calls, so a rollback leaves nothing stale. */
export class SqliteStoreEngine implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set([
    'recordPage',
    'rejectedPage',
    'counts',
    'rejectedByField',
    'fetches',
    'highestMark',
    'crawlNotes',
    'seedCursor',
    'knownPages',
    'keptPages',
    'countKeptPages',
    'recordsOf',
    'recordsLeft',
    'changes',
    'changesEnd',
    'changesOfCrawl',
    'changesLag',
    'outlets',
    'fieldStats',
    'versions',
    'entities',
    'findBlobs',
    'blobsAfter',
    'lastVisits',
    'visitCounts',
    'auditRows',
    'newestRecords',
    'recordsByKey',
  ])
  readonly #db: SqliteDb
  readonly #write: ReturnType<typeof writeStatements>
  readonly #read: ReturnType<typeof readStatements>
  readonly #recordUrls: IndexRuns
  readonly #fetchFps: IndexRuns
  readonly #keptPages: SqliteKeptPages
  readonly #lookup: SqliteRecordLookup
  readonly #changes: SqliteChanges
  readonly #fieldStats: SqliteFieldStats
  readonly #history: SqliteHistory
  readonly #entities: SqliteEntities
  readonly #blobs: SqliteBlobs
  readonly #visits: SqliteVisits
  readonly #audit: SqliteAudit
  readonly #search: SqliteRecordSearch

  constructor(db: SqliteDb) {
    this.#db = db
    this.#changes = new SqliteChanges(db)
    this.#fieldStats = new SqliteFieldStats(db)
    this.#history = new SqliteHistory(db)
    this.#entities = new SqliteEntities(db)
    this.#blobs = new SqliteBlobs(db)
    this.#visits = new SqliteVisits(db)
    this.#audit = new SqliteAudit(db)
    this.#search = new SqliteRecordSearch(db)
    this.#write = writeStatements(db)
    this.#read = readStatements(db)
    this.#recordUrls = new IndexRuns(db, 'records', 'record_urls', 'url_hash')
    this.#fetchFps = new IndexRuns(db, 'fetches', 'fetch_fps', 'fp')
    this.#keptPages = new SqliteKeptPages(db)
    this.#lookup = new SqliteRecordLookup(db)
  }

  makeView(kind: KindColumns): string {
    return makeView(this.#db, kind)
  }

  generation(queueIdentity: string): number {
    this.#write.addGeneration.run(queueIdentity)
    return Number(this.#write.findGeneration.get(queueIdentity)?.[0])
  }

  highestMark(queueIdentity: string): number {
    return Number(this.#read.highestMark.get(queueIdentity)?.[0] ?? 0)
  }

  noteMark(queueIdentity: string, mark: number): void {
    this.generation(queueIdentity)
    this.#write.noteMark.run(queueIdentity, mark)
  }

  renewGeneration(queueIdentity: string, mark: number): void {
    this.generation(queueIdentity)
    this.#write.renewGeneration.run(queueIdentity, mark)
  }

  noteCrawl({ crawl, spider, queue, queueIdentity, state, spec, openedAt }: CrawlNote): void {
    const from = this.#changes.end()
    this.#write.noteCrawl.run(crawl, spider, queue, queueIdentity, state, JSON.stringify(spec), openedAt, from)
  }

  crawlNotes(): CrawlNote[] {
    return this.#read.crawlNotes.all().map((row) => {
      const [crawl, spider, queue, queueIdentity, state, spec, openedAt] = row as [
        string,
        string,
        string,
        string,
        CrawlNote['state'],
        string,
        number,
      ]
      return { crawl, spider, queue, queueIdentity, state, spec: JSON.parse(spec) as CrawlSpec, openedAt }
    })
  }

  seedCursor(crawl: string, source: string): number {
    return Number(this.#read.seedCursor.get(crawl, source)?.[0] ?? 0)
  }

  noteSeedCursor(crawl: string, source: string, entries: number): void {
    this.#write.noteSeedCursor.run(crawl, source, entries)
  }

  /** Those among the next `limit` fetches after `after`; where to go on, or null at the end. */
  knownPages(crawl: string, wentWell: boolean, after: number, limit: number): KnownPages {
    const pages = this.#read.knownPages
      .all(after, limit, crawl, wentWell ? 1 : 0)
      .map(([fp, url, host, route, depth, link]) => ({
        ...{ fp: String(fp), url: String(url), host: String(host), route: String(route ?? '') },
        ...{ depth: Number(depth), link: linkOf(link) },
      }))
    const last = this.#read.lastOfPage.get(after, limit)?.[0]
    return { pages, next: last === undefined || last === null ? null : Number(last) }
  }

  noteAudit(entry: StoredAudit): void {
    this.#audit.note(entry)
  }

  auditRows(before: number, limit: number): AuditRow[] {
    return this.#audit.page(before, limit)
  }

  findBlobs(place: string, hashes: readonly string[]): Map<string, BlobEntry> {
    return this.#blobs.find(place, hashes)
  }

  addBlobs(place: string, entries: readonly BlobEntry[]): void {
    this.#blobs.add(place, entries)
  }

  moveBlobs(place: string, moves: readonly BlobMove[]): void {
    this.#blobs.move(place, moves)
  }

  removeBlobs(place: string, entries: readonly BlobEntry[]): void {
    this.#blobs.remove(place, entries)
  }

  blobsAfter(place: string, hash: string, limit: number): BlobEntry[] {
    return this.#blobs.after(place, hash, limit)
  }

  removeNotes(crawl: string): void {
    this.#write.removeNote.run(crawl)
    this.#write.removeCursors.run(crawl)
    this.#visits.forget(crawl)
  }

  /**
   * One status per record, in order. Rows go in one by one: with strings this long json_each took half as long again, and many rows
   * in one VALUES gained nothing.
   */
  write(batch: PreparedBatch): WriteStatus[] {
    const interned = new Interned(this.#write)
    const counts = new CountDeltas()
    const changes = this.#changes.numbers()
    const statuses = batch.records.map((record) => this.#writeRecord(record, interned, counts, changes))
    for (const row of batch.rejected) this.#writeRejected(row, interned, counts)
    for (const row of batch.fetches) this.#writeFetch(row, interned)
    this.#visits.note(batch.visits, (name) => interned.name(name))
    for (const row of batch.confirmed) this.#confirm(row, interned, counts)
    for (const delta of counts.all()) this.#write.count.run(...delta)
    changes.keep()
    if (batch.records.length > 0) this.#recordUrls.fillWhenDue()
    if (batch.fetches.length > 0) this.#fetchFps.fillWhenDue()
    return statuses
  }

  #writeRecord(record: PreparedRecord, interned: Interned, counts: CountDeltas, changes: ChangeNumbers): WriteStatus {
    const { spider, kind, key, url, data, gen, epoch, scrapedAt, reparsedAt = scrapedAt, identity } = record
    const set = interned.set(spider, record.site, kind)
    const crawl = interned.name(record.crawl)
    const sql = this.#write
    const lease = BigInt(epoch)
    const change = changes.next
    const times = [scrapedAt, reparsedAt] as const
    // Nearly every record of a crawl is new: it costs this one statement. Nearly every one of a reparse is known.
    const known = record.reparsedAt === undefined ? undefined : sql.findRecord.get(set, key)
    if (
      known === undefined &&
      sql.insertRecord.run(set, key, url, urlHash(url), data, crawl, gen, lease, ...times, change, identity) === 1
    ) {
      changes.used()
      counts.add(spider, kind, crawl, 'records', 1)
      return 'written'
    }
    const [id, oldUrl, oldData, oldCrawl, oldGen, oldEpoch, updatedAt, seenAt, named] = (known ??
      sql.findRecord.get(set, key)) as [number, string, string, number, number, string, number, number, string | null]
    // What a reparse made now is no fresher than the page it was made of.
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
      if (!repeated || crawl !== oldCrawl || seenAt !== scrapedAt)
        sql.confirmRecord.run(id, crawl, gen, lease, scrapedAt)
      return status
    }
    // What one lease says twice is no version of its own, unless the handler has changed in between.
    if (record.history && (!repeated || record.reparsedAt !== undefined)) this.#history.keep(id, reparsedAt)
    sql.updateRecord.run(id, crawl, gen, lease, scrapedAt, url, urlHash(url), data, reparsedAt, change, identity)
    changes.used()
    if (url !== oldUrl) sql.indexUrl.run(urlHash(url), id)
    return status
  }

  #confirm({ spider, site, kind, key, crawl, gen, epoch, scrapedAt }: ConfirmedRecord, ...on: [Interned, CountDeltas]) {
    const [interned, counts] = on
    const row = this.#write.findRecord.get(interned.set(spider, site, kind), key)
    if (row === undefined) return
    const [id, , , oldCrawl, oldGen, oldEpoch] = row
    const order = compareLease({ gen, epoch }, { gen: Number(oldGen), epoch: String(oldEpoch) })
    if (order < 0) return
    const crawlNumber = interned.name(crawl)
    if (order > 0) counts.add(spider, kind, crawlNumber, 'unchanged', 1)
    if (crawlNumber !== oldCrawl) {
      counts.add(spider, kind, Number(oldCrawl), 'records', -1)
      counts.add(spider, kind, crawlNumber, 'records', 1)
    }
    this.#write.confirmRecord.run(Number(id), crawlNumber, gen, BigInt(epoch), scrapedAt)
  }

  #writeRejected(row: PreparedRejected, interned: Interned, counts: CountDeltas): void {
    const set = interned.set(row.spider, row.site, row.kind)
    const crawl = interned.name(row.crawl)
    const { key, url, data, issues, reason, scrapedAt } = row
    const added = this.#write.insertRejected.run(set, key, url, data, issues, reason, crawl, scrapedAt)
    counts.add(row.spider, row.kind, crawl, 'rejected', added)
  }

  #writeFetch(row: FetchRow, interned: Interned): void {
    const { fp, at, url, host, status, bytes, ms, attempt, error, page, depth } = row
    const crawl = interned.name(row.crawl)
    const worker = interned.name(row.worker)
    const route = interned.name(row.route)
    const link = row.link === null ? null : JSON.stringify(row.link)
    const { insertFetch } = this.#write
    insertFetch.run(
      fpNumber(fp),
      at,
      crawl,
      worker,
      url,
      host,
      status,
      bytes,
      ms,
      attempt,
      error,
      page,
      route,
      depth,
      link,
      interned.name(row.spider),
      row.gen,
      BigInt(row.epoch),
      row.headers === null ? null : JSON.stringify(row.headers),
      row.pool,
    )
  }

  /** Deletes a crawl's fetches among the next `limit` rows after `after`; answers where to go on, or null at the end. */
  removeFetches(crawl: string, after: number, limit: number): number | null {
    const sql = this.#write
    const crawlId = sql.findName.get(crawl)?.[0]
    const last = sql.fetchAfter.get(after, limit)?.[0]
    if (crawlId === undefined || last === undefined || last === null) return null
    sql.unindexFetches.run(after, last, crawlId)
    sql.deleteFetches.run(after, last, crawlId)
    this.#fetchFps.takeBack()
    return Number(last)
  }

  changes(query: ChangeQuery): ChangeRows {
    return this.#changes.changes(query)
  }

  changesEnd(): Cursor {
    return this.#changes.end()
  }

  changesOfCrawl(crawl: string): Cursor {
    return this.#changes.ofCrawl(crawl)
  }

  changesLag(query: LagQuery): ChangesLag {
    return this.#changes.lag(query)
  }

  claimOutlet(claim: OutletClaim): OutletHold | null {
    return this.#changes.claim(claim)
  }

  releaseOutlet(name: string, holder: string): void {
    this.#changes.release(name, holder)
  }

  noteOutlet(name: string, holder: string, note: OutletNote): boolean {
    return this.#changes.note(name, holder, note)
  }

  outlets(): OutletInfo[] {
    return this.#changes.outlets()
  }

  resetOutlet(name: string, spider: string, cursor: Cursor | null): void {
    this.#changes.reset(name, spider, cursor)
  }

  recordPage(query: RecordQuery, after: RecordCursor | null, limit: number): RecordPageRow[] {
    const sql = this.#read
    let page = sql.recordsById
    if (query.since !== undefined) page = sql.recordsSince
    if (query.key !== undefined) page = sql.recordsByKey
    if (query.url !== undefined) page = sql.recordsByUrl
    const key = query.key === undefined ? null : storedKey(query.key)
    const { spider = null, kind = null, site = null, url = null, since = null } = query
    const from = after ?? { id: 0, updatedAt: since ?? 0 }
    const hash = url === null ? null : urlHash(url)
    const rows = page.all(spider, kind, site, key, url, since, from.id, from.updatedAt, hash, limit)
    return rows.map(toPageRow)
  }

  newestRecords(after: ChangePlace | null, want: number): SearchRow<ChangePlace>[] {
    return this.#search.newest(after, want)
  }

  recordsByKey(filter: SearchFilter, after: KeyPlace | null, want: number): SearchRow<KeyPlace>[] {
    return this.#search.byKey(filter, after, want)
  }

  rejectedPage(query: { spider?: string; kind?: string }, before: number | null, limit: number): RejectedPageRow[] {
    const rows = this.#read.rejected.all(query.spider ?? null, query.kind ?? null, before, limit)
    return rows.map((row) => {
      const [id, spider, site, kind, key, url, data, issues, reason, crawl, scrapedAt] = row as [
        number,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        RejectedPageRow['reason'],
        string,
        number,
      ]
      return { id, spider, site, kind, key, url, data, issues, reason, crawl, scrapedAt }
    })
  }

  counts(query: { spider?: string; crawl?: string }): KindCount[] {
    return this.#read.counts.all(query.spider ?? null, query.crawl ?? null).map((row) => {
      const [spider, kind, records, rejected, fresh, unchanged] = row as [
        string,
        string,
        number,
        number,
        number,
        number,
      ]
      return { spider, kind, records, rejected, fresh, unchanged }
    })
  }

  rejectedByField({
    spider,
    crawl,
  }: {
    spider: string
    crawl?: string
  }): { kind: string; field: string; count: number }[] {
    const { rejectedByField, rejectedOfCrawl } = this.#read
    const rows = crawl === undefined ? rejectedByField.all(spider) : rejectedOfCrawl.all(spider, crawl)
    return rows.map((row) => {
      const [kind, field, count] = row as [string, string, number]
      return { kind, field, count }
    })
  }

  fetches(query: { fp: Fingerprint; crawl?: string; limit: number }): FetchRow[] {
    return this.#read.fetches.all(fpNumber(query.fp), query.crawl ?? null, query.limit).map((row) => {
      const [crawl, worker, url, host, status, bytes, ms, attempt, error, page, at, route, depth, link, ...more] =
        row as [
          string,
          string,
          string,
          string,
          number,
          number,
          number,
          number,
          string | null,
          string | null,
          number,
          string | null,
          number,
          string | null,
          string | null,
          number,
          string,
          string | null,
          string | null,
        ]
      const [spider, gen, epoch, headers, pool] = more
      const about = { route: route ?? '', depth, link: linkOf(link), spider: spider ?? '', gen, epoch, pool }
      const answer = { status, bytes, ms, attempt, worker, error, page, headers: headersOf(headers), at }
      return { crawl, fp: query.fp, url, host, ...about, ...answer }
    })
  }

  lastVisits(spider: string, fps: readonly Fingerprint[]): LastVisit[] {
    return this.#visits.last(spider, fps)
  }

  visitCounts(crawl: string): VisitCounts | null {
    return this.#visits.counts(crawl)
  }

  noteFields(rows: readonly FieldRow[]): void {
    this.#fieldStats.note(rows)
  }

  fieldStats(query: FieldQuery, after: FieldRow | null, limit: number): FieldRow[] {
    return this.#fieldStats.page(query, after, limit)
  }

  versions(record: number, before: number | null, limit: number): VersionRow[] {
    return this.#history.page(record, before, limit)
  }

  entities(query: EntityQuery, after: EntityCursor | null, limit: number): EntityPage {
    return this.#entities.page(query, after, limit)
  }

  keptPages(query: KeptPageQuery, after: number, limit: number): KeptPageRows {
    return this.#keptPages.page(query, after, limit)
  }

  countKeptPages(query: KeptPageQuery, after: number): KeptPageCount {
    return this.#keptPages.count(query, after)
  }

  recordsOf(keys: readonly RecordKey[]): (LeasedRow | null)[] {
    return this.#lookup.recordsOf(keys)
  }

  recordsLeft(spider: string, read: string, given: string): PageRecord[] {
    return this.#lookup.recordsLeft(spider, read, given)
  }

  /** For whoever is going to look up everything. */
  fillIndexes(): void {
    this.#recordUrls.fill()
    this.#fetchFps.fill()
  }
}

function headersOf(text: string | null): FetchRow['headers'] {
  return text === null ? null : (JSON.parse(text) as FetchRow['headers'])
}

function linkOf(text: SqlValue | undefined): Link | null {
  return typeof text === 'string' ? (JSON.parse(text) as Link) : null
}

/** Numbers of names and record sets, looked up once per batch. */
class Interned {
  readonly #sql: ReturnType<typeof writeStatements>
  readonly #names = new Map<string, number>()
  readonly #sets = new Map<string, number>()

  constructor(sql: ReturnType<typeof writeStatements>) {
    this.#sql = sql
  }

  name(name: string): number {
    return remembered(this.#names, name, this.#sql.findName, this.#sql.addName, name)
  }

  set(spider: string, site: string, kind: string): number {
    return remembered(
      this.#sets,
      `${spider}\0${site}\0${kind}`,
      this.#sql.findSet,
      this.#sql.addSet,
      spider,
      site,
      kind,
    )
  }
}

function remembered(
  known: Map<string, number>,
  id: string,
  find: Statement,
  add: Statement,
  ...params: string[]
): number {
  const before = known.get(id)
  if (before !== undefined) return before
  let row = find.get(...params)
  if (row === undefined) {
    add.run(...params)
    row = find.get(...params)
  }
  const number = Number(row?.[0])
  known.set(id, number)
  return number
}

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
