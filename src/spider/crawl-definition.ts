import { ShoalError } from '../errors.js'
import type { Duration } from '../units.js'
import { parseUrl } from '../url/parse-url.js'
import { showUrl } from '../url/show-url.js'
import { defineSpider, type TaggedDefinition } from './definition.js'
import type { FieldDefinition } from './fields.js'

/** `shoal crawl`: a spider built from flags. Plain data, so that it can be sent to another process. */
export interface CrawlOptions {
  readonly urls: readonly string[]
  /** Selector of the links to follow; without it only the given URLs are visited. */
  readonly follow?: string
  /** Field name → selector; empty: url, status, title, text and links are stored. */
  readonly fields?: Readonly<Record<string, FieldDefinition>>
  readonly maxDepth?: number
  readonly pages?: number
  /** Between two requests to a host; validated with everything else. */
  readonly delay?: string
  readonly allowPrivate?: readonly string[]
}

export function crawlDefinition(options: CrawlOptions): TaggedDefinition {
  const { urls, follow, fields = {}, maxDepth, pages, delay, allowPrivate } = options
  const hasFields = Object.keys(fields).length > 0
  return defineSpider({
    name: spiderName(urls),
    start: urls,
    ...(maxDepth !== undefined && { scope: { maxDepth } }),
    ...(pages !== undefined && { budget: { pages } }),
    ...(delay !== undefined && { pace: { delay: delay as Duration } }),
    ...(allowPrivate !== undefined && { allowPrivate }),
    records: { page: { fresh: 0 } },
    routes: {
      page: {
        match: '**',
        ...(follow !== undefined && { follow: [{ links: follow }] }),
        record: hasFields ? { kind: 'page', fields } : { kind: 'page', contents: 'text' },
      },
    },
  })
}

function spiderName(urls: readonly string[]): string {
  const first = urls[0]
  if (first === undefined || parseUrl(first) === null)
    throw new ShoalError('bad_url', `${first === undefined ? 'undefined' : showUrl(first)} is not a URL`)
  return `crawl-${new URL(first).hostname.replace(/[^A-Za-z0-9.-]/g, '-')}`.slice(0, 64)
}
