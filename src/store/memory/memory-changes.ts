import { randomBytes } from 'node:crypto'
import {
  type ChangePage,
  type ChangeQuery,
  type Changes,
  type ChangesLag,
  type Cursor,
  FROM_START,
  foreignCursor,
  type LagQuery,
  makeCursor,
  readCursor,
} from '../changes.js'
import { type MemoryTables, type Row, storedRecord } from './memory-tables.js'

export class MemoryChanges implements Changes {
  readonly #tables: MemoryTables
  readonly #identity = randomBytes(8).toString('hex')
  readonly #crawlStarts = new Map<string, Cursor>()

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  /** A crawl begins here, unless it has begun before. */
  async begin(crawl: string): Promise<void> {
    if (!this.#crawlStarts.has(crawl)) this.#crawlStarts.set(crawl, await this.end())
  }

  forget(crawl: string): void {
    this.#crawlStarts.delete(crawl)
  }

  async read({ spider, kinds, after, limit }: ChangeQuery): Promise<ChangePage> {
    const rows = this.#changedSince(after, spider, kinds).slice(0, limit)
    const more = rows.length >= limit
    const last = more ? rows.at(-1)?.change : this.#tables.lastChange
    return { records: rows.map(storedRecord), cursor: makeCursor(last ?? 0, this.#identity), more }
  }

  async end(): Promise<Cursor> {
    return makeCursor(this.#tables.lastChange, this.#identity)
  }

  async startOf(crawl: string): Promise<Cursor> {
    return this.#crawlStarts.get(crawl) ?? FROM_START
  }

  async lag({ spider, kinds, after, most }: LagQuery): Promise<ChangesLag> {
    const rows = this.#changedSince(after, spider, kinds)
    return { records: Math.min(rows.length, most), oldestAt: rows[0]?.version.at ?? null }
  }

  #changedSince(after: Cursor, spider: string | undefined, kinds: readonly string[] | undefined): Row[] {
    const position = this.positionOf(after)
    return [...this.#tables.records.values()]
      .filter(({ record, change }) => change > position && (spider ?? record.spider) === record.spider)
      .filter(({ record }) => kinds?.includes(record.kind) ?? true)
      .sort((a, b) => a.change - b.change)
  }

  /** Throws `cursor_foreign` for what is not of this history. */
  positionOf(cursor: Cursor): number {
    const read = readCursor(cursor)
    if (read !== null && (read.mark !== this.#identity || Number(read.position) > this.#tables.lastChange))
      throw foreignCursor()
    return Number(read?.position ?? 0)
  }
}
