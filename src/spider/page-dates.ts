import type { Json } from '../url/link.js'
import { readDate } from './convert/dates.js'
import type { Rule } from './html/program.js'
import { parseSelector } from './html/selector.js'
import { attributeRule } from './page-summary.js'

/** Where pages say when they were published and changed, the most reliable first: Open Graph, microdata, Dublin Core. */
const PUBLISHED: readonly string[] = [
  'meta[property="article:published_time" i]@content',
  'meta[itemprop="datePublished" i]@content',
  'time[itemprop="datePublished" i]@datetime',
  'meta[name="dcterms.created" i]@content',
  'meta[name="dc.date" i]@content',
  'meta[name="date" i]@content',
]
const MODIFIED: readonly string[] = [
  'meta[property="article:modified_time" i]@content',
  'meta[property="og:updated_time" i]@content',
  'meta[itemprop="dateModified" i]@content',
  'time[itemprop="dateModified" i]@datetime',
  'meta[name="dcterms.modified" i]@content',
  'meta[name="last-modified" i]@content',
  'meta[http-equiv="last-modified" i]@content',
]

/** The last one is JSON-LD (schema.org), which has both. */
export const DATE_RULES: readonly Rule[] = [
  ...[...PUBLISHED, ...MODIFIED].map((source) => attributeRule(source, true)),
  {
    selector: parseSelector('script[type="application/ld+json" i]'),
    pick: { kind: 'text' },
    first: false,
    skipNofollow: false,
  },
]

export type PageDates = {
  /** ISO 8601; null if the page does not say. */
  readonly published: string | null
  readonly modified: string | null
}

/** `found`: the values of DATE_RULES. `lastModified`: the header, for pages that say nothing. */
export function pageDates(found: readonly (readonly string[])[], lastModified: string | undefined): PageDates {
  const linked = (found[DATE_RULES.length - 1] ?? []).flatMap(linkedData)
  const of = (from: number, to: number, name: string) =>
    firstDate([...found.slice(from, to).flat(), ...linked.flatMap((data) => textIn(data, name))])
  const all = PUBLISHED.length + MODIFIED.length
  return {
    published: of(0, PUBLISHED.length, 'datePublished'),
    modified: of(PUBLISHED.length, all, 'dateModified') ?? firstDate(lastModified === undefined ? [] : [lastModified]),
  }
}

/** What is written for programs depends on no language. */
const FOR_PROGRAMS = { order: null, language: () => null }

function firstDate(texts: readonly string[]): string | null {
  for (const text of texts) {
    const date = readDate(text, FOR_PROGRAMS)
    if (date !== null) return date
  }
  return null
}

/** The things that a block of JSON-LD describes: one, a list, or those of its @graph. */
function linkedData(text: string): Readonly<Record<string, Json>>[] {
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch {
    return []
  }
  const things = Array.isArray(data) ? data : [data]
  return things
    .flatMap((thing) => (isRecord(thing) && Array.isArray(thing['@graph']) ? thing['@graph'] : [thing]))
    .filter(isRecord)
}

function isRecord(value: unknown): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textIn(data: Readonly<Record<string, Json>>, name: string): string[] {
  const value = Object.hasOwn(data, name) ? data[name] : undefined
  return typeof value === 'string' ? [value] : []
}
