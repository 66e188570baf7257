import type { CrawlNote, Crawls, Generations, KnownPage } from '../record-store.js'
import type { MemoryChanges } from './memory-changes.js'
import type { MemoryTables } from './memory-tables.js'

export class MemoryGenerations implements Generations {
  readonly #generations = new Map<string, number>()
  readonly #marks = new Map<string, number>()

  async of(queueIdentity: string): Promise<number> {
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

  async renew(queueIdentity: string, mark: number): Promise<void> {
    if ((this.#marks.get(queueIdentity) ?? 0) !== mark) return
    this.#marks.delete(queueIdentity)
    this.#generations.set(queueIdentity, Math.max(0, ...this.#generations.values()) + 1)
  }
}

/** Counts that are kept per crawl. */
interface CountsOfCrawls {
  forget(crawl: string): void
}

export class MemoryCrawls implements Crawls {
  readonly #tables: MemoryTables
  readonly #changes: MemoryChanges
  readonly #counts: readonly CountsOfCrawls[]
  readonly #notes = new Map<string, CrawlNote>()
  readonly #cursors = new Map<string, Map<string, number>>()

  constructor(tables: MemoryTables, changes: MemoryChanges, counts: readonly CountsOfCrawls[]) {
    this.#tables = tables
    this.#changes = changes
    this.#counts = counts
  }

  async note(note: CrawlNote): Promise<void> {
    this.#notes.set(note.crawl, note)
    await this.#changes.begin(note.crawl)
  }

  async notes(): Promise<CrawlNote[]> {
    return [...this.#notes.values()].sort((a, b) => a.openedAt - b.openedAt)
  }

  async seedCursor(crawl: string, source: string): Promise<number> {
    return this.#cursors.get(crawl)?.get(source) ?? 0
  }

  async noteSeedCursor(crawl: string, source: string, entries: number): Promise<void> {
    this.#cursors.set(crawl, new Map([...(this.#cursors.get(crawl) ?? []), [source, entries]]))
  }

  async *knownPages(crawl: string, succeeded: boolean): AsyncGenerator<KnownPage> {
    for (const row of [...this.#tables.fetches.values()]) {
      const { fp, url, host, route, depth, link, error, status } = row
      const isSuccess = error === null && (status < 300 || status === 304)
      if (row.crawl === crawl && isSuccess === succeeded) yield { fp, url, host, route, depth, link }
    }
  }

  async remove(crawl: string): Promise<void> {
    for (const [id, row] of this.#tables.fetches) if (row.crawl === crawl) this.#tables.fetches.delete(id)
    this.#notes.delete(crawl)
    this.#cursors.delete(crawl)
    this.#changes.forget(crawl)
    for (const counts of this.#counts) counts.forget(crawl)
  }
}
