import { ShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo, Frontier } from '../frontier/frontier.js'
import type { CrawlNote, RecordStore } from '../store/record-store.js'

export interface WatchedBackends {
  readonly frontier: Frontier
  readonly store: RecordStore
  /** Address of the queue, without secrets. */
  readonly queueAddress?: string
}

/** `gone`: the data of the queue is missing or has been replaced. `back`: it is older than it was. */
export interface LostCrawl {
  readonly crawl: CrawlId
  readonly spider: string
  readonly why: 'gone' | 'back'
}

export interface QueueWatch {
  /** Compares the queue with what the record store knows about it; answers with the crawls that turn out to be lost. */
  look(): Promise<LostCrawl[]>
}

/**
 * Notices a queue that came back empty, or older than it was: its epochs and links cannot be trusted. Every unfinished crawl is marked as lost and
 * grants no more links until `recover`; leases of other crawls get a larger generation.
 */
export function watchQueue({ frontier, store, queueAddress = '' }: WatchedBackends): QueueWatch {
  let began: string | null = null

  const lose = async (notes: readonly CrawlNote[], why: LostCrawl['why']): Promise<LostCrawl[]> => {
    for (const note of notes) await store.crawls.note({ ...note, state: 'lost' })
    return notes.map(({ crawl, spider }) => ({ crawl, spider, why }))
  }

  return {
    async look() {
      const identity = await frontier.identity()
      const before = began
      began = identity
      const open = (await store.crawls.notes()).filter(({ state }) => state === 'open')
      const elsewhere = ({ queue, queueIdentity }: CrawlNote) =>
        queueIdentity !== identity && (queueIdentity === before || queue === queueAddress)
      const gone = await lose(open.filter(elsewhere), 'gone')

      const here = open.filter(({ queueIdentity }) => queueIdentity === identity)
      const highest = await store.generations.highestMark(identity)
      const mark = await frontier.mark()
      const crawls = new Map((await frontier.crawls()).map((crawl) => [crawl.id, crawl]))
      if (mark > highest) {
        await store.generations.noteMark(identity, mark)
        const missing = await noteEnds(store, here, crawls)
        return [...gone, ...(await lose(missing, 'gone'))]
      }
      for (const { crawl } of here) {
        if (crawls.get(crawl)?.state === 'running') await frontier.setState(crawl, 'paused')
      }
      const lost = await lose(here, 'back')
      await store.generations.renew(identity, highest)
      return [...gone, ...lost]
    },
  }
}

/** Forgets crawls that have ended; answers with those that should exist but do not. */
async function noteEnds(
  store: RecordStore,
  notes: readonly CrawlNote[],
  crawls: ReadonlyMap<CrawlId, CrawlInfo>,
): Promise<CrawlNote[]> {
  const missing: CrawlNote[] = []
  for (const note of notes) {
    const crawl = crawls.get(note.crawl)
    if (crawl === undefined) missing.push(note)
    else if (crawl.state === 'finished' || crawl.state === 'cancelled')
      await store.crawls.note({ ...note, state: 'ended' })
  }
  return missing
}

export function lostError({ crawl, spider, why }: LostCrawl): ShoalError {
  const what =
    why === 'gone'
      ? 'is not in the queue any more, which came back empty'
      : 'is in a queue that came back older than it was'
  return new ShoalError('crawl_lost', `crawl ${crawl} of ${spider} ${what}`, {
    hint: `Add its start URLs and known pages again: \`shoal recover ${crawl}\`, or start over with --fresh.`,
  })
}
