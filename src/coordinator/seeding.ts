import type { Clock } from '../clock.js'
import { spiderError } from '../error-place.js'
import { isShoalError, ShoalError } from '../errors.js'
import type { EntryNote } from '../feed/entry/fed-url.js'
import type { CrawlId, Frontier } from '../frontier/frontier.js'
import type { Spider } from '../spider/spider.js'
import type { RecordStore } from '../store/record-store.js'
import { namedText } from '../thrown.js'
import type { Link } from '../url/link.js'
import { pendingOf, roomFor, untilLowMark } from './backpressure.js'
import { entryReader } from './entries.js'
import type { SeedGroup, SeedNotes, SeedSource } from './seed-source.js'

const SEEDS_AT_ONCE = 1_000

export interface Seeds {
  readonly added: number
  readonly known: number
  /** Rejected by the spider's scope, or not URLs. */
  readonly refused: number
}

export interface Seeding {
  /** What was queued before the queue was full; usually everything. Workers must run from here on, or there will never be room again. */
  readonly first: Promise<Seeds>
  /** Every start URL is in the queue, or the signal was aborted. */
  readonly all: Promise<Seeds>
}

export interface SeedOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** In addition to those of the spider. */
  readonly sources?: readonly SeedSource[]
  /** Added after the others: sources that must be fetched or queried first, so that `first` does not wait for them. */
  readonly groups?: readonly SeedGroup[]
  /** `text`: the entry, or the part of it that was rejected. */
  readonly onRefused?: (text: string, reason: string) => void
  /** Called with what was not taken as it is in the entries of a file. */
  readonly onNotes?: (notes: readonly EntryNote[]) => void
  /** Called with the label of a source, or of a group of sources, that had no entry at all. */
  readonly onEmpty?: (label: string) => void
  /** Called with what the queue has now, known or new. */
  readonly onAdded?: (links: readonly Link[]) => void
  /** Visit known start URLs again: after the queue was lost. */
  readonly again?: boolean
  /** More will be added later: the crawl must not finish without them. */
  readonly more?: boolean
}

/**
 * Adds the start URLs and all other sources, waits while the queue is full, and seals the crawl at the end (unless the spider is fed). It can be repeated: known
 * links stay as they are, and sources resume at their cursor. A cursor is valid for one generation of the queue: a queue that lost its data gets
 * everything again.
 */
export function seedCrawl(
  { frontier, store }: { readonly frontier: Frontier; readonly store: RecordStore },
  spider: Spider,
  crawl: CrawlId,
  options: SeedOptions,
): Seeding {
  const { clock, signal } = options
  const seeds = { added: 0, known: 0, refused: 0 }
  const read = entryReader(spider)
  let pending = 0
  let full = () => {}
  const whenFull = new Promise<void>((resolve) => {
    full = resolve
  })

  /** All of them, unless the signal is aborted. */
  const addChunk = async (links: readonly Link[]): Promise<void> => {
    for (let next = 0; next < links.length && !signal.aborted; ) {
      const room = roomFor(pending, spider.maxPending)
      if (room === 0) {
        full()
        pending = await untilLowMark(frontier, crawl, spider.maxPending, clock, signal)
        continue
      }
      const chunk = links.slice(next, next + Math.min(SEEDS_AT_ONCE, room))
      const result = await frontier.add(crawl, chunk)
      seeds.added += result.added
      pending = result.pending
      // Discovered links took the room in the meantime: try again when there is some.
      if (result.refused > 0 && pending >= spider.maxPending) continue
      seeds.known += result.known
      options.onAdded?.(chunk)
      next += chunk.length
    }
  }

  const wanted = (link: Link): Link => (options.again === true ? { ...link, again: true } : link)

  /** How many entries it has read. */
  const addFrom = async (source: SeedSource, gen: number): Promise<number> => {
    let entries = 0
    const cursor = `${source.name}@${gen}`
    let skip = await store.crawls.seedCursor(crawl, cursor)
    let at = skip
    let links: Link[] = []
    // One batch is added while the next is read.
    let adding: Promise<void> = Promise.resolve()
    const flush = async () => {
      await adding
      adding = addBatch(links, at)
      // The next await reports a failure.
      adding.catch(() => {})
      links = []
    }
    const addBatch = async (batch: readonly Link[], upTo: number) => {
      await addChunk(batch)
      if (!signal.aborted) await store.crawls.noteSeedCursor(crawl, cursor, upTo)
    }
    try {
      for await (const entry of source.entries()) {
        entries++
        if (skip > 0) {
          skip--
          continue
        }
        const { links: accepted, refused, notes } = read(entry)
        for (const { link } of accepted) links.push(wanted(link))
        seeds.refused += refused.length
        for (const { text, reason } of refused) options.onRefused?.(text, reason)
        if (notes.length > 0) options.onNotes?.(notes)
        at++
        if (links.length >= SEEDS_AT_ONCE) await flush()
        if (signal.aborted) break
      }
    } catch (error) {
      await adding.catch(() => {})
      throw error
    }
    await flush()
    await adding
    return entries
  }

  const addGroup = async (group: SeedGroup, gen: number): Promise<void> => {
    full()
    const notes: SeedNotes = {
      get: (name) => store.crawls.seedCursor(crawl, `${name}@${gen}`),
      set: (name, value) => store.crawls.noteSeedCursor(crawl, `${name}@${gen}`, value),
    }
    let entries = 0
    try {
      for await (const source of group.sources(notes)) {
        entries += await addFrom(source, gen)
        if (signal.aborted) return
      }
      if (entries === 0) options.onEmpty?.(group.label)
    } catch (error) {
      // Stopping because of the signal is not a failure.
      if (!signal.aborted) throw error
    }
  }

  const addAll = async (): Promise<Seeds> => {
    const gen = await store.generations.of(await frontier.identity())
    pending = await pendingOf(frontier, crawl)
    await addChunk(startLinks(spider).map(wanted))
    const own =
      spider.seeds === null
        ? []
        : [{ name: `seeds ${spider.hash}`, label: 'seeds of the spider', entries: ownSeeds(spider.seeds) }]
    for (const source of [...own, ...(options.sources ?? [])]) {
      if (signal.aborted) break
      if ((await addFrom(source, gen)) === 0 && !signal.aborted) options.onEmpty?.(source.label ?? source.name)
    }
    for (const group of options.groups ?? []) if (!signal.aborted) await addGroup(group, gen)
    if (!signal.aborted && spider.feed === null && options.more !== true) await frontier.seeded(crawl)
    return seeds
  }

  const all = addAll()
  const first = Promise.race([all, whenFull]).then(() => ({ ...seeds }))
  // A failure is reported through `all`.
  first.catch(() => {})
  return { all, first }
}

/** The spider's own code, which may throw anything; an entry that it yields is judged like one of a file. */
function ownSeeds(seeds: NonNullable<Spider['seeds']>): SeedSource['entries'] {
  return async function* () {
    try {
      yield* seeds()
    } catch (thrown) {
      if (isShoalError(thrown) && thrown.code === 'seeds_unreadable') throw thrown
      throw spiderError('seeds_unreadable', thrown, `the seeds of the spider failed: ${namedText(thrown)}`)
    }
  }
}

/** The spider lists these itself, so a rejected one is a mistake in the spider. */
function startLinks(spider: Spider): Link[] {
  const read = entryReader(spider)
  return spider.start.map((url) => {
    const { links, refused } = read({ url })
    const [first] = links
    if (first === undefined) throw new ShoalError('spider_invalid', `start: ${refused[0]?.reason}`)
    return first.link
  })
}
