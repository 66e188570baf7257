import type { CrawlId, CrawlInfo, CrawlState, HostInfo, LinkInfo, LinkState } from '../../frontier/frontier.js'
import type { Spider } from '../../spider/spider.js'
import type { FetchRow } from '../../store/record-store.js'
import { SCREENSHOT_HEADER } from '../../store/rows.js'
import type { Json } from '../../url/link.js'
import { type Evidence, gatherEvidence, type HistoryBackends } from './evidence.js'
import { nextSlot } from './next-slot.js'
import { preview } from './preview.js'
import { admittedBy, whyThere } from './why-there.js'

/** The whole history of a URL, for the terminal, for programs and for the dashboard. */
export interface UrlHistory {
  /** As the user wrote it, and in canonical form. */
  readonly asked: string
  readonly url: string
  readonly fp: string
  readonly crawl: string
  readonly spider: string
  readonly crawlState: CrawlState
  readonly state: LinkState | 'unknown'
  /** Why it is in this state: sentences for people, most important first. */
  readonly why: readonly string[]
  /** How it was found (a start URL, or on a page at some depth), its route and the pattern that chose it. */
  readonly admitted: {
    readonly by: string
    readonly route: string
    readonly depth: number
    readonly priority: number
  } | null
  /** Links of its host ahead of it; null unless queued. */
  readonly position: number | null
  readonly host: HostInfo | null
  /** When the host's next slot is, and why. */
  readonly nextSlot: string | null
  readonly link: LinkInfo | null
  /** Oldest first. */
  readonly attempts: readonly UrlAttempt[]
  readonly records: readonly {
    readonly kind: string
    readonly key: string
    readonly changedAt: number
    readonly data: Json
  }[]
  /** Commands or buttons that make sense now. */
  readonly can: readonly ('replay' | 'promote' | 'retry' | 'remove')[]
}

export interface UrlAttempt {
  readonly at: number
  /** 0: it ended without a request. */
  readonly attempt: number
  /** '': not known. */
  readonly worker: string
  /** 0: no response. */
  readonly status: number
  readonly ms: number
  readonly bytes: number
  /** Pool/proxy; null: none. */
  readonly proxy: string | null
  /** Code and message; null: it succeeded. */
  readonly error: { readonly code: string; readonly message: string } | null
  /** A raw page or a screenshot was kept. */
  readonly page: boolean
}

export interface UrlHistoryQuery {
  readonly crawl: CrawlId
  readonly url: string
  /** Missing or null: not known here; then the route's pattern is not given, nor why an unknown URL is rejected. */
  readonly spider?: Spider | null
  readonly now: number
}

/** In one crawl. Fails with `not_found` when there is no such crawl, and with `bad_url` or `bad_scheme`. */
export async function readUrlHistory(
  backends: HistoryBackends,
  { crawl, url, spider = null, now }: UrlHistoryQuery,
): Promise<UrlHistory> {
  const stats = await backends.frontier.stats(crawl)
  return urlHistoryOf(await gatherEvidence(backends, [stats], url, async () => spider, now), stats, now)
}

/** Pure. `crawl`: the one that was searched, for a URL that no crawl has. */
export function urlHistoryOf(evidence: Evidence, crawl: CrawlInfo, now: number): UrlHistory {
  const { asked, found, records } = evidence
  const known = found.kind === 'known' ? found.where : null
  const link = known?.link ?? null
  const host = known !== null && known.link !== null ? known.host : null
  const of = found.kind === 'never' ? (found.judged?.crawl ?? crawl) : found.crawl
  const { url, fp } = found.kind === 'never' ? (found.judged?.target ?? found.target) : found.target
  return {
    ...{ asked, url, fp, crawl: of.id, spider: of.spider, crawlState: known?.crawlState ?? of.state },
    state: known?.state ?? 'unknown',
    why: whyThere(evidence, now),
    admitted: link === null ? null : { by: admittedBy(link, evidence.spider), ...pick(link) },
    position: known !== null && known.link !== null ? known.position : null,
    host,
    nextSlot: host === null ? null : nextSlot(host, now),
    link,
    attempts: attemptsOf(link?.failures ?? [], evidence.fetches),
    records: records.map(({ kind, key, updatedAt, data }) => ({
      kind,
      key,
      changedAt: updatedAt,
      data: preview(data),
    })),
    can: known === null ? [] : canBeDone(known.state, known.crawlState),
  }
}

function pick({ route, depth, priority }: LinkInfo) {
  return { route, depth, priority }
}

/** What a user can do with a link in this state. */
function canBeDone(state: LinkState, crawlState: CrawlState): UrlHistory['can'] {
  if (crawlState === 'cancelled') return []
  if (state === 'queued') return ['promote', 'remove']
  if (state === 'delayed') return ['promote', 'retry', 'remove']
  return state === 'dead' ? ['replay', 'remove'] : []
}

/**
 * Requests with the errors that the queue kept, oldest first. Their clocks may differ, so they are matched by code, newest first; an error
 * without a request is an attempt of its own.
 */
export function attemptsOf(failures: LinkInfo['failures'], fetches: readonly FetchRow[]): UrlAttempt[] {
  const newestFirst = [...fetches].sort((a, b) => b.at - a.at)
  const messages = new Map<FetchRow, string>()
  const alone: UrlAttempt[] = []
  for (const { code, message, at } of [...failures].reverse()) {
    const row = newestFirst.find((one) => one.error === code && !messages.has(one))
    if (row !== undefined) messages.set(row, message)
    else alone.push({ ...NO_REQUEST, at, error: { code, message } })
  }
  const asked = newestFirst.map((row): UrlAttempt => {
    const { at, attempt, worker, status, ms, bytes, error, headers } = row
    return {
      ...{ at, attempt, worker, status, ms, bytes, proxy: row.pool },
      error: error === null ? null : { code: error, message: messages.get(row) ?? '' },
      page: row.page !== null || headers?.[SCREENSHOT_HEADER] !== undefined,
    }
  })
  return [...asked, ...alone].sort((a, b) => a.at - b.at)
}

const NO_REQUEST = { attempt: 0, worker: '', status: 0, ms: 0, bytes: 0, proxy: null, page: false } as const
