import type { Seed } from '../spider/spider.js'

/** Seeds that come one by one, always in the same order: how many are in the queue is noted, and a later run goes on from there. */
export interface SeedSource {
  /** Changes when the entries do: under this name the cursor is kept. */
  readonly name: string
  entries(): Iterable<Seed> | AsyncIterable<Seed>
}

/** Sources that are found one after the other; each is in the queue to its end before the next is asked for. */
export interface SeedGroup {
  sources(notes: SeedNotes): AsyncIterable<SeedSource>
}

/** Numbers kept with the crawl, 0 until they are set. */
export interface SeedNotes {
  get(name: string): Promise<number>
  set(name: string, value: number): Promise<void>
}
