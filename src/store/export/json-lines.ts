import { jsonText } from '../../json-text.js'
import { isoTime } from './columns.js'
import type { Source } from './formats.js'

export async function* jsonLines({ records, store, tally }: Source): AsyncGenerator<string> {
  for await (const record of records()) {
    tally.rows += 1
    if (store.length === 0) {
      yield `${jsonText(record.data)}\n`
      continue
    }
    const { spider, site, kind, key, url, data, crawl } = record
    const times = {
      scrapedAt: isoTime(record.scrapedAt),
      firstSeenAt: isoTime(record.firstSeenAt),
      updatedAt: isoTime(record.updatedAt),
    }
    yield `${jsonText({ spider, site, kind, key, url, data, crawl, ...times })}\n`
  }
}
