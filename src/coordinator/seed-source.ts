import type { Seed } from '../spider/spider.js'

/** Start URLs that come one by one, always in the same order: the number already queued is stored, and a later run resumes from there. */
export interface SeedSource {
  /** Changes when the entries do: the cursor is stored under this name. */
  readonly name: string
  /** For a person; its name if left out. */
  readonly label?: string
  entries(): Iterable<Seed> | AsyncIterable<Seed>
}

/** Sources that are found one after another; each is fully queued before the next is requested. */
export interface SeedGroup {
  /** For a person: `sitemap of https://a.example`. */
  readonly label: string
  sources(notes: SeedNotes): AsyncIterable<SeedSource>
}

/** Numbers stored with the crawl, 0 until they are set. */
export interface SeedNotes {
  get(name: string): Promise<number>
  set(name: string, value: number): Promise<void>
}
