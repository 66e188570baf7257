import type { CrawlId } from '../../frontier/frontier.js'
import type { FieldRow } from '../../quality/field-row.js'
import type { EngineCall } from '../../sqlite/engine.js'
import type { Fingerprint } from '../../url/link.js'
import { type AuditEntries, type AuditEntry, type AuditPage, auditBefore, auditPage, prepareAudit } from '../audit.js'
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
import type { KindViews } from '../kind-views.js'
import { prepareBatch } from '../prepare.js'
import type { GivenKey, LeasedRecord, PageReading, PageRecord, RecordKey } from '../record-lookup.js'
import { type FoundRow, type SearchPage, type SearchQuery, searchThrough } from '../record-search.js'
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
import type { EntityCursor, EntityPage } from './entities.js'
import type { VersionRow } from './history.js'
import { type KeptPageCount, toKept } from './kept-pages.js'
import { viewText } from './kind-views.js'
import { asGiven, asReadings, type LeasedRow } from './record-lookup.js'
import { type RecordPageRow, storedRecord } from './record-rows.js'
import { changePlace, keyPlace, type SearchRow } from './record-search.js'
import type { KnownPages, RecordCursor, RejectedPageRow, SqliteStoreEngine } from './sqlite-store-engine.js'

/** Rows read at a time: with the largest records that is 25 MB, with usual ones 40 KB. */
const PAGE = 100
/** Rows of a hundred bytes, or with their sketches a kilobyte. */
const FIELD_PAGE = 1000
/** Fetch rows looked at in one call: other writers wait a few milliseconds. */
const FETCH_PAGE = 5000

export class SqliteRecordStore implements RecordStore {
  readonly kindViews: KindViews
  readonly #call: EngineCall<SqliteStoreEngine>
  readonly #close: () => Promise<void>

  /** `close` ends what stands behind `call`. */
  constructor(call: EngineCall<SqliteStoreEngine>, close: () => Promise<void>) {
    this.#call = call
    this.#close = close
    this.kindViews = {
      viewSql: viewText,
      makeView: async (kind) => ({ name: await call('makeView', kind) }),
      tables: null,
    }
  }

  generation(queueIdentity: string): Promise<number> {
    return this.#call('generation', queueIdentity)
  }

  highestMark(queueIdentity: string): Promise<number> {
    return this.#call('highestMark', queueIdentity)
  }

  noteMark(queueIdentity: string, mark: number): Promise<void> {
    return this.#call('noteMark', queueIdentity, mark)
  }

  renewGeneration(queueIdentity: string, mark: number): Promise<void> {
    return this.#call('renewGeneration', queueIdentity, mark)
  }

  noteCrawl(note: CrawlNote): Promise<void> {
    return this.#call('noteCrawl', note)
  }

  crawlNotes(): Promise<CrawlNote[]> {
    return this.#call('crawlNotes')
  }

  seedCursor(crawl: CrawlId, source: string): Promise<number> {
    return this.#call('seedCursor', crawl, source)
  }

  noteSeedCursor(crawl: CrawlId, source: string, entries: number): Promise<void> {
    return this.#call('noteSeedCursor', crawl, source, entries)
  }

  async *knownPages(crawl: CrawlId, wentWell: boolean): AsyncGenerator<KnownPage> {
    let after: number | null = 0
    while (after !== null) {
      const { pages, next }: KnownPages = await this.#call('knownPages', crawl, wentWell, after, FETCH_PAGE)
      yield* pages
      after = next
    }
  }

  async write(batch: WriteBatch): Promise<WriteStatus[]> {
    const { prepared, answer } = prepareBatch(batch)
    return answer(await this.#call('write', prepared))
  }

  async *records(query: RecordQuery): AsyncGenerator<StoredRecord> {
    let left = query.limit ?? Number.POSITIVE_INFINITY
    let after: RecordCursor | null = null
    while (left > 0) {
      const want = Math.min(PAGE, left)
      const rows: RecordPageRow[] = await this.#call('recordPage', query, after, want)
      for (const { id, data, ...row } of rows) {
        yield { ...row, data: JSON.parse(data) }
        after = { id, updatedAt: row.updatedAt }
      }
      if (rows.length < want) return
      left -= rows.length
    }
  }

  async *rejected(query: { spider?: string; kind?: string; limit: number }): AsyncGenerator<RejectedRecord> {
    let left = query.limit
    let before: number | null = null
    while (left > 0) {
      const want = Math.min(PAGE, left)
      const rows: RejectedPageRow[] = await this.#call('rejectedPage', query, before, want)
      for (const { id, data, issues, ...row } of rows) {
        yield { ...row, data: JSON.parse(data), issues: JSON.parse(issues) }
        before = id
      }
      if (rows.length < want) return
      left -= rows.length
    }
  }

  searchRecords(query: SearchQuery): Promise<SearchPage> {
    const { spider, kind } = query
    const found = <Place>({ place, row }: SearchRow<Place>): FoundRow<Place> => {
      const { key, url, data } = row
      return { place, key, url, json: () => data, record: () => storedRecord(row) }
    }
    return spider === undefined && kind === undefined
      ? searchThrough(query, changePlace, async (after, want) =>
          (await this.#call('newestRecords', after, want)).map(found),
        )
      : searchThrough(query, keyPlace, async (after, want) =>
          (await this.#call('recordsByKey', { spider, kind }, after, want)).map(found),
        )
  }

  counts(query: { spider?: string; crawl?: CrawlId }): Promise<KindCount[]> {
    return this.#call('counts', query)
  }

  rejectedByField(query: {
    spider: string
    crawl?: CrawlId
  }): Promise<{ kind: string; field: string; count: number }[]> {
    return this.#call('rejectedByField', query)
  }

  fetches(query: { fp: Fingerprint; crawl?: CrawlId; limit: number }): Promise<FetchRow[]> {
    return this.#call('fetches', query)
  }

  async keptPages(query: KeptPageQuery, after: KeptPageCursor | null, limit: number): Promise<KeptPagePart> {
    if (after === null) await this.#call('fillIndexes')
    const { rows, next } = await this.#call('keptPages', query, after === null ? 0 : Number(after), limit)
    return { pages: rows.map((row) => toKept(row, query.spider)), next: next === null ? null : String(next) }
  }

  async countKeptPages(query: KeptPageQuery): Promise<number> {
    let total = 0
    for (let after: number | null = 0; after !== null; ) {
      const { count, next }: KeptPageCount = await this.#call('countKeptPages', query, after)
      total += count
      after = next
    }
    return total
  }

  async recordsOf(keys: readonly RecordKey[]): Promise<(LeasedRecord | null)[]> {
    const rows: (LeasedRow | null)[] = await this.#call('recordsOf', keys)
    return rows.map((row) => row && { ...row, data: JSON.parse(row.data) })
  }

  recordsLeft(spider: string, readings: readonly PageReading[], given: readonly GivenKey[]): Promise<PageRecord[]> {
    // As text they travel to the database thread in one piece.
    return this.#call('recordsLeft', spider, asReadings(readings), asGiven(given))
  }

  lastVisits(spider: string, fps: readonly Fingerprint[]): Promise<LastVisit[]> {
    return this.#call('lastVisits', spider, fps)
  }

  visitCounts(crawl: CrawlId): Promise<VisitCounts | null> {
    return this.#call('visitCounts', crawl)
  }

  async changes(query: ChangeQuery): Promise<ChangePage> {
    const { rows, ...page } = await this.#call('changes', query)
    return { records: rows.map(storedRecord), ...page }
  }

  changesEnd(): Promise<Cursor> {
    return this.#call('changesEnd')
  }

  changesOfCrawl(crawl: CrawlId): Promise<Cursor> {
    return this.#call('changesOfCrawl', crawl)
  }

  changesLag(query: LagQuery): Promise<ChangesLag> {
    return this.#call('changesLag', query)
  }

  claimOutlet(claim: OutletClaim): Promise<OutletHold | null> {
    return this.#call('claimOutlet', claim)
  }

  releaseOutlet(name: string, holder: string): Promise<void> {
    return this.#call('releaseOutlet', name, holder)
  }

  noteOutlet(name: string, holder: string, note: OutletNote): Promise<boolean> {
    return this.#call('noteOutlet', name, holder, note)
  }

  outlets(): Promise<OutletInfo[]> {
    return this.#call('outlets')
  }

  resetOutlet(name: string, spider: string, cursor: Cursor | null): Promise<void> {
    return this.#call('resetOutlet', name, spider, cursor)
  }

  noteFields(rows: readonly FieldRow[]): Promise<void> {
    return this.#call('noteFields', rows.map(cleanRow))
  }

  async *fieldStats(query: FieldQuery): AsyncGenerator<FieldRow> {
    for (let after: FieldRow | undefined | null = null; after !== undefined; ) {
      const rows: FieldRow[] = await this.#call('fieldStats', query, after, FIELD_PAGE)
      yield* rows
      after = rows.length < FIELD_PAGE ? undefined : rows.at(-1)
    }
  }

  async *history(query: HistoryQuery): AsyncGenerator<RecordVersion> {
    let after: RecordCursor | null = null
    do {
      const rows: RecordPageRow[] = await this.#call('recordPage', query, after, PAGE)
      for (const row of rows) yield* this.#versions(row)
      const last = rows.at(-1)
      after = rows.length < PAGE || last === undefined ? null : last
    } while (after !== null)
  }

  async *#versions(record: RecordPageRow): AsyncGenerator<RecordVersion> {
    const { id, spider, site, kind, key, url, data, crawl, updatedAt } = record
    const about = { spider, site, kind, key }
    yield { ...about, url, data: JSON.parse(data), crawl, from: updatedAt, until: null }
    for (let before: number | undefined | null = null; before !== undefined; ) {
      const versions: VersionRow[] = await this.#call('versions', id, before, PAGE)
      for (const { id: _id, ...version } of versions) yield { ...about, ...version, data: JSON.parse(version.data) }
      before = versions.length < PAGE ? undefined : versions.at(-1)?.id
    }
  }

  async *entities(query: EntityQuery): AsyncGenerator<IdentifiedRecord> {
    let after: EntityCursor | null = null
    do {
      const { rows, next }: EntityPage = await this.#call('entities', query, after, PAGE)
      for (const { identity, ...row } of rows) yield { ...storedRecord(row), identity }
      after = next
    } while (after !== null)
  }

  noteAudit(entry: AuditEntry): Promise<void> {
    return this.#call('noteAudit', prepareAudit(entry))
  }

  async audit(page: AuditPage): Promise<AuditEntries> {
    const rows = await this.#call('auditRows', auditBefore(page), page.limit + 1)
    const entries = rows.map(({ id, entry }) => ({ id, entry: { ...entry, details: JSON.parse(entry.details) } }))
    return auditPage(entries, page.limit)
  }

  findBlobs(place: string, hashes: readonly string[]): Promise<Map<string, BlobEntry>> {
    return this.#call('findBlobs', place, hashes)
  }

  addBlobs(place: string, entries: readonly BlobEntry[]): Promise<void> {
    return this.#call('addBlobs', place, entries)
  }

  moveBlobs(place: string, moves: readonly BlobMove[]): Promise<void> {
    return this.#call('moveBlobs', place, moves)
  }

  removeBlobs(place: string, entries: readonly BlobEntry[]): Promise<void> {
    return this.#call('removeBlobs', place, entries)
  }

  blobsAfter(place: string, hash: string, limit: number): Promise<BlobEntry[]> {
    return this.#call('blobsAfter', place, hash, limit)
  }

  async removeCrawl(crawl: CrawlId): Promise<void> {
    let after: number | null = 0
    while (after !== null) after = await this.#call('removeFetches', crawl, after, FETCH_PAGE)
    await this.#call('removeNotes', crawl)
  }

  close(): Promise<void> {
    return this.#close()
  }
}
