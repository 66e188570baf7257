import { ShoalError } from '../errors.js'
import { mediaTypeOf } from '../fetch/media-type.js'
import type { Duration } from '../units.js'
import { encodeQuery } from '../url/encode-query.js'
import { parseUrl } from '../url/parse-url.js'
import { showUrl } from '../url/show-url.js'
import { defineSpider, type TaggedDefinition } from './definition.js'
import type { FieldDefinition } from './fields.js'
import { baseUrl } from './html/base-url.js'
import type { Page } from './page.js'

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

const TEXT_KEPT = 5_000
const BLOCKS =
  'address, article, aside, blockquote, br, dd, div, dl, dt, figcaption, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hr, li, main, nav, ol, option, p, pre, section, table, td, th, tr, ul'
const TEXTUAL = /^text\/|[/+](?:xml|json)$/

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
        ...(hasFields ? { record: { kind: 'page', fields } } : { handler: storePage }),
      },
    },
  })
}

function storePage(
  page: Page,
  out: { record(kind: 'page', key: string, data: ReturnType<typeof pageSummary>): void },
): void {
  out.record('page', page.url, pageSummary(page))
}

function pageSummary(page: Page) {
  const { url, status } = page
  if (!TEXTUAL.test(mediaTypeOf(page))) return { url, status, title: '', text: '', links: [] }
  const { $ } = page
  const [root] = $.root()
  const base = root === undefined ? url : baseUrl(root, page.text, url)
  $('script, style, noscript, template').remove()
  // Otherwise the last word of one block and the first of the next would become one word.
  $(BLOCKS).before(' ').after(' ')
  return {
    url,
    status,
    title: $('title').first().text().trim(),
    text: $('body').text().replace(/\s+/g, ' ').trim().slice(0, TEXT_KEPT),
    links: [
      ...new Set(
        $('a[href]')
          .map((_, element) => absolute(encodeQuery($(element).attr('href') ?? '', page), base))
          .get(),
      ),
    ],
  }
}

function absolute(href: string, base: string): string {
  return parseUrl(href, base)?.href ?? href
}

function spiderName(urls: readonly string[]): string {
  const first = urls[0]
  if (first === undefined || parseUrl(first) === null)
    throw new ShoalError('bad_url', `${first === undefined ? 'undefined' : showUrl(first)} is not a URL`)
  return `crawl-${new URL(first).hostname.replace(/[^A-Za-z0-9.-]/g, '-')}`.slice(0, 64)
}
