import { ERRORS } from '../../errors.js'
import { type HostInfo, type LinkInfo, POSITION_CAP, SOLO_AFTER } from '../../frontier/frontier.js'
import type { Spider } from '../../spider/spider.js'
import { compilePattern } from '../../url/patterns.js'
import { some, span } from '../in-words.js'
import type { Evidence } from './evidence.js'
import type { Known } from './find-link.js'
import { nextSlot } from './next-slot.js'

/** Why a URL is where it is: a sentence or two, most important first. */
export function whyThere(evidence: Evidence, now: number): string[] {
  const { found, absence } = evidence
  if (found.kind === 'refused') {
    const { code, message } = found.refusal
    return [`${code}: ${message}`, `the spider ${found.crawl.spider} does not let it in, so it is never fetched`]
  }
  if (found.kind === 'known') return [...whyKnown(found.where, evidence, now), ...evidence.waits]
  if (found.judged === null)
    return ['no crawl that was asked knows it; without its spider nobody can say whether it is in scope']
  return [
    'it is in scope, but no page that was read links to it',
    `links on pages at depth ${found.judged.spider.admit.maxDepth} are not followed (scope.maxDepth)`,
    ...absence.map(({ code, message }) => `${code}: ${message}`),
  ]
}

/** By which door it came in, and what led to its route. */
export function admittedBy(link: Pick<LinkInfo, 'depth' | 'route' | 'url'>, spider: Spider | null): string {
  const door = link.depth === 0 ? 'a start URL, or where one leads' : `found on a page at depth ${link.depth - 1}`
  const pattern = spider === null ? null : patternOf(link, spider)
  return pattern === null ? door : `${door}; ${pattern}`
}

function patternOf({ route, url }: Pick<LinkInfo, 'route' | 'url'>, spider: Spider): string | null {
  const known = spider.routes.get(route)
  if (known === undefined) return `its route ${route} is not in the spider any more`
  const parts = new URL(url)
  // The first that matches: a route further down has the link because somebody named it.
  const chosen = spider.admit.routeOf(parts)?.name === route
  const pattern = chosen ? known.match.find((one) => compilePattern(one)(parts)) : undefined
  return pattern === undefined ? `route ${route} by name` : `route ${route} by its pattern ${pattern}`
}

function whyKnown(where: Known, { fetches, proxy }: Evidence, now: number): string[] {
  if (where.link === null) return fetches.length > 0 ? [] : ['the queue has seen it, and the store knows of no fetch']
  const { state, link, host, position, crawlState } = where
  const last = link.failures.at(-1)
  const held = crawlState === 'running' ? [] : [`the crawl is ${crawlState}: nothing is handed out`]
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
    return [`worker ${link.worker ?? 'unknown'} has it${since}, attempt ${link.attempts + 1}${through}`]
  }
  if (state === 'dead') {
    const end = last === undefined ? 'an unknown error' : `${last.code}: ${last.message}`
    return [`${some(link.attempts, 'attempt')}, the last ended with ${end}`]
  }
  if (state === 'skipped')
    return [last === undefined ? 'it was given up by hand' : `not fetched: ${last.code}: ${last.message}`]
  return []
}

/** What the host or our own backends brought about costs no attempt. */
function cause({ failures, attempts }: LinkInfo): string {
  const last = failures.at(-1)
  if (last === undefined) return 'it was added with a delay'
  const { next } = ERRORS[last.code]
  const visit = next === 'throttle' || next === 'backend' ? 'the last visit' : `attempt ${attempts}`
  return `${visit} ended with ${last.code}: ${last.message}${visit === 'the last visit' ? ', which costs no attempt' : ''}`
}

function place(position: number | null): string {
  if (position === null) return 'it waits for its turn'
  if (position >= POSITION_CAP) return `more than ${POSITION_CAP} links of its host come first`
  return `${some(position, 'link')} of its host ${position === 1 ? 'comes' : 'come'} first`
}

function due({ dueAt }: LinkInfo, now: number): string {
  if (dueAt === null) return 'later'
  return dueAt <= now ? 'now' : `in ${span(dueAt - now)}`
}

/** Why a host is asked less often than the spider says. */
function slowness({ host, slowedFromMs, latencyMs }: HostInfo): string[] {
  if (slowedFromMs === null || latencyMs === null) return []
  return [
    `${host} answers slowly or with errors (${span(latencyMs)} on average, failures count for more): it is asked less often until it is well again`,
  ]
}

function solo({ reclaims }: LinkInfo): string[] {
  return reclaims < SOLO_AFTER ? [] : [`workers were lost with it ${reclaims} times: it is handed out alone`]
}
