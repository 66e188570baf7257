import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { type Clock, systemClock } from '../../clock.js'
import type { FieldRow } from '../../quality/field-row.js'
import type { AuditEntries, AuditEntry, AuditPage } from '../audit.js'
import type { BlobEntry, BlobMove } from '../blob-index.js'
import {
  type ChangePage,
  type ChangeQuery,
  type ChangesLag,
  type Cursor,
  FROM_START,
  foreignCursor,
  type LagQuery,
  makeCursor,
  type OutletClaim,
  type OutletHold,
  type OutletInfo,
  type OutletNote,
  readCursor,
} from '../changes.js'
import type { EntityQuery, IdentifiedRecord } from '../entities.js'
import { cleanRow, type FieldQuery } from '../field-stats.js'
import type { HistoryQuery, RecordVersion } from '../history.js'
import { compareLease, judge, type Version } from '../judge.js'
import type { KeptPage, KeptPagePart, KeptPageQuery } from '../kept-pages.js'
import { type PreparedRecord, type PreparedRejected, prepareBatch, storedKey } from '../prepare.js'
import type { GivenKey, LeasedRecord, PageReading, PageRecord, RecordKey } from '../record-lookup.js'
import { foundRow, type SearchPage, type SearchQuery, searchThrough } from '../record-search.js'
import type {
  ConfirmedRecord,
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
import { MemoryAudit } from './memory-audit.js'
import { MemoryBlobIndex } from './memory-blob-index.js'
import { MemoryFieldStats } from './memory-field-stats.js'
import { MemoryOutlets } from './memory-outlets.js'
import { MemoryVisits } from './memory-visits.js'

interface Row {
  readonly record: PreparedRecord
  /** The number of the change that gave it its content. */
  readonly change: number
  readonly version: Version
  readonly firstSeenAt: number
  readonly crawl: string
  readonly seenAt: number
  /** What it was before, newest first. */
  readonly older: readonly (Omit<Row, 'older'> & { readonly until: number })[]
}

/** The reference: short and obvious, the oracle of the drivers' tests. Everything is counted by looking. */
export class MemoryRecordStore implements RecordStore {
  readonly kindViews = null
  readonly #generations = new Map<string, number>()
  readonly #marks = new Map<string, number>()
  readonly #notes = new Map<string, CrawlNote>()
  readonly #cursors = new Map<string, Map<string, number>>()
  readonly #rows = new Map<string, Row>()
  readonly #rejected = new Map<string, PreparedRejected>()
  readonly #skips: { spider: string; kind: string; crawl: string; status: 'fresh' | 'unchanged' }[] = []
  #fetches = new Map<string, FetchRow>()
  readonly #identity = randomBytes(8).toString('hex')
  readonly #crawlStarts = new Map<string, Cursor>()
  readonly #outlets: MemoryOutlets
  readonly #fieldStats = new MemoryFieldStats()
  readonly #blobs = new MemoryBlobIndex()
  readonly #visits = new MemoryVisits()
  readonly #audit = new MemoryAudit()
  #lastChange = 0

  constructor(clock: Clock = systemClock) {
    this.#outlets = new MemoryOutlets(clock)
  }

  async generation(queueIdentity: string): Promise<number> {
    const gen = this.#generations.get(queueIdentity) ?? Math.max(0, ...this.#generations.values()) + 1
    this.#generations.set(queueIdentity, gen)
    return gen
  }

  async highestMark(queueIdentity: string): Promise<number> {
    return this.#marks.get(queueIdentity) ?? 0
  }

  async noteMark(queueIdentity: string, mark: number): Promise<void> {
    this.#marks.set(queueIdentity, Math.max(mark, this.#marks.get(queueIdentity) ?? 0))
  }

  async renewGeneration(queueIdentity: string, mark: number): Promise<void> {
    if ((this.#marks.get(queueIdentity) ?? 0) !== mark) return
    this.#marks.delete(queueIdentity)
    this.#generations.set(queueIdentity, Math.max(0, ...this.#generations.values()) + 1)
  }

  async noteCrawl(note: CrawlNote): Promise<void> {
    this.#notes.set(note.crawl, note)
    if (!this.#crawlStarts.has(note.crawl)) this.#crawlStarts.set(note.crawl, await this.changesEnd())
  }

  async crawlNotes(): Promise<CrawlNote[]> {
    return [...this.#notes.values()].sort((a, b) => a.openedAt - b.openedAt)
  }

  async seedCursor(crawl: string, source: string): Promise<number> {
    return this.#cursors.get(crawl)?.get(source) ?? 0
  }

  async noteSeedCursor(crawl: string, source: string, entries: number): Promise<void> {
    this.#cursors.set(crawl, new Map([...(this.#cursors.get(crawl) ?? []), [source, entries]]))
  }

  async *knownPages(crawl: string, wentWell: boolean): AsyncGenerator<KnownPage> {
    for (const row of [...this.#fetches.values()]) {
      const { fp, url, host, route, depth, link, error, status } = row
      const well = error === null && (status < 300 || status === 304)
      if (row.crawl === crawl && well === wentWell) yield { fp, url, host, route, depth, link }
    }
  }

  async write(batch: WriteBatch): Promise<WriteStatus[]> {
    const { prepared, answer } = prepareBatch(batch)
    for (const row of prepared.rejected) this.#rejected.set(JSON.stringify(row), row)
    for (const row of prepared.fetches) this.#fetches.set(JSON.stringify(row), row)
    this.#visits.note(prepared.visits)
    for (const row of prepared.confirmed) this.#confirm(row)
    return answer(prepared.records.map((record) => this.#writeOne(record)))
  }

  #confirm({ spider, site, kind, key, crawl, gen, epoch, scrapedAt }: ConfirmedRecord): void {
    const id = JSON.stringify([spider, site, kind, key])
    const row = this.#rows.get(id)
    const order = row === undefined ? -1 : compareLease({ gen, epoch }, row.version)
    if (row === undefined || order < 0) return
    if (order > 0) this.#skips.push({ spider, kind, crawl, status: 'unchanged' })
    this.#rows.set(id, { ...row, version: { ...row.version, gen, epoch }, crawl, seenAt: scrapedAt })
  }

  #writeOne(record: PreparedRecord): WriteStatus {
    const id = JSON.stringify([record.spider, record.site, record.kind, record.key])
    const { gen, epoch, data, identity, crawl, scrapedAt } = record
    const row = this.#rows.get(id)
    const status = judge(row && standing(row), { gen, epoch, data, identity, at: scrapedAt }, record.freshMs)
    const repeated = row?.version.gen === gen && row.version.epoch === epoch
    if (status === 'fresh' || (status === 'unchanged' && !repeated)) {
      this.#skips.push({ spider: record.spider, kind: record.kind, crawl, status })
    }
    if (status === 'unchanged' && row !== undefined) {
      this.#rows.set(id, { ...row, version: { ...row.version, gen, epoch }, crawl, seenAt: scrapedAt })
    } else if (status === 'written') {
      const version = { gen, epoch, data, identity, at: record.reparsedAt ?? scrapedAt }
      const kept = record.history && (!repeated || record.reparsedAt !== undefined)
      const older = row === undefined ? [] : kept ? [{ ...row, until: version.at }, ...row.older] : row.older
      const firstSeenAt = row?.firstSeenAt ?? scrapedAt
      this.#rows.set(id, { record, change: ++this.#lastChange, version, firstSeenAt, crawl, seenAt: scrapedAt, older })
    }
    return status
  }

  async *records(query: RecordQuery): AsyncGenerator<StoredRecord> {
    let left = query.limit ?? Number.POSITIVE_INFINITY
    for (const row of [...this.#rows.values()]) {
      const { spider, site, kind, key, url } = row.record
      if (query.spider !== undefined && query.spider !== spider) continue
      if (query.site !== undefined && query.site !== site) continue
      if (query.kind !== undefined && query.kind !== kind) continue
      if (query.key !== undefined && storedKey(query.key) !== key) continue
      if (query.url !== undefined && query.url !== url) continue
      if (query.since !== undefined && row.version.at < query.since) continue
      if (left-- <= 0) return
      yield storedRecord(row)
    }
  }

  searchRecords(query: SearchQuery): Promise<SearchPage> {
    const newest = query.spider === undefined && query.kind === undefined
    const rows = [...this.#rows]
      .filter(([, { record }]) => (query.spider ?? record.spider) === record.spider)
      .filter(([, { record }]) => (query.kind ?? record.kind) === record.kind)
      .map(([id, row]) => foundRow([newest ? -row.change : id] as const, storedRecord(row)))
      .sort((a, b) => (a.place[0] < b.place[0] ? -1 : 1))
    const place = z.tuple([newest ? z.number() : z.string()]).readonly()
    return searchThrough(query, place, async (after, want) =>
      rows.filter((row) => after === null || row.place[0] > after[0]).slice(0, want),
    )
  }

  async counts(query: { spider?: string; crawl?: string }): Promise<KindCount[]> {
    const counts = new Map<string, { -readonly [Field in keyof KindCount]: KindCount[Field] }>()
    const add = (
      of: { spider: string; kind: string; crawl: string },
      field: 'records' | 'rejected' | 'fresh' | 'unchanged',
    ) => {
      if (query.spider !== undefined && query.spider !== of.spider) return
      if (query.crawl !== undefined && query.crawl !== of.crawl) return
      const { spider, kind } = of
      const id = JSON.stringify([spider, kind])
      const count = counts.get(id) ?? { spider, kind, records: 0, rejected: 0, fresh: 0, unchanged: 0 }
      count[field] += 1
      counts.set(id, count)
    }
    for (const { record, crawl } of this.#rows.values()) add({ ...record, crawl }, 'records')
    for (const row of this.#rejected.values()) add(row, 'rejected')
    for (const skip of this.#skips) add(skip, skip.status)
    return [...counts.values()].sort((a, b) => compareText(a.spider, b.spider) || compareText(a.kind, b.kind))
  }

  async *rejected(query: { spider?: string; kind?: string; limit: number }): AsyncGenerator<RejectedRecord> {
    const newestFirst = [...this.#rejected.values()].reverse()
    const wanted = newestFirst.filter(
      (row) => (query.spider ?? row.spider) === row.spider && (query.kind ?? row.kind) === row.kind,
    )
    for (const row of wanted.slice(0, query.limit))
      yield { ...row, data: JSON.parse(row.data), issues: JSON.parse(row.issues) }
  }

  async rejectedByField(query: {
    spider: string
    crawl?: string
  }): Promise<{ kind: string; field: string; count: number }[]> {
    const counts = new Map<string, { kind: string; field: string; count: number }>()
    for (const row of this.#rejected.values()) {
      if (row.spider !== query.spider || row.reason !== 'invalid') continue
      if ((query.crawl ?? row.crawl) !== row.crawl) continue
      for (const { field } of JSON.parse(row.issues) as { field: string }[]) {
        const id = JSON.stringify([row.kind, field])
        counts.set(id, { kind: row.kind, field, count: (counts.get(id)?.count ?? 0) + 1 })
      }
    }
    return [...counts.values()].sort(
      (a, b) => b.count - a.count || compareText(a.kind, b.kind) || compareText(a.field, b.field),
    )
  }

  async fetches(query: { fp: string; crawl?: string; limit: number }): Promise<FetchRow[]> {
    return [...this.#fetches.values()]
      .filter((row) => row.fp === query.fp && (query.crawl ?? row.crawl) === row.crawl)
      .reverse()
      .sort((a, b) => b.at - a.at)
      .slice(0, query.limit)
  }

  async keptPages(query: KeptPageQuery, after: string | null, limit: number): Promise<KeptPagePart> {
    const start = Number(after ?? 0)
    const all = this.#keptPages(query)
    const end = start + limit
    return { pages: all.slice(start, end), next: end < all.length ? String(end) : null }
  }

  async countKeptPages(query: KeptPageQuery): Promise<number> {
    return this.#keptPages(query).length
  }

  #keptPages({ spider, crawl, route, since = 0, before = Number.POSITIVE_INFINITY, newestOnly }: KeptPageQuery) {
    const kept = [...this.#fetches.values()].filter(
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

  async recordsOf(keys: readonly RecordKey[]): Promise<(LeasedRecord | null)[]> {
    return keys.map(({ spider, site, kind, key }) => {
      const row = this.#rows.get(JSON.stringify([spider, site, kind, key]))
      if (row === undefined) return null
      const { record, version, firstSeenAt, crawl, seenAt } = row
      const { gen, epoch, at } = version
      const data = JSON.parse(version.data)
      return {
        ...{ spider, site, kind, key, url: record.url, data, crawl, gen, epoch, identity: record.identity },
        ...{ scrapedAt: seenAt, firstSeenAt, updatedAt: at },
      }
    })
  }

  async recordsLeft(
    spider: string,
    readings: readonly PageReading[],
    given: readonly GivenKey[],
  ): Promise<PageRecord[]> {
    const found: PageRecord[] = []
    for (const { record, version } of this.#rows.values()) {
      const { site, kind, key, url } = record
      const { gen, epoch } = version
      const read = readings.some((one) => one.url === url && one.gen === gen && one.epoch === epoch)
      const isGiven = given.some((one) => one.site === site && one.kind === kind && one.key === key)
      if (record.spider === spider && read && !isGiven) found.push({ spider, site, kind, key, url, gen, epoch })
    }
    return found
  }

  async changes({ spider, kinds, after, limit }: ChangeQuery): Promise<ChangePage> {
    const rows = this.#changedSince(after, spider, kinds).slice(0, limit)
    const more = rows.length >= limit
    const last = more ? rows.at(-1)?.change : this.#lastChange
    return { records: rows.map(storedRecord), cursor: makeCursor(last ?? 0, this.#identity), more }
  }

  async changesEnd(): Promise<Cursor> {
    return makeCursor(this.#lastChange, this.#identity)
  }

  async changesOfCrawl(crawl: string): Promise<Cursor> {
    return this.#crawlStarts.get(crawl) ?? FROM_START
  }

  async changesLag({ spider, kinds, after, most }: LagQuery): Promise<ChangesLag> {
    const rows = this.#changedSince(after, spider, kinds)
    return { records: Math.min(rows.length, most), oldestAt: rows[0]?.version.at ?? null }
  }

  #changedSince(after: Cursor, spider: string | undefined, kinds: readonly string[] | undefined): Row[] {
    const position = this.#positionOf(after)
    return [...this.#rows.values()]
      .filter(({ record, change }) => change > position && (spider ?? record.spider) === record.spider)
      .filter(({ record }) => kinds?.includes(record.kind) ?? true)
      .sort((a, b) => a.change - b.change)
  }

  #positionOf(cursor: Cursor): number {
    const read = readCursor(cursor)
    if (read !== null && (read.mark !== this.#identity || Number(read.position) > this.#lastChange))
      throw foreignCursor()
    return Number(read?.position ?? 0)
  }

  async claimOutlet(claim: OutletClaim): Promise<OutletHold | null> {
    return this.#outlets.claim(claim)
  }

  async releaseOutlet(name: string, holder: string): Promise<void> {
    this.#outlets.release(name, holder)
  }

  async noteOutlet(name: string, holder: string, note: OutletNote): Promise<boolean> {
    this.#positionOf(note.cursor)
    return this.#outlets.note(name, holder, note)
  }

  async outlets(): Promise<OutletInfo[]> {
    return this.#outlets.all()
  }

  async resetOutlet(name: string, spider: string, cursor: Cursor | null): Promise<void> {
    if (cursor !== null) this.#positionOf(cursor)
    this.#outlets.reset(name, spider, cursor)
  }

  async noteFields(rows: readonly FieldRow[]): Promise<void> {
    this.#fieldStats.note(rows.map(cleanRow))
  }

  async *fieldStats(query: FieldQuery): AsyncGenerator<FieldRow> {
    yield* this.#fieldStats.all(query)
  }

  async *history(query: HistoryQuery): AsyncGenerator<RecordVersion> {
    for (const row of [...this.#rows.values()]) {
      const { spider, site, kind, key } = row.record
      if (storedKey(query.key) !== key || (query.spider ?? spider) !== spider) continue
      if ((query.site ?? site) !== site || (query.kind ?? kind) !== kind) continue
      for (const { record, version, crawl, until } of [{ ...row, until: null }, ...row.older]) {
        const content = { url: record.url, data: JSON.parse(version.data), crawl }
        yield { spider, site, kind, key, ...content, from: version.at, until }
      }
    }
  }

  async *entities({ spider, kind, identity }: EntityQuery): AsyncGenerator<IdentifiedRecord> {
    const rows = [...this.#rows.values()].filter(({ record }) => record.spider === spider && record.kind === kind)
    const named = rows.map((row) => ({ ...storedRecord(row), identity: row.version.identity }))
    const wanted = typeof identity === 'string' ? storedKey(identity) : identity
    yield* named
      .filter((row) => (wanted === undefined ? row.identity !== null : row.identity === wanted))
      .sort((a, b) => compareText(a.identity ?? '', b.identity ?? ''))
  }

  async lastVisits(spider: string, fps: readonly string[]): Promise<LastVisit[]> {
    return this.#visits.last(spider, fps)
  }

  async visitCounts(crawl: string): Promise<VisitCounts | null> {
    return this.#visits.counts(crawl)
  }

  async noteAudit(entry: AuditEntry): Promise<void> {
    this.#audit.note(entry)
  }

  async audit(page: AuditPage): Promise<AuditEntries> {
    return this.#audit.page(page)
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

  async removeCrawl(crawl: string): Promise<void> {
    this.#fetches = new Map([...this.#fetches].filter(([, row]) => row.crawl !== crawl))
    this.#notes.delete(crawl)
    this.#crawlStarts.delete(crawl)
    this.#cursors.delete(crawl)
    this.#visits.forget(crawl)
  }

  async close(): Promise<void> {}
}

/** What a reparse made now is no fresher than the page it was made of. */
function standing({ version, seenAt }: Row): Version {
  return { ...version, at: Math.min(version.at, seenAt) }
}

function storedRecord({ record, version, firstSeenAt, crawl, seenAt }: Row): StoredRecord {
  const { spider, site, kind, key, url } = record
  const times = { scrapedAt: seenAt, firstSeenAt, updatedAt: version.at }
  return { spider, site, kind, key, url, data: JSON.parse(version.data), crawl, ...times }
}

/** By code unit; SQLite's BINARY order differs only beyond the basic plane. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
