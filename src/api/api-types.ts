import type { Estimate } from '../coordinator/eta.js'
import type { CrawlStats, HostInfo, LinkInfo, LinkState, WorkerInfo } from '../frontier/frontier.js'
import type { Alert, AlertNotes } from '../observe/alerts/alert.js'
import type { UrlHistory } from '../observe/explain/url-history.js'
import type { Sample, Span } from '../observe/series/series.js'
import type { Advice } from '../observe/snapshots/advice.js'
import type { WorkerState } from '../observe/snapshots/health.js'
import type { Trouble } from '../observe/trouble.js'
import type { SlotLimit } from '../observe/vitals/vitals.js'
import type { AuditEntry } from '../store/audit.js'
import type { PlainRecord } from '../store/rows.js'
import type { DescribedLinks } from '../url/filter-reasons.js'

/**
 * The API of the dashboard. Every response is JSON; every list is paged (`next`: the cursor of the next page, null on the last one); an error is
 * { error: { code, message, hint } } with a status of 400 and above. Times are milliseconds by the queue's clock.
 *
 *   GET  /api/overview                                  Overview
 *   GET  /api/events?crawl=<id>                         server-sent events, every second: `overview` (Overview), and with a crawl `crawl` (CrawlView);
 *                                                       `problem` (ApiError) instead while the queue is down or the crawl is gone;
 *                                                       `bye` ({}) at the end, when the command that serves it ends
 *   GET  /api/crawls?limit&after                        Page<CrawlCard>, newest first
 *   POST /api/crawls                                    StartOrder → Started
 *   GET  /api/crawls/:crawl                             CrawlView
 *   POST /api/crawls/:crawl/{pause|resume|cancel}       {} → Done
 *   GET  /api/crawls/:crawl/series?span=30m|24h         SeriesView
 *   GET  /api/crawls/:crawl/hosts?limit&after&order=busiest|name&begins=   Page<HostView>; the busiest are one page
 *   PUT  /api/hosts/:host                               HostOrder → HostDone  (a pace applies to all crawls)
 *   GET  /api/crawls/:crawl/links?state&host&code&limit&after   Page<LinkView>; a page may be short, or empty, and not the last
 *   POST /api/crawls/:crawl/links/:fp/{promote|retry|remove}    LinkOrder → Done
 *   GET  /api/crawls/:crawl/dead                        DeadView
 *   POST /api/crawls/:crawl/dead/{replay|purge}         DeadOrder → Counted
 *   GET  /api/crawls/:crawl/explain?url=                UrlHistory
 *   GET  /api/workers                                   WorkersView
 *   POST /api/workers/:worker/drain                     {} → Done
 *   GET  /api/proxies                                   ProxiesView
 *   GET  /api/proxies/:pool?limit&after                 Page<ProxyView>
 *   POST /api/proxies/:pool/:proxy/wake                  {} → Done
 *   GET  /api/records?spider&kind&text&limit&after      RecordsPage
 *   GET  /api/alerts                                    AlertNotes
 *   GET  /api/audit?limit&after                         Page<AuditEntry>, newest first
 *   GET  /api/openapi.json                              this, as OpenAPI 3.1
 *
 * Probes need no token and expose no secrets: GET /healthz and /readyz; the page itself, which contains no data, needs none either. /metrics is like the API. The token is sent as
 * `Authorization: Bearer …` and nowhere else; the page takes it from after the # of its address and keeps it for the tab.
 */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

export interface ApiError {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string }
}

export interface Overview {
  readonly now: number
  readonly version: string
  /** Without secrets. */
  readonly queue: string
  readonly store: string
  readonly health: {
    readonly ok: boolean
    readonly stalled: readonly { readonly crawl: string; readonly forMs: number }[]
  }
  /** The newest, at most 50; /api/crawls has the rest. */
  readonly crawls: readonly CrawlCard[]
  readonly workers: { readonly alive: number; readonly missing: number; readonly busy: number; readonly slots: number }
  readonly alerts: readonly Alert[]
  /** Spiders that can be started from here, by name. */
  readonly spiders: readonly string[]
}

export interface CrawlCard {
  readonly stats: CrawlStats
  readonly estimate: Estimate
  readonly advice: Advice | null
  /** Pages per second over the last minutes, oldest first, for a sparkline; empty without samples. */
  readonly spark: readonly number[]
  /** Why not all start URLs could be added in the background; null: no problem is known. */
  readonly trouble: Trouble | null
}

export interface CrawlView extends CrawlCard {
  readonly now: number
  readonly latest: Sample | null
  readonly kinds: readonly KindView[]
  readonly limits: { readonly delayMs: number; readonly concurrency: number } | null
  readonly budget: {
    readonly pages: number | null
    readonly pagesPerHost: number | null
    readonly bytes: number | null
    readonly ms: number | null
  } | null
  /** Links that the filter changed or rejected, most frequent reason first, with words for people. */
  readonly filtered: readonly DescribedLinks[]
  readonly alerts: readonly Alert[]
  /** How many live workers have the spider, and which have another version of it. */
  readonly holders: { readonly holders: number; readonly otherVersion: readonly string[] }
  /** Responses by status and errors by code, over all live workers. */
  readonly statuses: Readonly<Record<string, number>>
  readonly errors: Readonly<Record<string, number>>
}

export interface KindView {
  readonly kind: string
  readonly written: number
  readonly unchanged: number
  readonly rejected: number
  /** Share of records in which the field is filled, 0 … 1, worst first; at most 20. */
  readonly fields: readonly { readonly field: string; readonly filled: number }[]
}

export interface SeriesView {
  readonly span: Span
  readonly everyMs: number
  /** Oldest first. */
  readonly samples: readonly Sample[]
}

export interface HostView extends HostInfo {
  /** When the next slot is, and why: a sentence. */
  readonly nextSlot: string
  readonly budget: { readonly used: number; readonly of: number | null }
}

/** Missing: unchanged; null: back to the spider's pace. `blocked`: no requests until it is unblocked. */
export interface HostOrder {
  readonly delayMs?: number | null
  readonly concurrency?: number | null
  readonly blocked?: boolean
}

export interface LinkView extends LinkInfo {
  /** How long it has been in flight; null unless leased. */
  readonly ageMs: number | null
  /** Pool/proxy of a leased link, if its worker reports it; null: none, or not known. */
  readonly proxy: string | null
}
export type { LinkState }

export interface LinkOrder {
  /** The link's pace key, as in the list. */
  readonly host: string
}

export interface DeadView {
  readonly groups: readonly {
    readonly code: string
    readonly count: number
    readonly sample: string
    /** Different messages, each with one page that has it; empty for the rarer codes. */
    readonly examples: readonly { readonly message: string; readonly url: string }[]
    readonly hint: string
  }[]
}

export interface DeadOrder {
  readonly fp?: string
  readonly code?: string
  readonly host?: string
}

export interface WorkersView {
  readonly now: number
  readonly workers: readonly WorkerView[]
}

export interface WorkerView extends WorkerInfo {
  readonly state: WorkerState
  readonly rate: number
  readonly rssBytes: number | null
  readonly loopBusy: number | null
  readonly loopLagMs: number | null
  readonly slots: number | null
  /** Its ceiling, and why it has no more slots than it has. */
  readonly slotsMost: number | null
  readonly slotsBecause: SlotLimit | null
  readonly busy: number | null
  /** It was asked to stop. */
  readonly draining: boolean
}

export interface ProxiesView {
  readonly pools: readonly {
    readonly pool: string
    readonly proxies: number
    readonly resting: number
    readonly good: number
    readonly bad: number
    /** There are more than were counted. */
    readonly more: boolean
  }[]
}

export interface ProxyView {
  readonly proxy: string
  readonly good: number
  readonly neutral: number
  readonly banned: number
  readonly broken: number
  readonly inFlight: number
  readonly p50Ms: number | null
  readonly p90Ms: number | null
  readonly restsUntil: number | null
  readonly cost: number
  /** By registrable domain, worst first; at most 20. */
  readonly sites: readonly {
    readonly site: string
    readonly good: number
    readonly bad: number
    readonly restsUntil: number | null
  }[]
}

export interface RecordView extends PlainRecord {
  readonly changedAt: number
}

export interface RecordsPage extends Page<RecordView> {
  /** Records read for this page: a search stops after a while and continues from `next`. */
  readonly searched: number
  readonly kinds: readonly { readonly spider: string; readonly kind: string; readonly count: number }[]
}

export interface Started {
  readonly crawl: string
  readonly resumed: boolean
  /** The unfinished crawl that was cancelled for a fresh one; null: there was none, or it was resumed. */
  readonly setAside: string | null
}

export interface Done {
  readonly ok: true
}

export interface HostDone extends Done {
  /** Whether a crawl has links of it. False: it applies to links that may come; the name may be misspelt. */
  readonly known: boolean
}

export interface Counted {
  readonly count: number
}

export type { AlertNotes, AuditEntry, UrlHistory }
