import { inspect } from 'node:util'
import type { Cheerio, CheerioAPI } from 'cheerio'
import type { AnyNode } from 'domhandler'
import { jsonText } from '../../json-text.js'
import type { Page } from '../../spider/page.js'
import { clean } from '../terminal/clean.js'
import { count, plural } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'

/** Of a selection, and of the markup of each element. */
const ELEMENTS_SHOWN = 5
const MARKUP_SHOWN = 200
/** The text of a page has thousands of lines. */
const STRING_SHOWN = 2_000

/** How a value is shown at the prompt: elements as markup, everything else as in Node. */
export function shellWriter(
  $: () => CheerioAPI | undefined,
  style: Style,
  colors: boolean,
): (value: unknown) => string {
  return (value) => {
    const markup = markupOf(value, $())
    if (markup === null) return inspect(value, { colors, depth: 4, maxArrayLength: 100, maxStringLength: STRING_SHOWN })
    const shown = markup.slice(0, ELEMENTS_SHOWN).map((one) => `  ${shortened(one)}`)
    const more = markup.length - shown.length
    return [
      plural(markup.length, 'element'),
      ...shown,
      ...(more > 0 ? [style.dim(`  and ${count(more)} more`)] : []),
    ].join('\n')
  }
}

/** For `--json`: one line for each value. */
export function jsonWriter($: () => CheerioAPI | undefined): (value: unknown) => string {
  return (value) => jsonText(markupOf(value, $()) ?? (isPage(value) ? pageFacts(value) : value)) ?? 'null'
}

function pageFacts({ url, requestedUrl, status, headers, route, body }: Page) {
  return { url, requestedUrl, status, headers, route, bytes: body.length }
}

/** Null: neither a selection nor an element. */
function markupOf(value: unknown, $: CheerioAPI | undefined): readonly string[] | null {
  if ($ === undefined || typeof value !== 'object' || value === null) return null
  if (isSelection(value)) return value.toArray().map((node) => $.html(node))
  return isNode(value) ? [$.html(value)] : null
}

function isSelection(value: object): value is Cheerio<AnyNode> {
  return 'cheerio' in value && 'toArray' in value
}

function isNode(value: object): value is AnyNode {
  return 'nodeType' in value && 'parent' in value
}

function isPage(value: unknown): value is Page {
  return typeof value === 'object' && value !== null && 'requestedUrl' in value && 'body' in value
}

function shortened(markup: string): string {
  const line = clean(markup.slice(0, MARKUP_SHOWN).replace(/\s+/g, ' '))
  return markup.length > MARKUP_SHOWN ? `${line}…` : line
}
