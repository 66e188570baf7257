import type { HostKey } from '../../url/link.js'
import { countsOf } from '../counts.js'
import { filteredOf } from '../filtered.js'
import type { CrawlInfo, CrawlStats, Frontier, HostInfo, Limits, LinkInfo, LinkQuery, LinkState } from '../frontier.js'
import { adapted, earliestOpen, settingsShown } from '../pace.js'
import { type Ending, rateOf, resumeMark, runningSince } from '../rate.js'
import { type Crawl, deadOf, type Entry, type Hold, type Host, lastCode, stateOf } from './model.js'

export function infoOf(crawl: Crawl): CrawlInfo {
  const { spec, state, endedBy, spiderChanges, createdAt, startedAt, finishedAt, seeding } = crawl
  const { id, spider, spiderHash, args } = spec
  return {
    ...{ id, spider, ...(args !== undefined && { args }), state, endedBy, spiderHash, spiderChanges },
    ...{ createdAt, startedAt, finishedAt, seeding },
  }
}

export function statsOf(crawl: Crawl, watchedSince: number | null, now: number): CrawlStats {
  const count = (state: LinkState) => crawl.entries.filter((entry) => stateOf(entry, now) === state).length
  const { retried, throttled, reclaimed, stale, refused, bytes } = crawl
  return {
    ...infoOf(crawl),
    total: crawl.entries.length,
    queued: count('queued'),
    delayed: count('delayed'),
    leased: count('leased'),
    done: count('done'),
    dead: count('dead'),
    skipped: count('skipped'),
    failed: [...crawl.failedByHost.values()].reduce((sum, failed) => sum + failed, 0),
    retried,
    throttled,
    reclaimed,
    stale,
    refused,
    filtered: filteredOf(crawl.filtered),
    counts: countsOf(crawl.counts),
    bytes,
    rate: rateOf(endingsOf(crawl), { since: runningSince(crawl, watchedSince), now }),
  }
}

function endingsOf({ entries, resumedAt }: Crawl): Ending[] {
  const ended = entries.flatMap(({ endedAt }) => (endedAt === null ? [] : [endedAt]))
  return [
    ...(resumedAt === null ? [] : [resumeMark(resumedAt)]),
    ...ended.map((at) => ({ second: Math.floor(at / 1000), count: 1 })),
  ]
}

export function hostInfoOf(crawl: Crawl, key: HostKey, host: Host, set: Limits, now: number): HostInfo {
  const { pace, latencyMs } = host
  const limits = adapted(set, latencyMs)
  const count = (state: Entry['state']) =>
    crawl.entries.filter((entry) => entry.link.host === key && entry.state === state).length
  return {
    host: key,
    pending: count('pending'),
    inFlight: pace.inFlight,
    done: count('done'),
    failed: crawl.failedByHost.get(key) ?? 0,
    dead: count('dead'),
    delayMs: limits.delayMs,
    slowedFromMs: limits === set ? null : set.delayMs,
    concurrency: limits.concurrency,
    ratePerSecond: limits.rate === undefined ? null : (limits.rate.count / limits.rate.perMs) * 1000,
    nextAt: earliestOpen(pace, limits),
    blockedUntil: pace.blockedUntil > now ? pace.blockedUntil : null,
    throttles: pace.throttleLevel,
    latencyMs,
    set: settingsShown(host.settings),
  }
}

export function matching(crawl: Crawl, query: LinkQuery, now: number): Entry[] {
  return crawl.entries
    .filter((entry) => query.after === undefined || entry.id > Number(query.after))
    .filter((entry) => query.state === undefined || stateOf(entry, now) === query.state)
    .filter((entry) => query.host === undefined || entry.link.host === query.host)
    .filter((entry) => query.code === undefined || (entry.state === 'dead' && lastCode(entry) === query.code))
    .slice(0, query.limit)
}

export function linkInfoOf(entry: Entry, hold: Hold | undefined, now: number): LinkInfo {
  const { fp, url, host, route, depth, priority, data, request } = entry.link
  const { attempts, throttles, reclaims, addedAt, endedAt, failures } = entry
  const state = stateOf(entry, now)
  return {
    cursor: String(entry.id),
    fp,
    url,
    host,
    route,
    state,
    depth,
    priority,
    attempts,
    throttles,
    reclaims,
    addedAt,
    dueAt: state === 'delayed' ? entry.dueAt : null,
    worker: hold?.worker ?? null,
    leasedAt: hold?.leasedAt ?? null,
    endedAt,
    failures: [...failures],
    ...(data === undefined ? {} : { data }),
    ...(request === undefined ? {} : { request }),
  }
}

export type DeadGroup = Awaited<ReturnType<Frontier['deadByError']>>[number]

export function deadGroupsOf(crawl: Crawl): DeadGroup[] {
  const groups = new Map<DeadGroup['code'], DeadGroup>()
  for (const entry of deadOf(crawl, {})) {
    const code = lastCode(entry)
    if (code === undefined) continue
    const { count, sample } = groups.get(code) ?? { count: 0, sample: entry.link.url }
    groups.set(code, { code, count: count + 1, sample })
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1))
}
