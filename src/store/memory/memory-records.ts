import { compareLease, judge, type Version } from '../judge.js'
import { type PreparedRecord, prepareBatch, storedKey } from '../prepare.js'
import type {
  ConfirmedRecord,
  FieldFailures,
  KindCount,
  RecordQuery,
  Records,
  RejectedRecord,
  StoredRecord,
  WriteBatch,
  WriteStatus,
} from '../record-store.js'
import { compareText, type MemoryTables, type Row, recordId, storedRecord } from './memory-tables.js'
import type { MemoryVisits } from './memory-visits.js'

export class MemoryRecords implements Records {
  readonly #tables: MemoryTables
  readonly #visits: MemoryVisits

  constructor(tables: MemoryTables, visits: MemoryVisits) {
    this.#tables = tables
    this.#visits = visits
  }

  async write(batch: WriteBatch): Promise<WriteStatus[]> {
    const { prepared, answer } = prepareBatch(batch)
    for (const row of prepared.rejected) this.#tables.rejected.set(JSON.stringify(row), row)
    for (const row of prepared.fetches) this.#tables.fetches.set(JSON.stringify(row), row)
    this.#visits.add(prepared.visits)
    for (const row of prepared.confirmed) this.#confirm(row)
    return answer(prepared.records.map((record) => this.#writeOne(record)))
  }

  #confirm(confirmed: ConfirmedRecord): void {
    const { spider, kind, crawl, gen, epoch, scrapedAt } = confirmed
    const id = recordId(confirmed)
    const row = this.#tables.records.get(id)
    const order = row === undefined ? -1 : compareLease({ gen, epoch }, row.version)
    if (row === undefined || order < 0) return
    if (order > 0) this.#tables.skips.push({ spider, kind, crawl, status: 'unchanged' })
    this.#tables.records.set(id, { ...row, version: { ...row.version, gen, epoch }, crawl, seenAt: scrapedAt })
  }

  #writeOne(record: PreparedRecord): WriteStatus {
    const id = recordId(record)
    const { gen, epoch, data, identity, crawl, scrapedAt } = record
    const row = this.#tables.records.get(id)
    const status = judge(row && judged(row), { gen, epoch, data, identity, at: scrapedAt }, record.freshMs)
    const repeated = row?.version.gen === gen && row.version.epoch === epoch
    if (status === 'fresh' || (status === 'unchanged' && !repeated)) {
      this.#tables.skips.push({ spider: record.spider, kind: record.kind, crawl, status })
    }
    if (status === 'unchanged' && row !== undefined) {
      this.#tables.records.set(id, { ...row, version: { ...row.version, gen, epoch }, crawl, seenAt: scrapedAt })
    } else if (status === 'written') {
      const version = { gen, epoch, data, identity, at: record.reparsedAt ?? scrapedAt }
      const kept = record.history && (!repeated || record.reparsedAt !== undefined)
      const older = row === undefined ? [] : kept ? [{ ...row, until: version.at }, ...row.older] : row.older
      const firstSeenAt = row?.firstSeenAt ?? scrapedAt
      this.#tables.records.set(id, {
        record,
        change: ++this.#tables.lastChange,
        version,
        firstSeenAt,
        crawl,
        seenAt: scrapedAt,
        older,
      })
    }
    return status
  }

  async *scan(query: RecordQuery): AsyncGenerator<StoredRecord> {
    let left = query.limit ?? Number.POSITIVE_INFINITY
    for (const row of [...this.#tables.records.values()]) {
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
    for (const { record, crawl } of this.#tables.records.values()) add({ ...record, crawl }, 'records')
    for (const row of this.#tables.rejected.values()) add(row, 'rejected')
    for (const skip of this.#tables.skips) add(skip, skip.status)
    return [...counts.values()].sort((a, b) => compareText(a.spider, b.spider) || compareText(a.kind, b.kind))
  }

  async *rejected(query: { spider?: string; kind?: string; limit: number }): AsyncGenerator<RejectedRecord> {
    const newestFirst = [...this.#tables.rejected.values()].reverse()
    const wanted = newestFirst.filter(
      (row) => (query.spider ?? row.spider) === row.spider && (query.kind ?? row.kind) === row.kind,
    )
    for (const row of wanted.slice(0, query.limit))
      yield { ...row, data: JSON.parse(row.data), issues: JSON.parse(row.issues) }
  }

  async rejectedByField(query: { spider: string; crawl?: string }): Promise<FieldFailures[]> {
    const counts = new Map<string, FieldFailures>()
    for (const row of this.#tables.rejected.values()) {
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
}

/** A record that a reparse produced now is as old as the page it came from. */
function judged({ version, seenAt }: Row): Version {
  return { ...version, at: Math.min(version.at, seenAt) }
}
