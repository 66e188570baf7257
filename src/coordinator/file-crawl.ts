import { asShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo, Frontier, WorkerId } from '../frontier/frontier.js'

/**
 * The crawl in which a process fetches the sitemaps and feeds for another crawl, and its spider; no user's spider can have this name. Each process
 * has its own: otherwise workers of other processes would lease its files, and the first to finish would remove the crawl under the others.
 */
export function fileCrawl(
  crawl: CrawlId,
  spider: string,
  worker: WorkerId,
): { readonly id: CrawlId; readonly spider: string } {
  return { id: `${crawl}.files.${worker}`, spider: `${spider}/files/${worker}` }
}

/** Lists of crawls leave these out. */
export function isFileCrawl({ spider }: { readonly spider: string }): boolean {
  return spider.includes('/files')
}

/** The process that fetches, or fetched, in it. */
export function fileWorker({ spider }: { readonly spider: string }): WorkerId {
  return spider.slice(spider.indexOf('/files') + '/files/'.length)
}

export async function fileCrawlsOf(frontier: Pick<Frontier, 'crawls'>, crawl: CrawlId): Promise<CrawlInfo[]> {
  return (await frontier.crawls()).filter((one) => isFileCrawl(one) && one.id.startsWith(`${crawl}.files`))
}

/** Sets the state of a crawl and of the file crawls that belong to it. */
export async function setCrawlState(
  frontier: Pick<Frontier, 'crawls' | 'setState'>,
  crawl: CrawlId,
  state: 'running' | 'paused' | 'cancelled',
): Promise<void> {
  await frontier.setState(crawl, state)
  for (const { id } of await fileCrawlsOf(frontier, crawl)) {
    try {
      await frontier.setState(id, state)
    } catch (error) {
      // It has finished in the meantime.
      if (!['crawl_ended', 'not_found'].includes(asShoalError(error).code)) throw error
    }
  }
}

export async function removeFileCrawl(frontier: Pick<Frontier, 'setState' | 'remove'>, id: CrawlId): Promise<void> {
  try {
    await frontier.setState(id, 'cancelled')
    await frontier.remove(id)
  } catch (error) {
    if (!['crawl_ended', 'not_found'].includes(asShoalError(error).code)) throw error
  }
}
