import { ERRORS } from '../../errors.js'
import { type HostInfo, type LinkInfo, POSITION_CAP, SOLO_AFTER } from '../../frontier/frontier.js'
import type { Spider } from '../../spider/spider.js'
import { filterText } from '../../url/filter-reasons.js'
import { compilePattern } from '../../url/patterns.js'
import { showUrl } from '../../url/show-url.js'
import { some, span } from '../in-words.js'
import type { Evidence } from './evidence.js'
import type { Found, Known } from './find-link.js'
import { nextSlot } from './next-slot.js'

/** Why a URL is in its state: a sentence or two, most important first. */
export function whyThere(evidence: Evidence, now: number): string[] {
  const { found, absence } = evidence
  if (found.kind === 'refused') {
    const { code, message } = found.refusal
    return [`${code}: ${message}`, `the spider ${found.crawl.spider} rejects it, so it is never fetched`]
  }
  if (found.kind === 'known')
    return [...whyKnown(found.where, evidence, now), ...evidence.waits, ...whyChanged(evidence.asked, found)]
  if (found.judged === null)
    return [
      'none of the searched crawls has it; without its spider, it is unknown whether it is in scope',
      ...whyChanged(evidence.asked, found),
    ]
  return [
    'it is in scope, but no page fetched so far links to it',
    `links on pages at depth ${found.judged.spider.admit.maxDepth} are not followed (scope.maxDepth)`,
    ...absence.map(({ code, message }) => `${code}: ${message}`),
    ...whyChanged(evidence.asked, found),
  ]
}

/** Why the URL is not spelled as it was asked for, or could be another one by another setting. */
export function whyChanged(asked: string, { rule }: Extract<Found, { readonly rule: unknown }>): string[] {
  if (rule === null) return []
  const text = filterText(rule)
  return [rule === 'likely_session_id' ? text : `asked for as ${showUrl(asked)}: ${text}`]
}

/** How it was found, and how its route was chosen. */
export function admittedBy(link: Pick<LinkInfo, 'depth' | 'route' | 'url'>, spider: Spider | null): string {
  const source = link.depth === 0 ? 'a start URL, or a redirect from one' : `found on a page at depth ${link.depth - 1}`
  const pattern = spider === null ? null : patternOf(link, spider)
  return pattern === null ? source : `${source}; ${pattern}`
}

function patternOf({ route, url }: Pick<LinkInfo, 'route' | 'url'>, spider: Spider): string | null {
  const known = spider.routes.get(route)
  if (known === undefined) return `its route ${route} is not in the spider any more`
  const parts = new URL(url)
  // The first route that matches; one further down has the link because a rule named it.
  const chosen = spider.admit.routeOf(parts)?.name === route
  const pattern = chosen ? known.match.find((one) => compilePattern(one)(parts)) : undefined
  return pattern === undefined ? `route ${route} by name` : `route ${route} by pattern ${pattern}`
}

function whyKnown(where: Known, { fetches, proxy }: Evidence, now: number): string[] {
  if (where.link === null) return fetches.length > 0 ? [] : ['the queue has seen it, but the store has no fetch of it']
  const { state, link, host, position, crawlState } = where
  const last = link.failures.at(-1)
  const held = crawlState === 'running' ? [] : [`the crawl is ${crawlState}: no links are handed out`]
  if (state === 'queued')
    return [
      place(position),
      ...held,
      `next slot of ${host.host}: ${nextSlot(host, now)}`,
      ...slowness(host),
      ...solo(link),
    ]
  if (state === 'delayed') {
    const slot = nextSlot(host, now)
    const next = slot === 'now' ? [] : [`next slot of ${host.host}: ${slot}`]
    return [`due ${due(link, now)}`, cause(link), ...held, ...next]
  }
  if (state === 'leased') {
    const since = link.leasedAt === null ? '' : ` for ${span(now - link.leasedAt)}`
    const through = proxy === null ? '' : `, through ${proxy}`
    return [`in flight on worker ${link.worker ?? 'unknown'}${since}, attempt ${link.attempts + 1}${through}`]
  }
  if (state === 'dead') {
    const end = last === undefined ? 'an unknown error' : `${last.code}: ${last.message}`
    return [link.attempts === 0 ? `ended with ${end}` : `${some(link.attempts, 'attempt')}, the last ended with ${end}`]
  }
  if (state === 'skipped')
    return [last === undefined ? 'it was removed manually' : `not fetched: ${last.code}: ${last.message}`]
  return []
}

/** Failures caused by rate limits or by our own backends do not count as an attempt. */
function cause({ failures, attempts }: LinkInfo): string {
  const last = failures.at(-1)
  if (last === undefined) return 'it was added with a delay'
  const { next } = ERRORS[last.code]
  const visit = next === 'throttle' || next === 'backend' ? 'the last visit' : `attempt ${attempts}`
  return `${visit} ended with ${last.code}: ${last.message}${visit === 'the last visit' ? ', which does not count as an attempt' : ''}`
}

function place(position: number | null): string {
  if (position === null) return 'it is waiting for its turn'
  if (position >= POSITION_CAP) return `more than ${POSITION_CAP} links of its host are ahead of it`
  return `${some(position, 'link')} of its host ${position === 1 ? 'is' : 'are'} ahead of it`
}

function due({ dueAt }: LinkInfo, now: number): string {
  if (dueAt === null) return 'later'
  return dueAt <= now ? 'now' : `in ${span(dueAt - now)}`
}

/** Why requests to a host are further apart than the spider's pace. */
function slowness({ host, slowedFromMs, latencyMs }: HostInfo): string[] {
  if (slowedFromMs === null || latencyMs === null) return []
  return [
    `${host} responds slowly or with errors (mean ${span(latencyMs)}, failures weigh more): requests are further apart until it recovers`,
  ]
}

function solo({ reclaims }: LinkInfo): string[] {
  return reclaims < SOLO_AFTER ? [] : [`workers crashed with it ${reclaims} times: it is leased alone`]
}
