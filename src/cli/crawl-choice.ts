import { isFileCrawl } from '../coordinator/file-crawl.js'
import { ShoalError } from '../errors.js'
import type { CrawlInfo, Frontier } from '../frontier/frontier.js'
import { unknownName } from './known-names.js'

/** Newest first. */
export async function crawlsNewestFirst(frontier: Frontier): Promise<CrawlInfo[]> {
  return (await frontier.crawls()).filter((crawl) => !isFileCrawl(crawl)).sort((a, b) => b.createdAt - a.createdAt)
}

export function hasEnded(crawl: CrawlInfo): boolean {
  return crawl.state === 'finished' || crawl.state === 'cancelled'
}

/**
 * The crawl that the user means: its id, a prefix of it, or a spider name (then its newest crawl). Without a word, the newest
 * unfinished crawl, or else the newest.
 */
export function chooseCrawl(newestFirst: readonly CrawlInfo[], word?: string): CrawlInfo {
  if (newestFirst.length === 0) {
    throw new ShoalError('not_found', 'no crawls yet', {
      hint: 'Start one with `shoal run <spider>`, or try `shoal demo`.',
    })
  }
  const chosen =
    word === undefined
      ? (newestFirst.find((crawl) => !hasEnded(crawl)) ?? newestFirst[0])
      : (newestFirst.find((crawl) => crawl.id === word) ??
        newestFirst.find((crawl) => crawl.spider === word) ??
        byPrefix(newestFirst, word))
  if (chosen === undefined)
    throw unknownName(
      'crawl',
      word ?? '',
      newestFirst.flatMap(({ id, spider }) => [spider, id]),
    )
  return chosen
}

function byPrefix(crawls: readonly CrawlInfo[], word: string): CrawlInfo | undefined {
  const matches = crawls.filter((crawl) => crawl.id.startsWith(word))
  if (matches.length > 1)
    throw new ShoalError('usage', `'${word}' matches ${matches.length} crawls`, {
      hint: 'Use a longer prefix of the id.',
    })
  return matches[0]
}
