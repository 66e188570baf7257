import type { Clock } from '../../clock.js'
import type { Closers } from '../../closers.js'
import type { Spider } from '../../spider/spider.js'
import type { Link } from '../../url/link.js'
import type { Visit, VisitParts } from '../../worker/visit-parts.js'
import { openCache } from '../open-cache.js'
import { openVisitsByHand } from '../visits-by-hand.js'
import type { TryOrder } from './tried-page.js'
import type { TryNotes } from './try-notes.js'

/** One visit as a worker makes it, with notes of what happens on the way. */
export async function openVisit(
  spider: Spider,
  link: Link,
  { fresh, settings }: Pick<TryOrder, 'fresh' | 'settings'>,
  notes: TryNotes,
  clock: Clock,
  closers: Closers,
): Promise<{ readonly current: Visit; readonly parts: VisitParts }> {
  const visits = await openVisitsByHand(spider, {
    settings,
    cache: notes.watchedCache(settings.cache === null ? null : openCache(settings.cache, clock, notes.log), fresh),
    watched: (fetcher) => notes.watchedFetcher(fetcher),
    ...{ clock, closers, log: notes.log },
  })
  const current = await visits.begin(link)
  current.trace = notes.trace
  return { current, parts: visits.parts }
}
