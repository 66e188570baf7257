import { createRequire } from 'node:module'
import { readContentType } from './content-type.js'
import type { FetchResponse } from './fetcher.js'

const require = createRequire(import.meta.url)

/** Types that say nothing: browsers look at the bytes. */
const UNKNOWN: ReadonlySet<string | null> = new Set([null, 'unknown/unknown', 'application/unknown', '*/*'])

/** What old versions of Apache sent for every file they did not know, letter by letter: it may be anything. */
const APACHE_DEFAULTS: ReadonlySet<string> = new Set([
  'text/plain',
  'text/plain; charset=ISO-8859-1',
  'text/plain; charset=iso-8859-1',
  'text/plain; charset=UTF-8',
])

/**
 * The type of a response as browsers see it: the one that the header names, or, if that says nothing, what the bytes look like (MIME Sniffing standard).
 * So HTML under `application/unknown` is HTML, and a zip file under `text/plain` is not text. HTML under `text/plain` stays text.
 */
export function mediaTypeOf({ headers, body }: Pick<FetchResponse, 'headers' | 'body'>): string {
  const header = headers['content-type']
  const { essence } = readContentType(header)
  // For images, audio and video the bytes would only say which kind of them it is, which nobody here needs.
  if (essence !== null && !UNKNOWN.has(essence) && !(header !== undefined && APACHE_DEFAULTS.has(header)))
    return essence
  const { computedMIMEType } = require('whatwg-mimetype') as typeof import('whatwg-mimetype')
  const noSniff = isNoSniff(headers['x-content-type-options'])
  return computedMIMEType(body, { noSniff, ...(essence !== null && { contentTypeHeader: header }) }).essence
}

/** For a response whose body is not there yet: null if only the body will show it. */
export function declaredType(header: string | undefined): string | null {
  const { essence } = readContentType(header)
  return UNKNOWN.has(essence) ? null : essence
}

/** Only the first value counts. */
function isNoSniff(header: string | undefined): boolean {
  return header !== undefined && header.split(',', 1)[0]?.trim().toLowerCase() === 'nosniff'
}

export function isHtml(type: string): boolean {
  return type === 'text/html'
}

/** What a browser parses as XML: XHTML, feeds, SVG. */
export function isXml(type: string): boolean {
  return type.endsWith('+xml') || type === 'text/xml' || type === 'application/xml'
}

/** Text, an image or a JSON file has no tags to scan for. */
export function hasTags(type: string): boolean {
  return isHtml(type) || isXml(type)
}
