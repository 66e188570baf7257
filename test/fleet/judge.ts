import type { Violation } from '../chaos/checker.js'
import type { ShutDown } from '../chaos/fleet.js'
import type { Site } from '../chaos/site.js'
import type { SeenAccess } from '../support/access-log.js'

/**
 * What a fleet of real hosts is judged by beyond the invariants of the chaos runs (test/chaos/checker.ts). The site's log says which host
 * sent each request, so it says of every host when it fell silent, when it came back, and which fetches were one too many.
 */
export interface Outage {
  /** Name and address of the worker's host. */
  readonly worker: string
  readonly address: string
  readonly without: 'queue' | 'store' | 'site' | 'everything'
  /** Of the clock that the site's log uses. */
  readonly from: number
  /** Null: for ever. */
  readonly until: number | null
}

interface OutageFigures {
  readonly worker: string
  /** From the beginning of the outage to the last request of the host during it; 0 if there was none. */
  readonly silentAfterMs: number
  /** From the end of the outage to the first request of the host; null if it sent none before the crawl ended. */
  readonly backAfterMs: number | null
}

/**
 * A worker without its queue may send what it holds permits for, which expire after two seconds, and finish what it has begun. It must be
 * silent before others take over its pages, which is `--lost-after`, 10 s.
 */
const SILENT_WITHOUT_QUEUE_MS = 5_000
/** Packets that were under way. */
const SILENT_WITHOUT_CABLE_MS = 500
/** A connection that is silent is given up after 5 s (queue) and tried again every second. */
const BACK_WITHIN_MS: Record<Outage['without'], number> = {
  queue: 10_000,
  everything: 15_000,
  store: 20_000,
  // A connection attempt takes 10 s until it fails.
  site: 15_000,
}
/** A page fetched so shortly before the outage may not have been settled. */
const UNSETTLED_MS = 5_000

export interface SiteLogVerdict {
  readonly violations: Violation[]
  readonly outages: readonly OutageFigures[]
  /** Fetches more than a crawl without accidents needs, all of them explained unless there is a violation. */
  readonly refetched: number
}

export function judgeSiteLog(
  site: Site,
  accesses: readonly SeenAccess[],
  outages: readonly Outage[],
  slackMs = 0,
): SiteLogVerdict {
  const violations: Violation[] = []
  const figures = outages.map((outage): OutageFigures => {
    const own = accesses.filter(({ from }) => from === outage.address).sort((a, b) => a.t - b.t)
    const { worker, silentAfterMs, backAfterMs } = { worker: outage.worker, ...gapsOf(own, outage) }
    const limit = silenceLimit(outage)
    if (limit !== null && silentAfterMs > limit + slackMs)
      violations.push({
        invariant: 'I9',
        detail: `${worker} without ${outage.without}: still sent a request after ${silentAfterMs.toFixed(0)} ms: ${lineOf(lastDuring(own, outage))}`,
      })
    const lastAt = accesses.reduce((latest, { t }) => Math.max(latest, t), 0)
    const bound = BACK_WITHIN_MS[outage.without] + slackMs
    const { until } = outage
    if (until !== null && (backAfterMs ?? Number.POSITIVE_INFINITY) > bound && lastAt > until + bound)
      violations.push({
        invariant: 'I11',
        detail: `${worker} without ${outage.without}: back after ${backAfterMs === null ? 'never' : `${backAfterMs.toFixed(0)} ms`}, the limit is ${bound} ms`,
      })
    return { worker, silentAfterMs, backAfterMs }
  })
  const again = refetches(site, accesses, outages)
  return { violations: [...violations, ...again.violations], outages: figures, refetched: again.count }
}

/** Null where a worker may fetch on: what it has fetched waits for the store. */
function silenceLimit({ without }: Outage): number | null {
  if (without === 'store') return null
  return without === 'queue' ? SILENT_WITHOUT_QUEUE_MS : SILENT_WITHOUT_CABLE_MS
}

function gapsOf(own: readonly SeenAccess[], outage: Outage): Omit<OutageFigures, 'worker'> {
  const last = lastDuring(own, outage)
  const { from, until } = outage
  const back = until === null ? undefined : own.find(({ t }) => t > until)
  return {
    silentAfterMs: last === undefined ? 0 : last.t - from,
    backAfterMs: until === null || back === undefined ? null : back.t - until,
  }
}

function lastDuring(own: readonly SeenAccess[], { from, until }: Outage): SeenAccess | undefined {
  return own.filter(({ t }) => t > from && t <= (until ?? Number.POSITIVE_INFINITY)).at(-1)
}

/** Each fetch too many of a page needs a fetch of the same page by a host that was in trouble then. */
function refetches(site: Site, accesses: readonly SeenAccess[], outages: readonly Outage[]) {
  const byUrl = new Map<string, SeenAccess[]>()
  for (const access of accesses) {
    const url = `http://${access.host}:${site.options.port}${access.path}`
    const seen = byUrl.get(url)
    if (seen === undefined) byUrl.set(url, [access])
    else seen.push(access)
  }
  const troubled = ({ from, t }: SeenAccess) =>
    outages.some(
      (outage) =>
        outage.address === from &&
        t > outage.from - UNSETTLED_MS &&
        t < (outage.until ?? Number.POSITIVE_INFINITY) + UNSETTLED_MS,
    )
  const violations: Violation[] = []
  let count = 0
  for (const [url, { fetches }] of site.urls) {
    const seen = byUrl.get(url) ?? []
    const extra = seen.length - fetches
    if (extra <= 0) continue
    count += extra
    if (extra <= seen.filter(troubled).length) continue
    violations.push({
      invariant: 'I8',
      detail: `${url}: ${seen.length} fetches, ${fetches} needed, and no fault explains it: ${seen.map(lineOf).join('; ')}`,
    })
  }
  return { count, violations }
}

function lineOf(access: SeenAccess | undefined): string {
  return access === undefined ? '' : `${access.from} at ${access.t.toFixed(0)} ${access.path} (${access.status})`
}

/** After SIGTERM every worker ends with 0, also one that reaches nothing. */
export function judgeEnds(ends: readonly ShutDown[], workers: readonly { readonly name: string }[]): Violation[] {
  return workers.flatMap(({ name }, slot): Violation[] => {
    const end = ends.find((other) => other.slot === slot)
    if (end?.exit === 0) return []
    const how = end === undefined ? 'was not running' : `ended with ${end.exit} after ${(end.ms / 1000).toFixed(1)} s`
    return [{ invariant: 'I11', detail: `${name}: ${how} when it was asked to stop` }]
  })
}
