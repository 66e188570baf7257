import { jsonText } from '../../json-text.js'
import { isoTime } from './columns.js'
import type { Source } from './formats.js'

export async function* jsonLines({ records, tally }: Source): AsyncGenerator<string> {
  for await (const record of records()) {
    const { spider, site, kind, key, url, data, crawl } = record
    const times = {
      scrapedAt: isoTime(record.scrapedAt),
      firstSeenAt: isoTime(record.firstSeenAt),
      updatedAt: isoTime(record.updatedAt),
    }
    tally.rows += 1
    yield `${jsonText({ spider, site, kind, key, url, data, crawl, ...times })}\n`
  }
}
