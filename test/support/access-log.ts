import type { AccessEntry } from '../../src/demo/access-log.js'
import type { SitePage } from '../../src/demo/shop.js'

export { type AccessEntry, parseAccessLog, readAccessLog } from '../../src/demo/access-log.js'

/**
 * Politeness and duplicate fetches, judged by what the site saw and by nothing that Shoal says of itself. Every request counts:
 * robots.txt, redirect hops, retries.
 */
export interface SeenAccess extends AccessEntry {
  /** The server stood still before it noted the request, which may have come as early as this. */
  readonly early?: number
  /** Address of the client, where the site knows it. */
  readonly from?: string
}

export interface PolitenessRules {
  readonly delayMs: number
  readonly concurrency: number
  /** Share of the delay that a gap may not go below. Default 0.9. */
  readonly tolerance?: number
  /** What the site asks for with its 429s; without it they are not looked at. */
  readonly retryAfterMs?: number
}

interface HostPoliteness {
  readonly host: string
  readonly requests: number
  /** Infinity with fewer than two requests. */
  readonly minGapMs: number
  readonly shortGaps: number
  readonly maxConcurrent: number
  readonly violations: readonly string[]
}

export interface Politeness {
  readonly requests: number
  readonly minGapMs: number
  readonly maxConcurrent: number
  readonly violations: readonly string[]
  readonly hosts: readonly HostPoliteness[]
}

/** With several requests at once, arrivals jitter: one gap in a thousand may be short, none below half. */
const SHORT_SHARE = 0.001
/** Requests already on their way when a 429 goes out. */
const REACTION_MS = 100

export function checkPoliteness(entries: readonly SeenAccess[], rules: PolitenessRules): Politeness {
  const hosts = [...groupBy(entries, (entry) => entry.host)].map(([host, ofHost]) => checkHost(host, ofHost, rules))
  return {
    requests: entries.length,
    minGapMs: Math.min(Number.POSITIVE_INFINITY, ...hosts.map((host) => host.minGapMs)),
    maxConcurrent: Math.max(0, ...hosts.map((host) => host.maxConcurrent)),
    violations: hosts.flatMap((host) => host.violations),
    hosts,
  }
}

function checkHost(host: string, unsorted: readonly SeenAccess[], rules: PolitenessRules): HostPoliteness {
  const entries = [...unsorted].sort((a, b) => a.t - b.t)
  const violations: string[] = []
  const least = rules.delayMs * (rules.tolerance ?? 0.9)
  const short: { gap: number; line: string }[] = []
  let minGapMs = Number.POSITIVE_INFINITY
  for (const [index, entry] of entries.entries()) {
    const before = entries[index - 1]
    if (before === undefined) continue
    const gap = entry.t - (before.early ?? before.t)
    minGapMs = Math.min(minGapMs, gap)
    if (gap < least)
      short.push({
        gap,
        line: `${host}: ${gap.toFixed(1)} ms between ${before.path} and ${entry.path}, the delay is ${rules.delayMs} ms`,
      })
  }
  const pardoned = rules.concurrency > 1 && short.length <= (entries.length - 1) * SHORT_SHARE
  for (const { gap, line } of short) if (!pardoned || gap < rules.delayMs / 2) violations.push(line)

  const maxConcurrent = mostAtOnce(entries)
  if (maxConcurrent > rules.concurrency)
    violations.push(`${host}: ${maxConcurrent} requests at once, the limit is ${rules.concurrency}`)
  if (rules.retryAfterMs !== undefined) violations.push(...ignoredThrottles(host, entries, rules.retryAfterMs))
  return { host, requests: entries.length, minGapMs, shortGaps: short.length, maxConcurrent, violations }
}

/** A request that the server did not live to answer ended with the last sign of life of that server. */
function mostAtOnce(entries: readonly AccessEntry[]): number {
  const lastSign = new Map<number, number>()
  for (const { run, t, end } of entries) lastSign.set(run, Math.max(lastSign.get(run) ?? 0, t, end ?? 0))
  const steps = entries.flatMap((entry) => [
    { at: entry.t, by: 1 },
    { at: Math.max(entry.t, entry.end ?? lastSign.get(entry.run) ?? entry.t), by: -1 },
  ])
  // One that ends in the moment in which another starts is over: ends come first.
  steps.sort((a, b) => a.at - b.at || a.by - b.by)
  let now = 0
  let most = 0
  for (const { by } of steps) {
    now += by
    most = Math.max(most, now)
  }
  return most
}

function ignoredThrottles(host: string, entries: readonly AccessEntry[], retryAfterMs: number): string[] {
  return entries
    .filter((entry) => entry.status === 429)
    .flatMap((refused) => {
      const from = (refused.end ?? refused.t) + REACTION_MS
      const until = (refused.end ?? refused.t) + retryAfterMs
      return entries
        .filter((entry) => entry.t > from && entry.t < until)
        .map(
          (entry) =>
            `${host}: ${entry.path} was asked for ${(until - entry.t).toFixed(0)} ms before the pause asked for by a 429 was over`,
        )
    })
}

export interface FetchRules {
  /** Retries of a page that keeps failing: it must be asked for this often again, and no more. */
  readonly retries: number
  /** Requests that were under way at kills of the crawl, all kills together: each may have been made again. */
  readonly inFlightAtKills: number
}

export interface Fetches {
  /** Of pages of the site; robots.txt and the sitemap are not among them. */
  readonly fetches: number
  /** What a crawl without any accident needs. */
  readonly needed: number
  /** More fetches than needed, page by page; a redirect and its target fetched again together are one visit made again. */
  readonly extra: number
  readonly robots: number
  readonly violations: readonly string[]
}

const APART = new Set(['/robots.txt', '/sitemap.xml'])

export function checkFetches(entries: readonly AccessEntry[], site: readonly SitePage[], rules: FetchRules): Fetches {
  const byPath = groupBy(
    entries.filter((entry) => !APART.has(entry.path)),
    (entry) => entry.path,
  )
  const violations: string[] = []
  let fetches = 0
  let needed = 0
  const extraOf = new Map<string, number>()
  for (const page of site) {
    const seen = byPath.get(page.path) ?? []
    byPath.delete(page.path)
    const due = neededFor(page, rules)
    fetches += seen.length
    needed += due
    extraOf.set(page.path, Math.max(0, seen.length - due))
    const good = page.kind === 'moved' ? 301 : 200
    if (seen.length === 0) violations.push(`${page.path} was never asked for`)
    else if (page.alwaysFails && seen.length < due)
      violations.push(`${page.path} was given up after ${seen.length} of ${due} fetches`)
    else if (!page.alwaysFails && !seen.some((entry) => entry.status === good))
      violations.push(`${page.path} was never answered well`)
  }
  for (const [path, seen] of byPath) violations.push(`${path} was asked for ${seen.length} times and must not be`)
  const extra = visitsTooMany(extraOf, site)
  if (extra > rules.inFlightAtKills) {
    violations.push(
      `${extra} fetches too many, ${rules.inFlightAtKills} can be explained by requests in flight at kills`,
    )
  }
  return { fetches, needed, extra, robots: entries.filter((entry) => entry.path === '/robots.txt').length, violations }
}

function visitsTooMany(extraOf: ReadonlyMap<string, number>, site: readonly SitePage[]): number {
  let sum = 0
  for (const extra of extraOf.values()) sum += extra
  for (const { path, movedTo } of site) {
    if (movedTo !== undefined) sum -= Math.min(extraOf.get(path) ?? 0, extraOf.get(movedTo) ?? 0)
  }
  return sum
}

function neededFor(page: SitePage, rules: FetchRules): number {
  if (page.kind === 'missing') return 1
  return page.alwaysFails ? 1 + rules.retries : 1 + page.failsFirst
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}
