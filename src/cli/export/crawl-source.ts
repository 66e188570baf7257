import type { RecordSource } from '../../store/export/export.js'
import type { RecordStore } from '../../store/record-store.js'
import { unknownName } from '../known-names.js'

/** Only what this crawl stored or confirmed: the store may hold older records of the same site, from other pages and with other fields. */
export function crawlSource(records: RecordSource, crawl: string): RecordSource {
  return {
    async *scan(query) {
      for await (const record of records.scan(query)) if (record.crawl === crawl) yield record
    },
  }
}

/** The crawl that the user means: its id, a prefix of it, or a spider name, then its newest crawl. */
export async function notedCrawl(
  { crawls }: Pick<RecordStore, 'crawls'>,
  word: string,
): Promise<{ readonly crawl: string; readonly spider: string }> {
  const newestFirst = (await crawls.notes()).reverse()
  const byPrefix = newestFirst.filter(({ crawl }) => crawl.startsWith(word))
  const found =
    newestFirst.find(({ crawl }) => crawl === word) ??
    newestFirst.find(({ spider }) => spider === word) ??
    (byPrefix.length === 1 ? byPrefix[0] : undefined)
  if (found !== undefined) return found
  const alike = byPrefix.length > 1 ? byPrefix : newestFirst
  throw unknownName('crawl', word, [...alike.map(({ crawl }) => crawl)])
}
