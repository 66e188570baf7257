import { ShoalError } from '../errors.js'
import type { Duration } from '../units.js'
import { parseUrl } from '../url/parse-url.js'
import { showUrl } from '../url/show-url.js'
import { defineSpider, type TaggedDefinition } from './definition.js'
import type { FieldDefinition } from './fields.js'
import { sitemap } from './seed-sources.js'

/** `shoal crawl`: a spider built from flags. Plain data, so that it can be sent to another process. */
export interface CrawlOptions {
  readonly urls: readonly string[]
  /** Selector of the links to follow; without it only the given URLs are visited. */
  readonly follow?: string
  /** Field name → selector; empty: the contents of pages are stored, as `format` says. */
  readonly fields?: Readonly<Record<string, FieldDefinition>>
  /** Default 'text'. */
  readonly format?: CrawlFormat
  /** One record per element, or per value of a path that starts with `$`, with fields relative to it. */
  readonly each?: string
  /** The field that identifies a record. */
  readonly key?: string
  /** Start from the sitemaps of the hosts as well. */
  readonly sitemap?: boolean
  readonly maxDepth?: number
  readonly pages?: number
  /** Between two requests to a host; validated with everything else. */
  readonly delay?: string
  readonly allowPrivate?: readonly string[]
}

export const CRAWL_FORMATS = ['text', 'markdown'] as const
export type CrawlFormat = (typeof CRAWL_FORMATS)[number]

export function crawlDefinition(options: CrawlOptions): TaggedDefinition {
  const { urls, follow, maxDepth, pages, delay, allowPrivate } = options
  return defineSpider({
    name: spiderName(urls),
    start: urls,
    ...(options.sitemap === true && { seeds: [sitemap()] }),
    ...(maxDepth !== undefined && { scope: { maxDepth } }),
    ...(pages !== undefined && { budget: { pages } }),
    ...(delay !== undefined && { pace: { delay: delay as Duration } }),
    ...(allowPrivate !== undefined && { allowPrivate }),
    records: { page: { fresh: 0 } },
    routes: {
      page: {
        match: '**',
        ...(follow !== undefined && { follow: [{ links: follow }] }),
        record: recordOf(options),
      },
    },
  })
}

/** What a crawl collects. Its pace and its limits may be others when it is resumed; what it starts from and what it reads may not. */
export function crawlPurpose({ urls, follow, fields, format, each, key, sitemap }: CrawlOptions): string {
  return JSON.stringify({ urls, follow, fields, format, each, key, sitemap })
}

function recordOf({ fields = {}, format = 'text', each, key }: CrawlOptions) {
  const identified = { ...(each !== undefined && { each }), ...(key !== undefined && { key }) }
  if (Object.keys(fields).length > 0) return { kind: 'page', fields, ...identified } as const
  return each === undefined ? ({ kind: 'page', contents: format } as const) : ({ kind: 'page', ...identified } as const)
}

function spiderName(urls: readonly string[]): string {
  const first = urls[0]
  if (first === undefined || parseUrl(first) === null)
    throw new ShoalError('bad_url', `${first === undefined ? 'undefined' : showUrl(first)} is not a URL`)
  return `crawl-${new URL(first).hostname.replace(/[^A-Za-z0-9.-]/g, '-')}`.slice(0, 64)
}
