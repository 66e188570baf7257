import type { CrawlId } from '../../frontier/frontier.js'
import type { EngineCall } from '../../sqlite/engine.js'
import type { Fingerprint } from '../../url/link.js'
import { prepareBatch } from '../prepare.js'
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
import type {
  KnownPages,
  RecordCursor,
  RecordPageRow,
  RejectedPageRow,
  SqliteStoreEngine,
} from './sqlite-store-engine.js'

/** Rows read at a time: with the largest records that is 25 MB, with usual ones 40 KB. */
const PAGE = 100
/** Fetch rows looked at in one call: other writers wait a few milliseconds. */
const FETCH_PAGE = 5000

export class SqliteRecordStore implements RecordStore {
  readonly #call: EngineCall<SqliteStoreEngine>
  readonly #close: () => Promise<void>

  /** `close` ends what stands behind `call`. */
  constructor(call: EngineCall<SqliteStoreEngine>, close: () => Promise<void>) {
    this.#call = call
    this.#close = close
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

  counts(query: { spider?: string; crawl?: CrawlId }): Promise<KindCount[]> {
    return this.#call('counts', query)
  }

  rejectedByField(spider: string): Promise<{ kind: string; field: string; count: number }[]> {
    return this.#call('rejectedByField', spider)
  }

  fetches(query: { fp: Fingerprint; crawl?: CrawlId; limit: number }): Promise<FetchRow[]> {
    return this.#call('fetches', query)
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
