import { noteReporter } from '../../coordinator/entry-notes.js'
import type { SeedGroup, SeedSource } from '../../coordinator/seed-source.js'
import type { SeedOptions } from '../../coordinator/seeding.js'
import { csvSource } from '../../discovery/csv.js'
import { linesSource } from '../../discovery/lines.js'
import { listings } from '../../discovery/listings.js'
import { rangeSource } from '../../discovery/range.js'
import { sqlSource } from '../../discovery/sql.js'
import { ShoalError } from '../../errors.js'
import type { Log } from '../../log.js'
import type { CheckedSeedSource } from '../../spider/seed-source-schema.js'
import type { Spider } from '../../spider/spider.js'
import type { Link } from '../../url/link.js'
import { parseUrl } from '../../url/parse-url.js'
import { showUrl } from '../../url/show-url.js'
import { isTemplate } from '../../url/template.js'
import { hostsOf, openSeedFiles, type SeedFileParts } from './seed-files.js'

/** This many rejected start URLs are logged one by one. */
const LOGGED = 20

/** The sources declared in the spider, and the one from the command line. */
export function seedOptions(
  seeds: string | undefined,
  parts: SeedFileParts,
): Pick<SeedOptions, 'sources' | 'groups' | 'onRefused' | 'onNotes' | 'onAdded'> {
  const declared = [...parts.spider.sources, ...(seeds === undefined ? [] : [sourceNamed(seeds)])]
  const opened = declared.map((source) => openSource(source, parts))
  return {
    sources: opened.filter((one): one is SeedSource => 'entries' in one),
    groups: opened.filter((one): one is SeedGroup => 'sources' in one),
    onRefused: refusals(parts.log),
    onNotes: noteReporter((note, keys) => parts.log.warn('feed.noted', { spider: parts.spider.name, keys, note })),
    ...(parts.log.verbose && { onAdded: (links) => reportAdded(links, parts.log) }),
  }
}

/** True if some sources are fetched, which may need proxies. */
export function fetchesFiles(seeds: string | undefined, spider: Spider): boolean {
  const declared = [...spider.sources, ...(seeds === undefined ? [] : [sourceNamed(seeds)])]
  return declared.some(({ from }) => from === 'sitemap' || from === 'feed')
}

/** What --seeds means: standard input, a sitemap or feed, a URL template, a CSV file, or a file with one URL per line. */
function sourceNamed(text: string): CheckedSeedSource {
  if (/^https?:\/\//i.test(text)) {
    if (isTemplate(text)) return { from: 'range', template: text, values: {}, max: Number.MAX_SAFE_INTEGER }
    return { from: 'sitemap', urls: [text] }
  }
  if (/\.csv$/i.test(text)) return { from: 'csv', file: text, column: 'url' }
  const hash = text.toLowerCase().lastIndexOf('.csv#') + '.csv'.length
  const column = text.slice(hash + 1)
  if (text[hash] !== '#' || column === '') return { from: 'lines', file: text }
  return { from: 'csv', file: text.slice(0, hash), column: /^\d+$/.test(column) ? Number(column) : column }
}

function openSource(source: CheckedSeedSource, parts: SeedFileParts): SeedSource | SeedGroup {
  switch (source.from) {
    case 'lines':
      return linesSource(source.file)
    case 'csv':
      return csvSource(source.file, source.column)
    case 'sql':
      return sqlSource(source.address, source.query, parts)
    case 'range':
      return rangeSource(source)
    case 'sitemap':
    case 'feed':
      return listings(
        {
          urls: source.urls,
          sites: source.urls.length > 0 ? [] : sitesOf(parts.spider),
          since: source.since ?? null,
          ...(source.route !== undefined && { route: source.route }),
        },
        {
          openFetcher: () => openSeedFiles(parts),
          inScope: hostsOf(parts.spider),
          maxUrlLength: parts.spider.admit.maxUrlLength,
          now: () => parts.clock.now(),
          onProblem: (url, { code, message }) => parts.log.warn('seeds.skipped', { url: showUrl(url), code, message }),
        },
      )
  }
}

/** The sites whose robots.txt is read: the origins of the start URLs, and the hosts of the scope, of which nobody has said whether they speak https. */
function sitesOf({ start, admit }: Spider): string[] {
  const origins = start.flatMap((url) => parseUrl(url)?.origin ?? [])
  const known = new Set(origins.flatMap((origin) => [new URL(origin).host, new URL(origin).hostname]))
  const hosts = admit.hosts.filter((host) => !host.includes('*') && !known.has(host))
  const sites = [...new Set([...origins, ...hosts])]
  if (sites.length > 0) return sites
  throw new ShoalError('spider_invalid', 'seeds: sitemap() without a URL needs hosts, from `scope.hosts` or `start`')
}

function reportAdded(links: readonly Link[], log: Log): void {
  for (const { fp, url, route } of links) log.debug('link.added', { fp, url, route })
}

function refusals(log: Log): NonNullable<SeedOptions['onRefused']> {
  let refused = 0
  return (text, reason) => {
    refused++
    if (refused <= LOGGED) log.warn('link.refused', { seed: showUrl(text), reason })
    if (refused === LOGGED) log.warn('link.refused', { reason: 'further rejected start URLs are counted, not logged' })
  }
}
