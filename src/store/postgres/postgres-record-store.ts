import type { CrawlId } from '../../frontier/frontier.js'
import type { FieldRow } from '../../quality/field-row.js'
import type { Fingerprint, Json, Link } from '../../url/link.js'
import type { AuditEntries, AuditEntry, AuditPage } from '../audit.js'
import type { BlobEntry, BlobMove } from '../blob-index.js'
import type {
  ChangePage,
  ChangeQuery,
  ChangesLag,
  Cursor,
  LagQuery,
  OutletClaim,
  OutletHold,
  OutletInfo,
  OutletNote,
} from '../changes.js'
import type { EntityQuery, IdentifiedRecord } from '../entities.js'
import { cleanRow, type FieldQuery } from '../field-stats.js'
import type { HistoryQuery, RecordVersion } from '../history.js'
import type { KeptPageCursor, KeptPagePart, KeptPageQuery } from '../kept-pages.js'
import { prepareBatch, storedKey } from '../prepare.js'
import type { GivenKey, LeasedRecord, PageReading, PageRecord, RecordKey } from '../record-lookup.js'
import type { SearchPage, SearchQuery } from '../record-search.js'
import type {
  CrawlNote,
  FetchRow,
  KindCount,
  KnownPage,
  RecordQuery,
  RecordStore,
  RejectedRecord,
  StoredRecord,
  WriteBatch,
  WriteStatus,
} from '../record-store.js'
import type { LastVisit, VisitCounts } from '../visits.js'
import { signed } from './array-text.js'
import { auditEntries, noteAudit } from './audit.js'
import { PostgresBlobs } from './blobs.js'
import { PostgresChanges } from './changes.js'
import * as memory from './crawl-memory.js'
import { entities } from './entities.js'
import { toFetch } from './fetch-rows.js'
import { fieldPage, noteFields } from './field-stats.js'
import { versionsOf } from './history.js'
import { countKeptPages, keptPages } from './kept-pages.js'
import { PostgresKindViews } from './kind-views.js'
import type { Pg } from './pg.js'
import {
  COUNTS,
  FETCHES,
  KINDS,
  KNOWN_PAGES,
  REJECTED,
  REJECTED_BY_FIELD,
  REJECTED_OF_CRAWL,
  REMOVE_FETCHES,
  type RecordPlace,
  recordsPage,
  SPIDERS,
} from './read-statements.js'
import { recordsLeft, recordsOf } from './record-lookup.js'
import { type RecordColumns, toRecord } from './record-rows.js'
import { searchRecords } from './record-search.js'
import { forgetVisitCounts, lastVisits, visitCounts } from './visits.js'
import { writeBatch } from './write.js'

/** Rows read at a time: with the largest records that is 128 MB, with usual ones half a MB. */
const PAGE = 500
const FIELD_PAGE = 1_000
const BEFORE_ALL = -62_000_000_000_000

export class PostgresRecordStore implements RecordStore {
  readonly kindViews: PostgresKindViews
  readonly #pg: Pg
  readonly #changes: PostgresChanges
  readonly #blobs: PostgresBlobs

  constructor(pg: Pg) {
    this.#pg = pg
    this.#changes = new PostgresChanges(pg)
    this.#blobs = new PostgresBlobs(pg)
    this.kindViews = new PostgresKindViews(pg)
  }

  generation(queueIdentity: string): Promise<number> {
    return memory.generation(this.#pg, queueIdentity)
  }

  highestMark(queueIdentity: string): Promise<number> {
    return memory.highestMark(this.#pg, queueIdentity)
  }

  noteMark(queueIdentity: string, mark: number): Promise<void> {
    return memory.noteMark(this.#pg, queueIdentity, mark)
  }

  renewGeneration(queueIdentity: string, mark: number): Promise<void> {
    return memory.renewGeneration(this.#pg, queueIdentity, mark)
  }

  noteCrawl(note: CrawlNote): Promise<void> {
    return memory.noteCrawl(this.#pg, note)
  }

  crawlNotes(): Promise<CrawlNote[]> {
    return memory.crawlNotes(this.#pg)
  }

  seedCursor(crawl: CrawlId, source: string): Promise<number> {
    return memory.seedCursor(this.#pg, crawl, source)
  }

  noteSeedCursor(crawl: CrawlId, source: string, entries: number): Promise<void> {
    return memory.noteSeedCursor(this.#pg, crawl, source, entries)
  }

  async *knownPages(crawl: CrawlId, wentWell: boolean): AsyncGenerator<KnownPage> {
    let after: [number, string] | undefined = [BEFORE_ALL, '0']
    while (after !== undefined) {
      const rows: [number, string, string | null, string, string, string, number, Link | null][] = await this.#pg.query(
        KNOWN_PAGES,
        [crawl, ...after, wentWell],
      )
      for (const [, , fp, url, host, route, depth, link] of rows) {
        if (fp !== null) yield { fp, url, host, route, depth, link }
      }
      after = rows[0] && [rows[0][0], rows[0][1]]
    }
  }

  async write(batch: WriteBatch): Promise<WriteStatus[]> {
    const { prepared, answer } = prepareBatch(batch)
    return answer(await writeBatch(this.#pg, prepared))
  }

  async *records(query: RecordQuery): AsyncGenerator<StoredRecord> {
    let left = query.limit ?? Number.POSITIVE_INFINITY
    const spiders = query.spider === undefined ? await this.#spiders() : [query.spider]
    for (const spider of spiders) {
      for await (const record of this.#recordsOf(spider, query, left)) {
        yield record
        left -= 1
      }
      if (left <= 0) return
    }
  }

  async #spiders(): Promise<string[]> {
    return (await this.#pg.query<[string]>(SPIDERS, [])).map(([spider]) => spider)
  }

  async *#recordsOf(spider: string, query: RecordQuery, limit: number): AsyncGenerator<StoredRecord> {
    const { kind, site, url, since } = query
    const key = query.key === undefined ? undefined : storedKey(query.key)
    const kinds = key !== undefined && kind === undefined ? await this.#kinds(spider) : [kind]
    let left = limit
    for (const one of kinds) {
      const asked = { ...defined({ kind: one, site, key, url }), ...(since === undefined ? {} : { since }) }
      let after: RecordPlace = { kind: '', key: '', site: '', updatedAt: since ?? 0 }
      for (let more = true; more && left > 0; ) {
        const want = Math.min(PAGE, left)
        const { statement, values } = recordsPage(spider, asked, after, want)
        const rows = await this.#pg.query<RecordColumns>(statement, values)
        for (const row of rows) {
          const record = toRecord(row)
          yield record
          after = record
        }
        more = rows.length === want
        left -= rows.length
      }
    }
  }

  /** A key is found at once in its kind; kinds are few. */
  async #kinds(spider: string): Promise<string[]> {
    return (await this.#pg.query<[string]>(KINDS, [spider])).map(([kind]) => kind)
  }

  async *rejected(query: { spider?: string; kind?: string; limit: number }): AsyncGenerator<RejectedRecord> {
    let before = Number.MAX_SAFE_INTEGER
    for (let left = query.limit; left > 0; ) {
      const want = Math.min(PAGE, left)
      const rows: [
        number,
        string,
        string,
        string,
        string,
        string,
        Json,
        RejectedRecord['issues'],
        RejectedRecord['reason'],
        string,
        number,
      ][] = await this.#pg.query(REJECTED, [query.spider ?? null, query.kind ?? null, before, want])
      for (const [id, spider, site, kind, key, url, data, issues, reason, crawl, scrapedAt] of rows) {
        yield { spider, site, kind, key, url, data, issues, reason, crawl, scrapedAt }
        before = id
      }
      if (rows.length < want) return
      left -= rows.length
    }
  }

  searchRecords(query: SearchQuery): Promise<SearchPage> {
    return searchRecords(this.#pg, query)
  }

  async counts(query: { spider?: string; crawl?: CrawlId }): Promise<KindCount[]> {
    const rows = await this.#pg.query<[string, string, number, number, number, number]>(COUNTS, [
      query.spider ?? null,
      query.crawl ?? null,
    ])
    return rows.map(([spider, kind, records, rejected, fresh, unchanged]) => ({
      ...{ spider, kind, records, rejected, fresh, unchanged },
    }))
  }

  async rejectedByField(query: {
    spider: string
    crawl?: CrawlId
  }): Promise<{ kind: string; field: string; count: number }[]> {
    const { spider, crawl } = query
    const rows = await (crawl === undefined
      ? this.#pg.query<[string, string, number]>(REJECTED_BY_FIELD, [spider])
      : this.#pg.query<[string, string, number]>(REJECTED_OF_CRAWL, [spider, crawl]))
    return rows.map(([kind, field, count]) => ({ kind, field, count }))
  }

  async fetches(query: { fp: Fingerprint; crawl?: CrawlId; limit: number }): Promise<FetchRow[]> {
    const rows = await this.#pg.query<unknown[]>(FETCHES, [signed(query.fp), query.crawl ?? null, query.limit])
    return rows.map((row) => toFetch(row, query.fp))
  }

  keptPages(query: KeptPageQuery, after: KeptPageCursor | null, limit: number): Promise<KeptPagePart> {
    return keptPages(this.#pg, query, after, limit)
  }

  countKeptPages(query: KeptPageQuery): Promise<number> {
    return countKeptPages(this.#pg, query)
  }

  recordsOf(keys: readonly RecordKey[]): Promise<(LeasedRecord | null)[]> {
    return recordsOf(this.#pg, keys)
  }

  recordsLeft(spider: string, readings: readonly PageReading[], given: readonly GivenKey[]): Promise<PageRecord[]> {
    return recordsLeft(this.#pg, spider, readings, given)
  }

  lastVisits(spider: string, fps: readonly Fingerprint[]): Promise<LastVisit[]> {
    return lastVisits(this.#pg, spider, fps)
  }

  visitCounts(crawl: CrawlId): Promise<VisitCounts | null> {
    return visitCounts(this.#pg, crawl)
  }

  changes(query: ChangeQuery): Promise<ChangePage> {
    return this.#changes.changes(query)
  }

  changesEnd(): Promise<Cursor> {
    return this.#changes.changesEnd()
  }

  changesOfCrawl(crawl: CrawlId): Promise<Cursor> {
    return this.#changes.changesOfCrawl(crawl)
  }

  changesLag(query: LagQuery): Promise<ChangesLag> {
    return this.#changes.changesLag(query)
  }

  claimOutlet(claim: OutletClaim): Promise<OutletHold | null> {
    return this.#changes.claimOutlet(claim)
  }

  releaseOutlet(name: string, holder: string): Promise<void> {
    return this.#changes.releaseOutlet(name, holder)
  }

  noteOutlet(name: string, holder: string, note: OutletNote): Promise<boolean> {
    return this.#changes.noteOutlet(name, holder, note)
  }

  outlets(): Promise<OutletInfo[]> {
    return this.#changes.outlets()
  }

  resetOutlet(name: string, spider: string, cursor: Cursor | null): Promise<void> {
    return this.#changes.resetOutlet(name, spider, cursor)
  }

  noteAudit(entry: AuditEntry): Promise<void> {
    return noteAudit(this.#pg, entry)
  }

  audit(page: AuditPage): Promise<AuditEntries> {
    return auditEntries(this.#pg, page)
  }

  findBlobs(place: string, hashes: readonly string[]): Promise<Map<string, BlobEntry>> {
    return this.#blobs.findBlobs(place, hashes)
  }

  addBlobs(place: string, entries: readonly BlobEntry[]): Promise<void> {
    return this.#blobs.addBlobs(place, entries)
  }

  moveBlobs(place: string, moves: readonly BlobMove[]): Promise<void> {
    return this.#blobs.moveBlobs(place, moves)
  }

  removeBlobs(place: string, entries: readonly BlobEntry[]): Promise<void> {
    return this.#blobs.removeBlobs(place, entries)
  }

  blobsAfter(place: string, hash: string, limit: number): Promise<BlobEntry[]> {
    return this.#blobs.blobsAfter(place, hash, limit)
  }

  noteFields(rows: readonly FieldRow[]): Promise<void> {
    return noteFields(this.#pg, rows.map(cleanRow))
  }

  async *fieldStats(query: FieldQuery): AsyncGenerator<FieldRow> {
    for (let after: FieldRow | undefined | null = null; after !== undefined; ) {
      const rows: FieldRow[] = await fieldPage(this.#pg, query, after, FIELD_PAGE)
      yield* rows
      after = rows.length < FIELD_PAGE ? undefined : rows.at(-1)
    }
  }

  async *history(query: HistoryQuery): AsyncGenerator<RecordVersion> {
    for await (const record of this.records(query)) yield* versionsOf(this.#pg, record)
  }

  entities(query: EntityQuery): AsyncGenerator<IdentifiedRecord> {
    return entities(this.#pg, query)
  }

  async removeCrawl(crawl: CrawlId): Promise<void> {
    let after: [number, string] | undefined = [BEFORE_ALL, '0']
    while (after !== undefined) {
      const rows: [number, string][] = await this.#pg.query(REMOVE_FETCHES, [crawl, ...after])
      after = rows[0]
    }
    await memory.removeNotes(this.#pg, crawl)
    await forgetVisitCounts(this.#pg, crawl)
  }

  close(): Promise<void> {
    return this.#pg.close()
  }
}

function defined<Fields extends Record<string, string | undefined>>(fields: Fields): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined))
}
