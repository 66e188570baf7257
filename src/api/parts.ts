import type { Clock } from '../clock.js'
import type { CrawlId, CrawlInfo, Frontier } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { Notes } from '../notes/notes.js'
import { type Details, audited as withAudit } from '../observe/audit-control.js'
import type { Monitor } from '../observe/metrics/monitor.js'
import type { ProxyLedger } from '../proxy/proxy-ledger.js'
import type { Spider } from '../spider/spider.js'
import type { RecordStore } from '../store/record-store.js'

export interface Begun {
  readonly crawl: CrawlId
  readonly resumed: boolean
  /** The unfinished crawl that was cancelled for a fresh one. */
  readonly setAside: Pick<CrawlInfo, 'id'> | null
}

/** What the API works on. */
export interface ApiParts {
  readonly backends: {
    readonly frontier: Frontier
    readonly notes: Notes
    readonly store: RecordStore
    readonly proxies: ProxyLedger
  }
  /** Addresses without secrets. */
  readonly queue: string
  readonly store: string
  /** Several machines may share the queue: workers are expected at any time. */
  readonly fleet: boolean
  readonly clock: Clock
  readonly log: Log
  /** Spiders that can be started from here, by name. */
  readonly spiders: ReadonlySet<string>
  /** The spider of a crawl as it is now, with the arguments of the crawl, if its file is known: for the history of a URL. */
  readonly spiderOf: (crawl: CrawlInfo) => Promise<Spider | null>
  /** Opens a crawl of one of them and adds its start URLs in the background. */
  readonly start: (spider: string, fresh: boolean) => Promise<Begun>
  /** For /metrics, /healthz and /readyz. */
  readonly monitor: Monitor
  /** Proxy pools of this process, in addition to those that workers report. */
  readonly pools: readonly string[]
}

/** Runs an action that was asked for on the dashboard and writes it to the audit log. */
export function audited<Answer>(
  { backends, clock, log }: ApiParts,
  { action, target, details = {} }: { readonly action: string; readonly target: string; readonly details?: Details },
  work: () => Promise<Answer>,
  outcome?: (answer: Answer) => Details,
): Promise<Answer> {
  return withAudit(
    { audit: backends.store.audit, clock, log, by: 'dashboard' },
    { action, target, details },
    work,
    outcome,
  )
}
