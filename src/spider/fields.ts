/**
 * Link rules and fields of a route, compiled once and run on page after page:
 *
 *   const harvester = compileHarvest({ links: [{ select: 'article a' }], fields: { title: 'h1' } })
 *   harvester.run(page) → { links: [['/a', '/b']], fields: { title: '…' }, base: null, nofollow: false, refreshes: [] }
 *
 * All of them are evaluated in one pass over the tags of the page, without a tree, if the selectors allow it (see html/selector.ts) and the page is not
 * misnested; otherwise on the tree of a spec-compliant parser, with the same results.
 */
import { ShoalError } from '../errors.js'
import { hasTags, mediaTypeOf } from '../fetch/media-type.js'
import { nearest } from '../nearest.js'
import { type Synonyms, unknownOption } from '../options.js'
import { encodeQuery } from '../url/encode-query.js'
import type { Json } from '../url/link.js'
import { CONVERSIONS, type Conversion, collapse, convert, type Reading } from './convert/convert.js'
import type { DecimalMark } from './convert/numbers.js'
import { DATE_ORDERS, type DateOrder } from './convert/numeric-date.js'
import { resolveBase } from './html/base-url.js'
import { compileExtractor, type Extractor } from './html/extract.js'
import type { Rule } from './html/program.js'
import { readRefresh } from './html/refresh.js'
import { parseSelector } from './html/selector.js'
import { type JsonPath, parsePath, readPath } from './json-path.js'
import type { Page } from './page.js'
import { BASE_HREF } from './page-base.js'
import { pageLanguage } from './page-language.js'

/**
 * A CSS selector (`'h1'`, text of the first match), a selector with an attribute (`'img@src'`), a path into a JSON page
 * (`'$.items[0].name'`), or one of these with options.
 */
export type FieldDefinition = string | FieldOptions

export interface FieldOptions {
  /** CSS selector; `sel@attribute` takes the attribute instead of the text. */
  readonly select?: string
  /** Path into the JSON of the page: `a.b[0].c`, `items[*].name`. */
  readonly path?: string
  /** How the text is converted; default 'text'. Values from a path stay as they are unless this is given. */
  readonly as?: Conversion
  /** For `as: 'date'`: the order of 03/04/2026 and 03/04/26; default: that of the page's language. */
  readonly order?: DateOrder
  /** For `as: 'number'` and `'integer'`: the decimal mark, which decides what 1.234 and 1,234 are; default: that of the page's language. */
  readonly decimal?: DecimalMark
  /** All matches, as an array, instead of the first. */
  readonly all?: boolean
  /** Used if nothing is found, or it cannot be converted. */
  readonly default?: Json
  /** Only what its first group (or the whole pattern) matches; no match counts as not found. */
  readonly pattern?: RegExp
}

export interface LinkRule {
  /** Elements whose `href` is used; default `a[href]`. */
  readonly select?: string
  /** Also follow links marked rel=nofollow. */
  readonly nofollow?: boolean
}

export interface Harvester {
  run(page: Page): Found
  /** How many pages the scanner handled alone, and how many needed the tree. */
  readonly pages: Extractor['pages']
}

export interface Found {
  /** Per link rule: the `href`s as they are on the page, in document order, with repetitions; queries in the page's encoding. */
  readonly links: readonly (readonly string[])[]
  /** Values of the caller's own rules, per rule. */
  readonly more: readonly (readonly string[])[]
  /** Fields that were found; the others are left out, so that the schema reports them. */
  readonly fields: Readonly<Record<string, Json>>
  /** `href` of the first base element: links resolve against it, and it against the page's URL. */
  readonly base: string | null
  /** The page asks robots not to follow its links. */
  readonly nofollow: boolean
  /** Where the meta refreshes lead. Browsers follow the first or the fastest of several; as links all of them count. */
  readonly refreshes: readonly string[]
}

/** A field, compiled. */
export interface Field {
  readonly name: string
  /** Index of its rule in the extractor, or the path. */
  readonly source: number | JsonPath
  readonly as: Conversion | null
  readonly order: DateOrder | null
  readonly decimal: DecimalMark | null
  /** Whether it is written for people, in the page's language. */
  readonly forPeople: boolean
  readonly all: boolean
  readonly fallback: Json | undefined
  readonly pattern: RegExp | null
}

export function compileHarvest(rules: {
  readonly links?: readonly LinkRule[]
  readonly fields?: Readonly<Record<string, FieldDefinition>>
  /** Rules whose values the caller reads. */
  readonly more?: readonly Rule[]
}): Harvester {
  const links = rules.links ?? []
  const compiled: Rule[] = links.map(linkRule)
  const fields = Object.entries(rules.fields ?? {}).map(([name, definition]) =>
    compileField(name, definition, compiled),
  )
  const more = rules.more ?? []
  const firstOfMore = compiled.length
  compiled.push(...more)
  const base = compiled.push(BASE_HREF) - 1
  const robots = compiled.push(factRule('meta[name="robots" i]@content', false)) - 1
  const refresh = compiled.push(factRule('meta[http-equiv="refresh" i]@content', false)) - 1
  const extractor = compileExtractor(compiled)
  const asksHtml = links.length + more.length > 0 || fields.some((field) => typeof field.source === 'number')
  const nothing: readonly string[][] = compiled.map(() => [])

  return {
    pages: extractor.pages,
    run(page) {
      const type = mediaTypeOf(page)
      const found = asksHtml && hasTags(type) ? extractor.run(page.text, type) : nothing
      const baseHref = encoded(found[base]?.[0] ?? null, page)
      return {
        links: encodedLinks(found.slice(0, links.length), page),
        more: more.length === 0 ? NO_VALUES : found.slice(firstOfMore, firstOfMore + more.length),
        fields: readFields(fields, found, () => page.losslessJson, hintsOf(page, baseHref)),
        base: baseHref,
        nofollow: (found[robots] ?? []).some((content) => /\b(?:nofollow|none)\b/i.test(content)),
        refreshes: refreshTargets(found[refresh] ?? NO_TEXTS, page),
      }
    },
  }
}

function encodedLinks(links: Found['links'], page: Page): Found['links'] {
  if (links.length === 0 || page.encoding === 'UTF-8') return links
  return links.map((hrefs) => hrefs.map((href) => encodeQuery(href, page)))
}

function encoded(href: string | null, page: Page): string | null {
  return href === null ? null : encodeQuery(href, page)
}

function linkRule(rule: LinkRule): Rule {
  const selector = parseSelector(rule.select ?? 'a[href]')
  return {
    selector,
    pick: { kind: 'attribute', name: selector.attribute ?? 'href' },
    first: false,
    skipNofollow: rule.nofollow !== true,
  }
}

function factRule(source: string, first: boolean): Rule {
  const selector = parseSelector(source)
  return { selector, pick: { kind: 'attribute', name: selector.attribute ?? '' }, first, skipNofollow: false }
}

const OPTIONS: ReadonlySet<string> = new Set(['select', 'path', 'as', 'order', 'decimal', 'all', 'default', 'pattern'])
/** What Scrapy, Crawlee and others call them. */
const OPTION_SYNONYMS: Synonyms = {
  ...{ css: 'select', xpath: 'select', query: 'select', json: 'path', jsonPath: 'path', jmespath: 'path', type: 'as' },
  ...{ regex: 'pattern', re: 'pattern', many: 'all', multiple: 'all', list: 'all', fallback: 'default' },
}
const CONVERSION_SYNONYMS: Readonly<Partial<Record<string, Conversion>>> = {
  ...{
    string: 'text',
    str: 'text',
    float: 'number',
    decimal: 'number',
    price: 'number',
    int: 'integer',
    bool: 'boolean',
  },
  ...{ link: 'url', href: 'url', datetime: 'date', time: 'date' },
}
/** The attributes that people read. Programs read all others, and write 1.234 with a decimal point in every language. */
const TEXT_ATTRIBUTES: ReadonlySet<string> = new Set(['alt', 'title', 'aria-label', 'placeholder'])

export function fieldOptions(definition: FieldDefinition): FieldOptions {
  if (typeof definition !== 'string') return definition
  return definition.startsWith('$') ? { path: definition } : { select: definition }
}

/** Also of a value that no compiler has checked. */
function unknownConversion(as: string): string {
  const name = String(as)
  const guess = CONVERSION_SYNONYMS[name.toLowerCase()] ?? nearest(name, CONVERSIONS)
  const meant = guess === null ? '' : `, did you mean '${guess}'?`
  return `as: '${name}' is not one of ${CONVERSIONS.join(', ')}${meant}`
}

export function compileField(name: string, definition: FieldDefinition, compiled: Rule[]): Field {
  const options = fieldOptions(definition)
  const wrong = (reason: string): ShoalError => new ShoalError('spider_invalid', `field ${name}: ${reason}`)
  for (const key of Object.keys(options))
    if (!OPTIONS.has(key)) throw wrong(unknownOption(key, [...OPTIONS], OPTION_SYNONYMS))
  if (options.as !== undefined && !CONVERSIONS.includes(options.as)) throw wrong(unknownConversion(options.as))
  if (options.order !== undefined && (options.as !== 'date' || !DATE_ORDERS.includes(options.order)))
    throw wrong(`'order' is one of ${DATE_ORDERS.join(', ')}, and belongs to as: 'date'`)
  const numeric = options.as === 'number' || options.as === 'integer'
  if (options.decimal !== undefined && !(numeric && (options.decimal === '.' || options.decimal === ',')))
    throw wrong(`'decimal' is '.' or ',', and belongs to as: 'number' or 'integer'`)
  if ((options.select === undefined) === (options.path === undefined)) throw wrong(`it needs either 'select' or 'path'`)
  const all = options.all === true
  let source: number | JsonPath
  let forPeople = false
  if (options.select === undefined) source = parsePath(options.path ?? '')
  else {
    const selector = parseSelector(options.select)
    forPeople = selector.attribute === null || TEXT_ATTRIBUTES.has(selector.attribute)
    const pick: Rule['pick'] =
      selector.attribute !== null
        ? { kind: 'attribute', name: selector.attribute }
        : { kind: options.as === 'html' ? 'html' : 'text' }
    source = compiled.push({ selector, pick, first: !all, skipNofollow: false }) - 1
  }
  return {
    name,
    source,
    as: options.as ?? (options.select === undefined ? null : 'text'),
    order: options.order ?? null,
    decimal: options.decimal ?? null,
    forPeople,
    all,
    fallback: options.default,
    // A pattern with state would give different results from page to page.
    pattern: options.pattern ? new RegExp(options.pattern.source, options.pattern.flags.replace(/[gy]/g, '')) : null,
  }
}

/** `found`: the values of each rule. `json`: what paths are read from. */
export function readFields(
  fields: readonly Field[],
  found: readonly (readonly string[])[],
  json: () => Json,
  hints: PageHints,
): Record<string, Json> {
  const values: Record<string, Json> = {}
  for (const field of fields) {
    const raw: readonly Json[] =
      typeof field.source === 'number' ? (found[field.source] ?? []) : readPath(json(), field.source)
    const value = field.all ? readAll(field, raw, hints) : readOne(field, raw[0], hints)
    const final = (value === undefined || value === null) && field.fallback !== undefined ? field.fallback : value
    if (final === undefined) continue
    if (field.name !== '__proto__') values[field.name] = final
    else
      Object.defineProperty(values, field.name, { value: final, enumerable: true, configurable: true, writable: true })
  }
  return values
}

/** Undefined if there is none, so that the schema can say whether the list may be empty. */
function readAll(field: Field, raw: readonly Json[], hints: PageHints): Json | undefined {
  const values: Json[] = []
  for (const one of raw) {
    const value = readOne(field, one, hints)
    if (value !== undefined) values.push(value)
  }
  return values.length === 0 && field.fallback !== undefined ? undefined : values
}

function readOne(field: Field, raw: Json | undefined, hints: PageHints): Json | undefined {
  if (raw === undefined) return undefined
  if (field.pattern === null && (field.as === null || typeof raw === 'object')) return raw
  let text = String(raw)
  if (field.pattern !== null) {
    if (field.as === 'text') text = collapse(text)
    const match = field.pattern.exec(text)
    if (match === null) return undefined
    text = match[1] ?? match[0]
  }
  if (typeof raw === 'number' && field.as === 'number' && field.pattern === null) return raw
  const written = field.as === 'url' ? encodeQuery(text, hints.page) : text
  return convert(written, field.as ?? 'text', {
    base: hints.base,
    language: field.forPeople ? hints.language : noLanguage,
    order: field.order,
    decimal: field.decimal,
  })
}

/** What a page says about how its texts are read; looked up only for those that need it. */
export interface PageHints extends Pick<Reading, 'base' | 'language'> {
  readonly page: Page
}

export function hintsOf(page: Page, baseHref: string | null): PageHints {
  let language: string | null | undefined
  return {
    page,
    base: () => resolveBase(baseHref, page.url),
    language() {
      if (language === undefined)
        language = pageLanguage(hasTags(mediaTypeOf(page)) ? page.text : null, page.headers['content-language'])
      return language
    },
  }
}

function noLanguage(): null {
  return null
}

const NO_TEXTS: readonly string[] = []
const NO_VALUES: readonly (readonly string[])[] = []

function refreshTargets(contents: readonly string[], page: Page): readonly string[] {
  // Of nearly every page: no array of its own.
  if (contents.length === 0) return NO_TEXTS
  return contents.flatMap((content) => encoded(readRefresh(content), page) ?? [])
}
