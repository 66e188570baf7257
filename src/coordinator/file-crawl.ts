import type { CrawlId } from '../frontier/frontier.js'

/** The crawl in which the sitemaps and feeds of another are fetched, and its spider; no spider of a user can be called so. */
export function fileCrawl(crawl: CrawlId, spider: string): { readonly id: CrawlId; readonly spider: string } {
  return { id: `${crawl}.files`, spider: `${spider}/files` }
}

/** Nobody who asks for crawls means it. */
export function isFileCrawl({ spider }: { readonly spider: string }): boolean {
  return spider.endsWith('/files')
}
