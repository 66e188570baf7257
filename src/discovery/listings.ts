import { createHash } from 'node:crypto'
import type { SeedGroup, SeedNotes, SeedSource } from '../coordinator/seed-source.js'
import { asShoalError, ShoalError } from '../errors.js'
import { parseRobots, ROBOTS_MAX_BYTES } from '../politeness/robots.js'
import type { Seed } from '../spider/spider.js'
import { parseUrl } from '../url/parse-url.js'
import { withoutUserInfo } from '../url/show-url.js'
import { type ListingFile, readListing } from './read-listing.js'
import { unpack } from './unpack.js'

/** The protocol forbids an index of indexes, but they exist. */
const MAX_LEVELS = 4
/** Per crawl; the protocol allows 50,000 in one index. */
const MAX_FILES = 100_000
/** This many problems are reported one by one. */
const REPORTED = 20

/** Fetches files under the same rules as pages: guard, robots.txt, permits, retries. */
export interface FileFetcher {
  /** Rejects with the final failure. */
  get(url: string): Promise<ListingFile>
  close(): Promise<void>
}

export interface ListingParts {
  openFetcher(): Promise<FileFetcher>
  /** The URL is on a host that the spider visits. */
  inScope(url: string): boolean
  /** A longer URL passes no filter. */
  readonly maxUrlLength: number
  now(): number
  /** Called for what is skipped. */
  onProblem(url: string, error: ShoalError): void
}

export interface ListingOptions {
  /** Empty: the ones listed in robots.txt, on each of `sites`. */
  readonly urls: readonly string[]
  /** Origins; or hosts without a scheme, on which https is tried, and http where that is closed. */
  readonly sites: readonly string[]
  /** Pages known to be older are skipped: a time, or a duration before the crawl started. */
  readonly since: { readonly at: number } | { readonly agoMs: number } | null
  readonly route?: string
}

/** Sitemaps and feeds: each file is a source with its own cursor, and a file that was read completely is not fetched again. */
export function listings(options: ListingOptions, parts: ListingParts): SeedGroup {
  return {
    label: labelOf(options),
    async *sources(notes) {
      const files = await parts.openFetcher()
      try {
        yield* walk(options, parts, files, notes)
      } finally {
        await files.close()
      }
    },
  }
}

async function* walk(
  options: ListingOptions,
  parts: ListingParts,
  files: FileFetcher,
  notes: SeedNotes,
): AsyncGenerator<SeedSource> {
  const since = await sinceOf(options, parts, notes)
  const visited = new Set<string>()
  let crowded = false
  let problems = 0
  const isNewEnough = (modifiedAt: number | null) => since === null || modifiedAt === null || modifiedAt >= since

  /** True when nothing was skipped. */
  async function* visit(named: string, level: number, must: boolean): AsyncGenerator<SeedSource, boolean> {
    // It is stored as the name of the file while the file is read; a request never has user info.
    const url = withoutUserInfo(named)
    // Hashes, because an index may list a hundred thousand URLs of any length.
    const seen = hashOf(url)
    if (visited.has(seen)) return true
    if (visited.size >= MAX_FILES) {
      if (!crowded) problem(url, new ShoalError('too_large', `more than ${MAX_FILES} files of URLs`))
      crowded = true
      return true
    }
    visited.add(seen)
    // This is a key of the store, and URLs may be too long for one. The other options are part of it because they decide how the file is read.
    const key = hashOf(JSON.stringify([url, options.since, options.route ?? null]))
    const ended = `listing ${key}`
    if ((await notes.get(ended)) > 0) return true
    let file: ListingFile
    try {
      file = await files.get(url)
    } catch (error) {
      return passOver(url, error, must)
    }
    let whole = true
    try {
      if (file.url !== url) visited.add(hashOf(file.url))
      if (await isIndex(file)) {
        for await (const child of children(file, level)) whole = (yield* visit(child, level + 1, false)) && whole
      } else {
        yield {
          name: `listing ${key} ${file.spool.digest()}`,
          entries: () => pagesOf(file),
        }
      }
    } catch (error) {
      return passOver(url, error, must)
    } finally {
      file.spool.close()
    }
    if (whole) await notes.set(ended, 1)
    return whole
  }

  const problem = (url: string, error: ShoalError) => {
    problems++
    if (problems <= REPORTED) parts.onProblem(url, error)
    if (problems === REPORTED)
      parts.onProblem(url, new ShoalError(error.code, 'further skipped entries are not reported'))
  }

  /** A file that the user named must exist; one that another file names may be outdated. */
  const passOver = (url: string, thrown: unknown, must: boolean): false => {
    const error = asShoalError(thrown)
    if (isOurs(error)) throw thrown
    if (must) throw new ShoalError('seeds_unreadable', `${url}: ${error.message}`, { cause: error })
    problem(url, error)
    return false
  }

  async function* children(file: ListingFile, level: number): AsyncGenerator<string> {
    const home = parseUrl(file.url)?.host
    for await (const listed of readListing(file)) {
      for (const { url, modifiedAt } of listed) {
        if (!isNewEnough(modifiedAt)) continue
        const target = url.length > parts.maxUrlLength ? null : parseUrl(url)
        if (level >= MAX_LEVELS)
          problem(url, new ShoalError('bad_listing', `an index deeper than ${MAX_LEVELS} levels`))
        else if (url.length > parts.maxUrlLength)
          problem(
            url.slice(0, 100),
            new ShoalError('url_too_long', `it is longer than ${parts.maxUrlLength} characters`),
          )
        else if (target === null) problem(url, new ShoalError('bad_url', 'it is not a URL'))
        else if (target.host !== home && !parts.inScope(target.href))
          problem(url, new ShoalError('out_of_scope', `${file.url} lists a file on another host`))
        else yield target.href
      }
    }
  }

  async function* pagesOf(file: ListingFile): AsyncGenerator<Seed> {
    const { route } = options
    try {
      for await (const listed of readListing(file)) {
        for (const { url, modifiedAt } of listed) {
          if (isNewEnough(modifiedAt)) yield route === undefined ? url : { url, route }
        }
      }
    } catch (error) {
      // Truncated or broken in the middle: what came before counts.
      problem(file.url, asShoalError(error))
    }
  }

  for (const url of options.urls) yield* visit(url, 1, true)
  if (options.urls.length > 0) return
  for (const site of options.sites) {
    const { origin, named } = await namedOn(site, files)
    for (const url of named) yield* visit(url, 1, false)
    if (named.length === 0) yield* visit(`${origin}/sitemap.xml`, 1, false)
  }
}

function labelOf({ urls, sites }: ListingOptions): string {
  const [first, ...others] = urls.length > 0 ? urls.map(withoutUserInfo) : sites
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return urls.length > 0
    ? `sitemap or feed ${first}${more}`
    : `sitemaps of ${first}${more}: neither robots.txt nor /sitemap.xml has one`
}

/** What robots.txt says on https or, where nobody answers there, on http. */
async function namedOn(site: string, files: FileFetcher): Promise<{ origin: string; named: string[] }> {
  if (site.includes('://')) return { origin: site, named: (await namedByRobots(site, files)) ?? [] }
  const named = await namedByRobots(`https://${site}`, files)
  if (named !== null) return { origin: `https://${site}`, named }
  const plain = await namedByRobots(`http://${site}`, files)
  // Neither answers: what is reported is the one that should.
  return plain === null ? { origin: `https://${site}`, named: [] } : { origin: `http://${site}`, named: plain }
}

/** Nobody answered, or not in TLS. */
const CLOSED: ReadonlySet<string> = new Set(['connect_error', 'tls_error', 'timeout', 'robots_unreachable'])

/** Not the fault of the file: the next one would fail the same way. */
function isOurs({ code, next }: ShoalError): boolean {
  return next === 'backend' || ['aborted', 'internal', 'crawl_ended', 'not_found'].includes(code)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** Fixed once per crawl, so that the limit does not move when the crawl is resumed. */
async function sinceOf({ since }: ListingOptions, { now }: ListingParts, notes: SeedNotes): Promise<number | null> {
  if (since === null) return null
  if ('at' in since) return since.at
  const name = `since ${since.agoMs}`
  const noted = await notes.get(name)
  if (noted > 0) return noted
  const at = Math.max(1, now() - since.agoMs)
  await notes.set(name, at)
  return at
}

async function isIndex(file: ListingFile): Promise<boolean> {
  for await (const [first] of readListing(file)) return first?.kind === 'file'
  return false
}

/** Null: nobody answered. */
async function namedByRobots(site: string, files: FileFetcher): Promise<string[] | null> {
  let file: ListingFile
  try {
    file = await files.get(`${site}/robots.txt`)
  } catch (error) {
    const failure = asShoalError(error)
    if (isOurs(failure)) throw error
    return CLOSED.has(failure.code) ? null : []
  }
  try {
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of unpack(file.spool.read(), file.contentEncoding)) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > ROBOTS_MAX_BYTES) break
    }
    return parseRobots(Buffer.concat(pieces), '').sitemaps.flatMap((url) => parseUrl(url, `${site}/`)?.href ?? [])
  } catch {
    return []
  } finally {
    file.spool.close()
  }
}
