import { hasTags, isXml, mediaTypeOf } from '../fetch/media-type.js'
import { encodeQuery } from '../url/encode-query.js'
import { parseUrl } from '../url/parse-url.js'
import { resolveBase } from './html/base-url.js'
import { parsePage } from './html/parse-page.js'
import type { Rule } from './html/program.js'
import { parseSelector } from './html/selector.js'
import { mainContent } from './markdown/main-content.js'
import { toHast } from './markdown/to-hast.js'
import type { Page } from './page.js'
import { DATE_RULES, type PageDates, pageDates } from './page-dates.js'
import { foundLanguage, LANGUAGE_RULES } from './page-language.js'
import { attributeRule, DESCRIPTION_CHARS, oneLine, TITLE_CHARS } from './page-summary.js'

/** `contents: 'markdown'`, what `shoal crawl --format markdown` stores. */
export type PageMarkdown = PageDates & {
  readonly url: string
  readonly status: number
  readonly title: string
  readonly description: string
  readonly language: string | null
  readonly markdown: string
  /** Only there if the page was too long for a record: the Markdown is its beginning. */
  readonly truncated?: true
}

export const MARKDOWN_RULES: readonly Rule[] = [
  { selector: parseSelector('title'), pick: { kind: 'text' }, first: true, skipNofollow: false, htmlOnly: true },
  attributeRule('meta[name="description" i]@content', true),
  attributeRule('meta[property="og:description" i]@content', true),
  ...LANGUAGE_RULES,
  ...DATE_RULES,
]
const FIRST_LANGUAGE = 3
const FIRST_DATE = FIRST_LANGUAGE + LANGUAGE_RULES.length

/** A record may have 256 KB, and has more than its Markdown. */
const MARKDOWN_BYTES = 224 * 1024

/** `found`: the values of MARKDOWN_RULES; `base`: the `href` of the page's base element. */
export async function pageMarkdown(
  page: Page,
  found: readonly (readonly string[])[],
  base: string | null,
): Promise<PageMarkdown> {
  const { url, status, headers } = page
  const [titles, descriptions, others] = found
  const converted = await convert(page, base)
  const markdown = withinBytes(converted.markdown)
  return {
    url,
    status,
    title: oneLine(titles?.[0] ?? '', TITLE_CHARS),
    description: oneLine(descriptions?.[0] ?? others?.[0] ?? '', DESCRIPTION_CHARS),
    language: foundLanguage(found.slice(FIRST_LANGUAGE, FIRST_DATE), headers['content-language']),
    ...pageDates(found.slice(FIRST_DATE), headers['last-modified']),
    markdown,
    ...((converted.truncated || markdown !== converted.markdown) && { truncated: true }),
  }
}

async function convert(page: Page, baseHref: string | null): Promise<{ markdown: string; truncated: boolean }> {
  const type = mediaTypeOf(page)
  if (!hasTags(type)) return { markdown: textAsMarkdown(page, type), truncated: false }
  const { root } = parsePage(page.text, type)
  const content = mainContent(root)
  if (content === null) return { markdown: isXml(type) ? fenced('xml', page.text) : '', truncated: false }
  const base = resolveBase(baseHref, page.url)
  const hast = toHast(content, (href) => absolute(encodeQuery(href, page), base))
  const { markdownOf } = await import('./markdown/markdown-of.js')
  return { markdown: markdownOf(hast.content), truncated: hast.truncated }
}

function textAsMarkdown(page: Page, type: string): string {
  if (/[/+]json$/.test(type)) return fenced('json', page.text)
  return type.startsWith('text/') ? page.text : ''
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`
}

/** Null for what leads nowhere: `javascript:` and what is no URL. */
function absolute(href: string, base: string): string | null {
  const url = parseUrl(href, base)
  return url === null || url.protocol === 'javascript:' ? null : url.href
}

/** Cut after a whole line; a code block that is open there is closed. */
function withinBytes(markdown: string): string {
  if (markdown.length * 3 <= MARKDOWN_BYTES || Buffer.byteLength(markdown) <= MARKDOWN_BYTES) return markdown
  const kept = Buffer.from(markdown).subarray(0, MARKDOWN_BYTES).toString()
  const whole = kept.slice(0, Math.max(kept.lastIndexOf('\n'), MARKDOWN_BYTES / 8))
  const fences = whole.match(/^[ \t]*```/gm)?.length ?? 0
  return fences % 2 === 1 ? `${whole}\n\`\`\`\n` : `${whole}\n`
}
