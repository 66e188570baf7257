import { hasTags, isXml, mediaTypeOf } from '../fetch/media-type.js'
import { encodeQuery } from '../url/encode-query.js'
import { parseUrl } from '../url/parse-url.js'
import { collapse } from './convert/convert.js'
import { resolveBase } from './html/base-url.js'
import { compileExtractor, type Extractor } from './html/extract.js'
import { PageText } from './html/page-text.js'
import type { Rule } from './html/program.js'
import { parseSelector } from './html/selector.js'
import type { Page } from './page.js'
import { foundLanguage, LANGUAGE_RULES } from './page-language.js'

/** `contents: 'text'`, the default record of `shoal crawl`. */
export type PageSummary = {
  readonly url: string
  readonly status: number
  readonly title: string
  readonly description: string
  /** BCP 47; null if the page does not say. */
  readonly language: string | null
  /** What a reader sees, as one line: its first 5,000 characters. */
  readonly text: string
  /** The text is longer; only there if it is. */
  readonly truncated?: true
  readonly links: readonly string[]
  /** Links that did not fit into the record; only there if there are any. */
  readonly linksLeftOut?: number
}

const TEXT_CHARS = 5_000
/** Enough to know whether there is more: the end may lose half of a surrogate pair and a space. */
const READ_CHARS = TEXT_CHARS + 3
export const TITLE_CHARS = 1_000
export const DESCRIPTION_CHARS = 2_000
/** A record may have 256 KB. Python's index of 10,000 links has 700 KB of them. */
const LINK_BYTES = 192 * 1024
const TEXTUAL = /^text\/|[/+](?:xml|json)$/

/** What is read from the tags of a page, in one pass with the rules of its route: a tree would cost ten times as much. */
export const SUMMARY_RULES: readonly Rule[] = [
  { selector: parseSelector('title'), pick: { kind: 'text' }, first: true, skipNofollow: false, htmlOnly: true },
  attributeRule('meta[name="description" i]@content', true),
  attributeRule('a[href]@href', false),
  pageText('body'),
  ...LANGUAGE_RULES,
]

/** `found`: the values of SUMMARY_RULES; `base`: the `href` of the page's base element. */
export function pageSummary(page: Page, found: readonly (readonly string[])[], base: string | null): PageSummary {
  const { url, status } = page
  const type = mediaTypeOf(page)
  if (!hasTags(type)) {
    const text = TEXTUAL.test(type) ? oneLine(page.text, READ_CHARS) : ''
    return { url, status, title: '', description: '', language: null, ...firstText(text), links: [] }
  }
  const [titles, descriptions, hrefs, texts, ...languages] = found
  const links = absoluteLinks(hrefs ?? [], resolveBase(base, url), page)
  const kept = fitting(links)
  return {
    url,
    status,
    title: oneLine(titles?.[0] ?? '', TITLE_CHARS),
    description: oneLine(descriptions?.[0] ?? '', DESCRIPTION_CHARS),
    language: foundLanguage(languages, page.headers['content-language']),
    ...firstText(texts?.[0] ?? (isXml(type) ? textOfXml(page.text, type) : '')),
    links: kept,
    ...(kept.length < links.length && { linksLeftOut: links.length - kept.length }),
  }
}

function firstText(read: string): Pick<PageSummary, 'text' | 'truncated'> {
  return read.length <= TEXT_CHARS ? { text: read } : { text: oneLine(read, TEXT_CHARS), truncated: true }
}

export function oneLine(text: string, limit: number): string {
  const line = new PageText(limit)
  line.add(text)
  return String(line)
}

export function attributeRule(source: string, first: boolean): Rule {
  const selector = parseSelector(source)
  return { selector, pick: { kind: 'attribute', name: selector.attribute ?? '' }, first, skipNofollow: false }
}

function pageText(element: string, { xml = false } = {}): Rule {
  const pick = { kind: 'page-text', limit: READ_CHARS, ...(xml && { xml }) } as const
  return { selector: parseSelector(element), pick, first: true, skipNofollow: false }
}

let xmlText: Extractor | null = null

/** XML has no body: the text of the whole document. */
function textOfXml(text: string, type: string): string {
  xmlText ??= compileExtractor([pageText(':root', { xml: true })])
  return xmlText.run(text, type)[0]?.[0] ?? ''
}

/** Parsing costs more than finding, so each spelling is parsed once. */
function absoluteLinks(hrefs: readonly string[], base: string, page: Page): string[] {
  const links = new Set<string>()
  for (const href of new Set(hrefs)) {
    const written = encodeQuery(href, page)
    links.add(parseUrl(written, base)?.href ?? collapse(written))
  }
  return [...links]
}

/** The first links, as many as a record has room for. */
function fitting(links: string[]): string[] {
  let bytes = 0
  for (const [index, link] of links.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(link)) + 1
    if (bytes > LINK_BYTES) return links.slice(0, index)
  }
  return links
}
