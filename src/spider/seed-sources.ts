import type { Duration } from '../units.js'
import type { Json } from '../url/link.js'
import type { TemplateValues } from '../url/template.js'

export type SeedFunction = () => Iterable<SeedDefinition> | AsyncIterable<SeedDefinition>

export type SeedDefinition =
  | string
  | { readonly url: string; readonly route?: string; readonly priority?: number; readonly data?: Json }

/**
 * Where seeds come from, for the `seeds` of a spider. Created by the functions below; validated in seed-source-schema.ts, which a program need not
 * load.
 */
export type SeedSourceDefinition =
  | ListingSource
  | { readonly from: 'lines'; readonly file: string }
  | { readonly from: 'csv'; readonly file: string; readonly column: string | number }
  | { readonly from: 'sql'; readonly address: string; readonly query: string }
  | { readonly from: 'range'; readonly template: string; readonly values: TemplateValues; readonly max: number }

export interface ListingSource extends ListingSourceOptions {
  readonly from: 'sitemap' | 'feed'
  readonly urls: readonly string[]
}

export interface ListingSourceOptions {
  /**
   * Only pages that changed since: a date ('2026-11-01'), a time, or a duration before the start of the crawl ('7d'). Entries without a date are
   * included.
   */
  readonly since?: Duration | string
  /** The route of the pages; without it the first route that matches. */
  readonly route?: string
}

/** A range with more URLs than this is probably a typo, unless the user says otherwise. */
export const MOST_IN_A_RANGE = 10_000_000

/**
 * The pages of sitemaps and sitemap indexes, plain or gzip. Without a URL: the sitemaps named by robots.txt of the spider's hosts, or /sitemap.xml.
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

/** A file of URLs or JSON entries, one per line; `-` is standard input. */
export function lines(file: string): SeedSourceDefinition {
  return { from: 'lines', file }
}

/** A column of a CSV file: by name, if the first row is the header, or by number from 1. Default 'url'. */
export function csv(file: string, settings: { readonly column?: string | number } = {}): SeedSourceDefinition {
  return { from: 'csv', file, column: settings.column ?? 'url' }
}

/**
 * A query: its column `url`, or its first. `address` is 'postgres://…' or a SQLite file. It is read-only. With an ORDER BY, a crawl that was killed
 * resumes where it was; without, it may start over, and known URLs are dropped.
 */
export function sql(address: string, query: string): SeedSourceDefinition {
  return { from: 'sql', address, query }
}

/**
 * Many URLs written as one: `https://shop.example/{de,fr}/page/{1..100}`, `{001..100}`, `{0..500..20}`, or `{n}` with `values: { n: '1..100' }`. More
 * than `max` (10,000,000) are refused before the first.
 */
export function range(
  template: string,
  settings: { readonly values?: TemplateValues; readonly max?: number } = {},
): SeedSourceDefinition {
  return { from: 'range', template, values: settings.values ?? {}, max: settings.max ?? MOST_IN_A_RANGE }
}
