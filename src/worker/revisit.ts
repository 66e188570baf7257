import { hash } from 'node:crypto'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Lease } from '../frontier/frontier.js'
import type { Harvest, Spider } from '../spider/spider.js'
import type { ConfirmedRecord, FetchRow, WriteBatch } from '../store/record-store.js'
import type { LastVisit, VisitResult, VisitRow } from '../store/visits.js'
import { hostIn, siteOf } from '../url/host.js'
import type { Link, RequestExtras } from '../url/link.js'
import { type PageMemo, packMemo, unpackMemo } from './page-memo.js'

/** A page that was visited before: the conditional request, and what follows from the response. */

/** The last visit of a page, with what this one would give if nothing changed. */
export interface Known {
  readonly last: LastVisit
  readonly memo: PageMemo
}

/** Null: never visited, or the spider's code has changed since and may read the page differently, so that all of it is needed. */
export function knownPage(last: LastVisit | null, spider: Pick<Spider, 'hash'>, link: Link): Known | null {
  if (last === null || last.readAs !== readAs(spider, link)) return null
  const memo = unpackMemo(last.memo)
  return memo === null ? null : { last, memo }
}

/** A hash of the spider's code and of everything but the page that its handler gets. */
export function readAs({ hash: code }: Pick<Spider, 'hash'>, { route, data, request }: Link): string {
  return digest(JSON.stringify([code, route, data ?? null, request ?? null]))
}

export function bodyHash(body: Uint8Array): string {
  return digest(body)
}

function digest(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex').slice(0, 32)
}

const MOST_ETAG = 512
const MOST_DATE = 64
const PRINTABLE = /^[\x20-\x7e]+$/

/** As the server sent them. What cannot be sent back as one header, or is no validator, is left out. */
export function validatorsOf({
  headers,
  rendered,
}: Pick<FetchResponse, 'headers' | 'rendered'>): Pick<LastVisit, 'etag' | 'lastModified'> {
  // `Vary: *` depends on more than a request can say, and a rendered page on more than its response.
  if (headers.vary?.includes('*') || rendered !== undefined) return { etag: null, lastModified: null }
  const sendable = (text: string | undefined, most: number) =>
    text !== undefined && text.length <= most && PRINTABLE.test(text) ? text : null
  return { etag: sendable(headers.etag, MOST_ETAG), lastModified: sendable(headers['last-modified'], MOST_DATE) }
}

/**
 * The headers of a conditional request; null: the request is not conditional. Validators go only to the URL that they came from, never along
 * a redirect, and only with a plain GET. A spider that sets such headers itself is left alone.
 */
export function conditional(
  known: Known | null,
  url: string,
  { method = 'GET' }: RequestExtras,
  headers: Readonly<Record<string, string>>,
): Record<string, string> | null {
  if (known === null || known.last.url !== url || method !== 'GET') return null
  if ('if-none-match' in headers || 'if-modified-since' in headers) return null
  const { etag, lastModified } = known.last
  if (etag === null && lastModified === null) return null
  return {
    ...headers,
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  }
}

type Reading = Pick<Lease, 'crawl' | 'gen' | 'epoch' | 'link'>

/** What is written for a page that did not change: its records are confirmed, and the next crawl compares with this visit. */
export function unchangedBatch(
  { last, memo }: Known,
  result: Extract<VisitResult, 'notModified' | 'sameBody'>,
  fetched: FetchRow,
  { crawl, gen, epoch, link: { url } }: Reading,
  response: FetchResponse,
): WriteBatch {
  const { spider, at } = fetched
  const site = siteOf(hostIn(url))
  const confirmed = memo.records.map(
    ([kind, key]): ConfirmedRecord => ({ spider, site, kind, key, crawl, gen, epoch, scrapedAt: at }),
  )
  const sent = validatorsOf(response)
  // A 304 need not repeat the validators of its request.
  const validators =
    result === 'sameBody'
      ? sent
      : { etag: sent.etag ?? last.etag, lastModified: sent.lastModified ?? last.lastModified }
  const visit: VisitRow = { ...last, ...validators, spider, crawl, gen, epoch, at, result }
  // The stored page is the current one: `reparse` must find it under the lease that its records have now.
  const kept = result === 'notModified' && last.page !== null ? { page: last.page, headers: memo.headers } : {}
  return { records: [], rejected: [], fetches: [{ ...fetched, ...kept }], visits: [visit], confirmed }
}

/** The visit of a page that was handled; none when its links take too much space to remember. */
export function visitRows(
  last: LastVisit | null,
  body: LastVisit['bodyHash'],
  harvest: Harvest,
  response: FetchResponse,
  fetched: FetchRow,
  { crawl, gen, epoch, link }: Reading,
  spider: Pick<Spider, 'hash' | 'maxLinksPerPage'>,
): VisitRow[] {
  const memo = packMemo(harvest, spider.maxLinksPerPage, fetched.headers)
  if (memo === null) return []
  return [
    {
      ...{ spider: fetched.spider, fp: link.fp, crawl, gen, epoch, at: fetched.at, url: response.url },
      ...validatorsOf(response),
      ...{ bodyHash: body, readAs: readAs(spider, link), page: null, memo },
      result: last === null ? 'new' : 'changed',
    },
  ]
}
