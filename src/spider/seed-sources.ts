import { z } from 'zod'
import { ShoalError } from '../errors.js'
import { aFunction, atLeastOne, duration, options } from '../options.js'
import type { Duration } from '../units.js'
import type { Json } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { parseTemplate, type TemplateValues } from '../url/template.js'

export type SeedFunction = () => Iterable<SeedDefinition> | AsyncIterable<SeedDefinition>

export type SeedDefinition =
  | string
  | { readonly url: string; readonly route?: string; readonly priority?: number; readonly data?: Json }

/** Where seeds come from, for the `seeds` of a spider. Made by the functions below. */
export type SeedSourceDefinition =
  | ListingSource
  | { readonly from: 'lines'; readonly file: string }
  | { readonly from: 'csv'; readonly file: string; readonly column: string | number }
  | { readonly from: 'sql'; readonly address: string; readonly query: string }
  | { readonly from: 'range'; readonly template: string; readonly values: TemplateValues; readonly max: number }

interface ListingSource extends ListingSourceOptions {
  readonly from: 'sitemap' | 'feed'
  readonly urls: readonly string[]
}

export interface ListingSourceOptions {
  /** Only pages that changed since: a day ('2026-11-01'), a time, or how long before the crawl began ('7d'). Those that do not say are taken. */
  readonly since?: Duration | string
  /** Where the pages go; without it the first route that matches. */
  readonly route?: string
}

/** Files with more URLs than this are a slip of the hand, unless somebody says otherwise. */
const MOST_IN_A_RANGE = 10_000_000

/**
 * The pages of sitemaps and of indexes of sitemaps, plain or gzip. Without a URL: those that robots.txt of the spider's hosts names, or
 * /sitemap.xml.
 */
export function sitemap(
  urls: string | readonly string[] = [],
  settings: ListingSourceOptions = {},
): SeedSourceDefinition {
  return { from: 'sitemap', urls: typeof urls === 'string' ? [urls] : urls, ...settings }
}

/** The pages of RSS and Atom feeds. */
export function feed(urls: string | readonly string[], settings: ListingSourceOptions = {}): SeedSourceDefinition {
  return { from: 'feed', urls: typeof urls === 'string' ? [urls] : urls, ...settings }
}

/** A file of URLs or JSON entries, one a line; `-` is standard input. */
export function lines(file: string): SeedSourceDefinition {
  return { from: 'lines', file }
}

/** A column of a CSV file: by name, then the first row is the header, or by number from 1. Default 'url'. */
export function csv(file: string, settings: { readonly column?: string | number } = {}): SeedSourceDefinition {
  return { from: 'csv', file, column: settings.column ?? 'url' }
}

/**
 * A query: its column `url`, or its first. `address` is 'postgres://…' or a SQLite file. It is only read. With an ORDER BY a crawl that was
 * killed goes on where it was; without, it may begin again, and known URLs are dropped.
 */
export function sql(address: string, query: string): SeedSourceDefinition {
  return { from: 'sql', address, query }
}

/**
 * Many URLs written as one: `https://shop.example/{de,fr}/page/{1..100}`, `{001..100}`, `{0..500..20}`, or `{n}` with `values: { n: '1..100' }`.
 * More than `max` (10,000,000) are refused before the first.
 */
export function range(
  template: string,
  settings: { readonly values?: TemplateValues; readonly max?: number } = {},
): SeedSourceDefinition {
  return { from: 'range', template, values: settings.values ?? {}, max: settings.max ?? MOST_IN_A_RANGE }
}

const webUrl = z
  .string()
  .refine((url) => /^https?:$/.test(parseUrl(url)?.protocol ?? ''), 'expected an absolute http or https URL')
const text = z.string().min(1)
const since = z.unknown().transform((value, context) => {
  const at = typeof value === 'string' && /^\d{4}-\d\d/.test(value) ? Date.parse(value) : Number.NaN
  if (!Number.isNaN(at)) return { at }
  const agoMs = duration({ max: YEARS_100_MS }).safeParse(value)
  if (agoMs.success) return { agoMs: agoMs.data }
  context.addIssue("expected a day like '2026-11-01', a time, or a duration like '7d'")
  return z.NEVER
})
const YEARS_100_MS = 100 * 366 * 86_400_000

const listing = { since: since.optional(), route: text.optional() }
const source = z.discriminatedUnion(
  'from',
  [
    options({ from: z.literal('sitemap'), urls: z.array(webUrl), ...listing }),
    options({ from: z.literal('feed'), urls: z.array(webUrl).min(1, 'names no feed'), ...listing }),
    options({ from: z.literal('lines'), file: text }),
    options({ from: z.literal('csv'), file: text, column: z.union([text, atLeastOne]) }),
    options({ from: z.literal('sql'), address: text, query: text }),
    options({
      from: z.literal('range'),
      template: text,
      values: z.record(z.string(), z.union([z.string(), z.array(z.union([z.string(), z.number()]))])),
      max: atLeastOne,
    }).superRefine(({ template, values, max }, context) => {
      try {
        checkedTemplate(template, values, max)
      } catch (error) {
        if (!(error instanceof ShoalError)) throw error
        context.addIssue({ code: 'custom', message: error.message, params: { code: error.code } })
      }
    }),
  ],
  { error: 'expected what sitemap(), feed(), lines(), csv(), sql() or range() gives' },
)

export const seedSources = z.array(source).min(1, 'names no source of seeds')
export const seedFunction = aFunction<SeedFunction>()

export type CheckedSeedSource = z.output<typeof source>

export function checkedTemplate(template: string, values: TemplateValues, max = MOST_IN_A_RANGE) {
  const parsed = parseTemplate(template, values)
  if (parsed.count > max)
    throw new ShoalError('bad_template', `${template.slice(0, 200)}: ${parsed.count} URLs are more than ${max}`)
  return parsed
}
