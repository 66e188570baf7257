import { hash } from 'node:crypto'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Lease } from '../frontier/frontier.js'
import type { Harvest, Spider } from '../spider/spider.js'
import type { ConfirmedRecord, FetchRow, WriteBatch } from '../store/record-store.js'
import type { LastVisit, VisitResult, VisitRow } from '../store/visits.js'
import { hostIn, siteOf } from '../url/host.js'
import type { Link, RequestExtras } from '../url/link.js'
import { type PageMemo, packMemo, unpackMemo } from './page-memo.js'

/** A page that was visited before: what is asked of its server, and what follows from the answer. */

/** The last visit of a page, where it says what this one would give if nothing changed. */
export interface Known {
  readonly last: LastVisit
  readonly memo: PageMemo
}

/** Null: never visited, or another reader makes something else of the same page, so that the whole page is needed. */
export function knownPage(last: LastVisit | null, spider: Pick<Spider, 'hash'>, link: Link): Known | null {
  if (last === null || last.readAs !== readAs(spider, link)) return null
  const memo = unpackMemo(last.memo)
  return memo === null ? null : { last, memo }
}

/** The spider's code, and what the handler is told beside the page. */
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

/** As the server gave them. What could not be sent back as one header, or would be no validator, is left out. */
export function validatorsOf({
  headers,
  rendered,
}: Pick<FetchResponse, 'headers' | 'rendered'>): Pick<LastVisit, 'etag' | 'lastModified'> {
  // The answer depends on more than any request can say, or the page on more than the answer.
  if (headers.vary?.includes('*') || rendered !== undefined) return { etag: null, lastModified: null }
  const sendable = (text: string | undefined, most: number) =>
    text !== undefined && text.length <= most && PRINTABLE.test(text) ? text : null
  return { etag: sendable(headers.etag, MOST_ETAG), lastModified: sendable(headers['last-modified'], MOST_DATE) }
}

/**
 * The headers that ask for the page only if it changed; null: it is asked for as ever. Validators go to the very URL that gave them, never
 * along a redirect, and only with a plain GET. Whoever sets such headers himself is left alone.
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

/** What is written for a page that did not change: its records are confirmed, and the visit stands for the next crawl. */
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
  const told = validatorsOf(response)
  // A 304 need not repeat what it was asked with.
  const validators =
    result === 'sameBody'
      ? told
      : { etag: told.etag ?? last.etag, lastModified: told.lastModified ?? last.lastModified }
  const visit: VisitRow = { ...last, ...validators, spider, crawl, gen, epoch, at, result }
  // The page that was kept is the page as it is: whoever reads it again finds it under the lease that its records have now.
  const kept = result === 'notModified' && last.page !== null ? { page: last.page, headers: memo.headers } : {}
  return { records: [], rejected: [], fetches: [{ ...fetched, ...kept }], visits: [visit], confirmed }
}

/** The visit of a page that was read; none when there is too much to remember. */
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
