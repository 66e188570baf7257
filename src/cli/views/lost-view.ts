import { isOnServer } from '../../config.js'
import { watchQueue } from '../../coordinator/queue-watch.js'
import type { CrawlInfo } from '../../frontier/frontier.js'
import type { CrawlNote } from '../../store/record-store.js'
import type { Backends } from '../../wire/backends.js'
import { hasEnded } from '../crawl-choice.js'
import { programName, type Session } from '../session.js'
import { clean } from '../terminal/clean.js'
import { moment } from '../terminal/format.js'

/** The lost crawl that the user means: the word names it, or without a word no other crawl is running. */
export async function lostCrawlMeant(
  { settings }: Session,
  backends: Backends,
  crawls: readonly CrawlInfo[],
  word: string | undefined,
): Promise<CrawlNote | null> {
  // A Redis server can lose its data while the store survives; a queue file cannot.
  if (isOnServer(settings.queue)) await watchQueue(backends).look()
  const notes = await backends.store.crawls.notes()
  const lost = notes.filter(({ state, queue }) => state === 'lost' && queue === backends.queueAddress)
  const isLost = (id: string) => lost.some(({ crawl }) => crawl === id)
  const meant = lost
    .filter(({ crawl, spider }) => word === undefined || crawl.startsWith(word) || spider === word)
    .at(-1)
  const isRunning = crawls.some(
    (crawl) =>
      !hasEnded(crawl) &&
      !isLost(crawl.id) &&
      (word === undefined || crawl.spider === word || crawl.id.startsWith(word)),
  )
  return isRunning ? null : (meant ?? null)
}

export function showLost({ output, json, sameDatabase }: Session, { crawl, spider, queue, openedAt }: CrawlNote): void {
  if (json) {
    output.json({ crawl, spider, state: 'lost', queue, openedAt })
    return
  }
  output.print(`${clean(spider)}  crawl ${crawl}  ${output.style.red('lost')}`)
  output.print(`opened ${moment(openedAt)}; its queue was lost, or restored from an older state`)
  output.print(`recover its seeds and known pages: ${programName(process.env)} recover ${crawl}${sameDatabase}`)
}
