import { judge, type Version } from '../judge.js'
import { type PreparedRecord, type PreparedRejected, prepareBatch, storedKey } from '../prepare.js'
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

interface Row {
  readonly record: PreparedRecord
  readonly version: Version
  readonly firstSeenAt: number
  readonly crawl: string
  readonly seenAt: number
}

/** The reference: short and obvious, the oracle of the drivers' tests. Everything is counted by looking. */
export class MemoryRecordStore implements RecordStore {
  readonly #generations = new Map<string, number>()
  readonly #marks = new Map<string, number>()
  readonly #notes = new Map<string, CrawlNote>()
  readonly #cursors = new Map<string, Map<string, number>>()
  readonly #rows = new Map<string, Row>()
  readonly #rejected = new Map<string, PreparedRejected>()
  readonly #skips: { spider: string; kind: string; crawl: string; status: 'fresh' | 'unchanged' }[] = []
  #fetches = new Map<string, FetchRow>()

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
      const well = error === null && status < 300
      if (row.crawl === crawl && well === wentWell) yield { fp, url, host, route, depth, link }
    }
  }

  async write(batch: WriteBatch): Promise<WriteStatus[]> {
    const { prepared, answer } = prepareBatch(batch)
    for (const row of prepared.rejected) this.#rejected.set(JSON.stringify(row), row)
    for (const row of prepared.fetches) this.#fetches.set(JSON.stringify(row), row)
    return answer(prepared.records.map((record) => this.#writeOne(record)))
  }

  #writeOne(record: PreparedRecord): WriteStatus {
    const id = JSON.stringify([record.spider, record.site, record.kind, record.key])
    const { gen, epoch, data, crawl, scrapedAt } = record
    const row = this.#rows.get(id)
    const status = judge(row && standing(row), { gen, epoch, data, at: scrapedAt }, record.freshMs)
    const repeated = row?.version.gen === gen && row.version.epoch === epoch
    if (status === 'fresh' || (status === 'unchanged' && !repeated)) {
      this.#skips.push({ spider: record.spider, kind: record.kind, crawl, status })
    }
    if (status === 'unchanged' && row !== undefined) {
      this.#rows.set(id, { ...row, version: { ...row.version, gen, epoch }, crawl, seenAt: scrapedAt })
    } else if (status === 'written') {
      const version = { gen, epoch, data, at: record.reparsedAt ?? scrapedAt }
      this.#rows.set(id, { record, version, firstSeenAt: row?.firstSeenAt ?? scrapedAt, crawl, seenAt: scrapedAt })
    }
    return status
  }

  async *records(query: RecordQuery): AsyncGenerator<StoredRecord> {
    let left = query.limit ?? Number.POSITIVE_INFINITY
    for (const { record, version, firstSeenAt, crawl, seenAt } of [...this.#rows.values()]) {
      const { spider, site, kind, key, url } = record
      if (query.spider !== undefined && query.spider !== spider) continue
      if (query.site !== undefined && query.site !== site) continue
      if (query.kind !== undefined && query.kind !== kind) continue
      if (query.key !== undefined && storedKey(query.key) !== key) continue
      if (query.url !== undefined && query.url !== url) continue
      if (query.since !== undefined && version.at < query.since) continue
      if (left-- <= 0) return
      const data = JSON.parse(version.data)
      yield { spider, site, kind, key, url, data, crawl, scrapedAt: seenAt, firstSeenAt, updatedAt: version.at }
    }
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

  async rejectedByField(spider: string): Promise<{ kind: string; field: string; count: number }[]> {
    const counts = new Map<string, { kind: string; field: string; count: number }>()
    for (const row of this.#rejected.values()) {
      if (row.spider !== spider || row.reason !== 'invalid') continue
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

  async removeCrawl(crawl: string): Promise<void> {
    this.#fetches = new Map([...this.#fetches].filter(([, row]) => row.crawl !== crawl))
    this.#notes.delete(crawl)
    this.#cursors.delete(crawl)
  }

  async close(): Promise<void> {}
}

/** What a reparse made now is no fresher than the page it was made of. */
function standing({ version, seenAt }: Row): Version {
  return { ...version, at: Math.min(version.at, seenAt) }
}

/** By code unit; SQLite's BINARY order differs only beyond the basic plane. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
