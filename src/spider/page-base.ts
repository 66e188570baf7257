import { hasTags, mediaTypeOf } from '../fetch/media-type.js'
import { encodeQuery } from '../url/encode-query.js'
import { resolveBase } from './html/base-url.js'
import { compileExtractor, type Extractor } from './html/extract.js'
import type { Rule } from './html/program.js'
import { parseSelector } from './html/selector.js'
import type { Page } from './page.js'

/** The `href` of the first base element. */
export const BASE_HREF: Rule = {
  selector: parseSelector('base@href'),
  pick: { kind: 'attribute', name: 'href' },
  first: true,
  skipNofollow: false,
  htmlOnly: true,
}

let extractor: Extractor | null = null

/** What the base element of a page says that relative links are resolved against; null without one: it is the page's URL. */
export function baseOf(page: Pick<Page, 'url' | 'headers' | 'body' | 'text' | 'encoding'>): string | null {
  const type = mediaTypeOf(page)
  // Nearly no page has one, and to know that takes 2 µs.
  if (!hasTags(type) || !/<base/i.test(page.text)) return null
  extractor ??= compileExtractor([BASE_HREF])
  const href = extractor.run(page.text, type)[0]?.[0]
  return href === undefined ? null : resolveBase(encodeQuery(href, page), page.url)
}
