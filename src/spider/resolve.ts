import { createHash } from 'node:crypto'
import { spiderError } from '../error-place.js'
import { asShoalError, ShoalError } from '../errors.js'
import type { CrawlArgs, Limits, Seen } from '../frontier/frontier.js'
import { nearest } from '../nearest.js'
import { check } from '../options.js'
import { namedText } from '../thrown.js'
import { shown } from '../units.js'
import { type AdmitRules, createAdmitter } from '../url/admit.js'
import type { HostKey } from '../url/link.js'
import { groupKey } from '../url/pace-key.js'
import { homepage, version } from '../version.js'
import { admitRules } from './admit-rules.js'
import { checkArguments, isSameArguments, refuseArguments } from './arguments.js'
import { compileExtract } from './compile-extract.js'
import { declaredRoute } from './declared-route.js'
import {
  type DefinedSpider,
  SPIDER_TAG,
  type SpiderDefinition,
  type TaggedBuilder,
  type TaggedDefinition,
} from './definition.js'
import {
  type CheckedAdaptive,
  type CheckedDefinition,
  type CheckedPace,
  type CheckedRetries,
  type CheckedRoute,
  definitionSchema,
} from './definition-schema.js'
import { parseSelector } from './html/selector.js'
import { kindMerge } from './kind-merge.js'
import { outletsOf } from './outlets.js'
import { proxyNeed, spiderProxies, spiderSession } from './proxies.js'
import { runHandler, userCode } from './run-handler.js'
import { compileSchedule, type Schedule } from './schedule.js'
import { secretsOf } from './secrets.js'
import type { Backoff, RecordKind, RetryPolicy, Route, RouteRender, Spider, SpiderFeed } from './spider.js'

const DEFAULT_RETRIES: RetryPolicy = {
  max: 3,
  backoff: { kind: 'exponential', baseMs: 1_000, capMs: 300_000, jitter: 0.5 },
}
const DEFAULT_DELAY_MS = 1_000
/** An adaptive pace lengthens the delay at most this many times. */
const LONGEST_DELAYS = 10
const DEFAULT_CONCURRENCY = 4
/** Practically no limit. */
const MOST_AT_ONCE = 10_000
/** One new URL in a thousand is taken for seen. */
const DEFAULT_ERROR_RATE = 0.001
const NAME_FORM = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/

/** A spider defined in a program. */
export function spiderFromDefinition(defined: DefinedSpider, args: CrawlArgs = {}): Spider {
  if (!isTagged(defined)) throw new ShoalError('spider_invalid', 'this is not a spider: create one with defineSpider')
  return spiderWith(defined, hashOf(textForm('build' in defined ? defined.build : defined.definition)), args)
}

/** The spider of a definition, built with these arguments if it takes any. */
export function spiderWith(defined: DefinedSpider, hash: string, given: CrawlArgs): Spider {
  if (!('build' in defined)) {
    refuseArguments(given)
    return resolveSpider(defined.definition, hash)
  }
  const { schema } = defined
  const checked = checkArguments(schema, given)
  return {
    ...resolveSpider(builtWith(defined, checked), hash),
    args: {
      given,
      isSame: (other) => isSameArguments(schema, checked, other),
      build: (other) => spiderWith(defined, hash, other),
    },
  }
}

function builtWith({ build }: TaggedBuilder, args: unknown): SpiderDefinition {
  let built: unknown
  try {
    built = build(args)
  } catch (error) {
    if (error instanceof ShoalError) throw error
    throw spiderError('spider_invalid', error, `the function of the spider failed: ${namedText(error)}`)
  }
  if (isTagged(built) && !('build' in built)) return built.definition
  throw new ShoalError('spider_invalid', 'the function of a spider with arguments must return a spider', {
    hint: 'Write: defineSpider(schema, (args) => defineSpider({ … }))',
  })
}

export function isTagged(value: unknown): value is DefinedSpider {
  return typeof value === 'object' && value !== null && (value as Partial<TaggedDefinition>)[SPIDER_TAG] === 'spider'
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Validates everything that can be validated before the first request, and compiles the rest. */
export function resolveSpider(definition: SpiderDefinition, hash: string): Spider {
  if (typeof definition === 'function')
    throw new ShoalError('spider_invalid', 'defineSpider got a function, but no schema for its arguments', {
      hint: 'Write: defineSpider(z.object({ … }), (args) => defineSpider({ … }))',
    })
  const checked = check(definitionSchema, definition, 'spider_invalid')
  checkNames(checked)
  checkBeginning(checked)
  if (checked.recrawl) checkWindows(definition.records ?? {})
  if (checked.recrawl || checked.schedule !== undefined) checkForgets(checked)
  const kinds = new Map<string, RecordKind>(
    Object.entries(checked.records).map(([kind, { schema, fresh, history, merge }]) => [
      kind,
      {
        schema: schema ?? null,
        freshMs: checked.recrawl ? 0 : fresh,
        history,
        merge: merge === undefined ? null : kindMerge(kind, merge),
      },
    ]),
  )
  const limits = hostLimits(checked.pace)
  const defaults = retryPolicy(checked.retries, DEFAULT_RETRIES)
  const routeNames = new Set(Object.keys(checked.routes))
  const routes = new Map<string, Route>()
  for (const [name, route] of Object.entries(checked.routes)) {
    const plan = {
      route: name,
      routes: routeNames,
      kinds,
      data: route.data ?? null,
      extract: compileExtract(name, route),
      pages: route.pages === undefined ? null : { max: route.pages.max, route: route.pages.route ?? name },
      record: recordOf(route),
      steps: checked.steps,
      handler: route.handler ?? null,
    }
    routes.set(name, {
      name,
      match: route.match,
      priority: route.priority,
      retries: retryPolicy(route.retries ?? {}, defaults),
      limits: route.pace === undefined ? null : routeLimits(route.pace, limits),
      handlerTimeoutMs: route.handlerTimeout ?? checked.handlerTimeout,
      proxy: proxyNeed(route, checked),
      render: routeRender(name, route),
      givesRecords: plan.record !== null || plan.handler !== null,
      rules: {
        fields: route.record?.fields ?? {},
        record: plan.record,
        each: route.record?.each ?? null,
        follow: route.follow,
        pages: plan.pages !== null,
        handler: plan.handler !== null,
      },
      declared: declaredRoute(name, route, kinds),
      data: plan.data,
      harvest: (page, ruleLinks) => runHandler(plan, page, ruleLinks),
    })
  }
  const admit = admitRules(checked)
  checkStart(checked.start, admit)
  const { fetch, budget } = checked
  return {
    name: checked.name,
    hash,
    args: null,
    start: checked.start,
    seeds: typeof checked.seeds === 'function' ? checked.seeds : null,
    sources: Array.isArray(checked.seeds) ? checked.seeds : [],
    feed: feedOf(checked),
    admit,
    routes,
    records: kinds,
    limits,
    keyLimits: groupLimits(checked, limits),
    seen: seenOf(checked),
    order: checked.order,
    robots: checked.robots,
    userAgent: checked.userAgent ?? defaultUserAgent(checked.contact),
    headers: Object.fromEntries(Object.entries(checked.headers).map(([name, value]) => [name.toLowerCase(), value])),
    secrets: secretsOf(checked),
    allowPrivate: checked.allowPrivate,
    fetch: {
      totalMs: fetch.timeout,
      connectMs: fetch.connectTimeout,
      headersMs: fetch.headersTimeout,
      idleMs: fetch.idleTimeout,
      maxHeaderBytes: fetch.maxHeaderBytes,
      maxBodyBytes: fetch.maxBodyBytes,
      maxRedirects: fetch.maxRedirects,
    },
    proxies: spiderProxies(checked, (ceiling) => limitsOf(ceiling, 0, MOST_AT_ONCE, 'proxy.ceiling')),
    session: spiderSession(checked),
    maxLinksPerPage: checked.scope.maxLinksPerPage,
    maxThrottles: checked.maxThrottles,
    retryPriorityStep: checked.retryPriorityStep,
    visibilityMs: checked.lease.visibility,
    heartbeatMs: checked.lease.heartbeat,
    maxPending: checked.maxPending,
    overflow: checked.overflow,
    budget: {
      pagesPerHost: budget.pagesPerHost,
      ...(budget.pages !== undefined && { pages: budget.pages }),
      ...(budget.bytes !== undefined && { bytes: budget.bytes }),
      ...(budget.time !== undefined && { ms: budget.time }),
    },
    schedule: checked.schedule === undefined ? null : scheduleOf(checked, checked.schedule),
    recrawl: checked.recrawl,
    savePages: checked.savePages,
    outlets: outletsOf(checked),
  }
}

function recordOf({ record }: CheckedRoute) {
  return record === undefined ? null : { kind: record.kind, key: record.key ?? null, each: record.each !== undefined }
}

/** Each start URL must pass the filter: a crawl that refuses its own start would end empty and appear finished. */
function checkStart(start: readonly string[], rules: AdmitRules): void {
  const admitter = createAdmitter(rules)
  start.forEach((url, index) => {
    const admission = admitter.resolve(url, url)
    if (!admission.ok) throw new ShoalError(admission.refusal.code, `start[${index}]: ${admission.refusal.message}`)
  })
}

/** A change that falls into the window would never be written: the page is not handled again until it changes. */
function checkWindows(records: NonNullable<SpiderDefinition['records']>): void {
  for (const [kind, record] of Object.entries(records)) {
    if ('fresh' in record && record.fresh !== undefined && record.fresh !== 0)
      throw invalid(`records.${kind}.fresh: a spider with recrawl writes every change; remove it`)
  }
}

/** A crawl that knows what the previous one has seen would have nothing to do. */
function checkForgets({ dedupe: { scope, ttl } }: CheckedDefinition): void {
  if (scope !== 'crawl' && ttl === undefined)
    throw invalid(
      `dedupe.scope: with '${scope}' every page would count as seen in the next crawl; remove it, or set a ttl`,
    )
}

function scheduleOf({ feed }: CheckedDefinition, schedule: NonNullable<CheckedDefinition['schedule']>): Schedule {
  if (feed !== undefined && feed.idleTimeout === undefined)
    throw invalid('schedule: a crawl with a feed but no feed.idleTimeout never ends, so the next one could never start')
  return compileSchedule(schedule)
}

/** A crawl needs a start, and must know where it may go. */
function checkBeginning({ start, seeds, feed, scope }: CheckedDefinition): void {
  if (start.length > 0) return
  if (seeds === undefined && feed === undefined) throw invalid('start: a spider needs at least one start URL')
  if (scope.hosts === undefined)
    throw invalid("scope.hosts: is missing; a spider without start URLs must name its hosts, or '*' for any")
}

function feedOf({ feed }: CheckedDefinition): SpiderFeed | null {
  if (feed === undefined) return null
  const { redisKey, stream, group, idleTimeout } = feed
  return { kind: stream ? 'stream' : 'list', key: redisKey ?? null, group, idleMs: idleTimeout ?? null }
}

/** References between parts: in TypeScript the compiler has checked them, in JavaScript nothing has. */
function checkNames(checked: CheckedDefinition): void {
  const routes = Object.keys(checked.routes)
  const kinds = Object.keys(checked.records)
  for (const name of routes) wellFormed(`routes.${name}`, name)
  for (const kind of kinds) wellFormed(`records.${kind}`, kind)
  for (const [name, route] of Object.entries(checked.routes)) {
    route.follow.forEach((rule, index) => {
      if (rule.route !== undefined) known(`routes.${name}.follow[${index}].route`, 'route', rule.route, routes)
    })
    if (route.pages?.route !== undefined) known(`routes.${name}.pages.route`, 'route', route.pages.route, routes)
    if (route.record !== undefined) {
      known(`routes.${name}.record.kind`, 'record kind', route.record.kind, kinds)
      if (route.record.key !== undefined && route.record.fields !== undefined)
        known(`routes.${name}.record.key`, 'field', route.record.key, Object.keys(route.record.fields))
    }
    checkReachable(name, route, checked)
  }
}

function wellFormed(path: string, name: string): void {
  if (!NAME_FORM.test(name))
    throw invalid(`${path}: a name may have letters, digits, dots, dashes and underscores, at most 64`)
}

function known(path: string, what: string, name: string, names: readonly string[]): void {
  if (names.includes(name)) return
  const guess = nearest(name, names)
  throw invalid(`${path}: there is no ${what} ${shown(name)}${guess === null ? '' : `, did you mean '${guess}'?`}`)
}

/** A route without a pattern that no rule names can only be meant for a handler's out.follow. */
function checkReachable(name: string, route: CheckedRoute, checked: CheckedDefinition): void {
  if (route.match.length > 0) return
  const others = Object.values(checked.routes)
  if (others.some((other) => other.handler !== undefined || other.follow.some((rule) => rule.route === name))) return
  throw invalid(`routes.${name}: no link can reach this route: give it a match, or name it in a follow rule`)
}

function routeRender(name: string, { render }: CheckedRoute): RouteRender | null {
  if (render === undefined) return null
  const { when, wait = null, settle, images, needed } = render
  if (needed !== undefined && when === 'always')
    throw invalid(`routes.${name}.render.needed: has no effect without when: 'fallback'`)
  if (typeof wait === 'string') checkSelector(`routes.${name}.render.wait`, wait)
  return {
    when,
    wish: { wait, settleMs: settle, images },
    needed: (page) => needed !== undefined && userCode(() => needed(page)) === true,
  }
}

function checkSelector(path: string, selector: string): void {
  try {
    parseSelector(selector)
  } catch (error) {
    const { message, hint } = asShoalError(error)
    throw new ShoalError('bad_selector', `${path}: ${message}`, { hint })
  }
}

function retryPolicy(retries: CheckedRetries, defaults: RetryPolicy): RetryPolicy {
  return {
    max: retries.max ?? defaults.max,
    backoff: retries.backoff === undefined ? defaults.backoff : backoffOf(retries.backoff),
  }
}

function backoffOf(backoff: NonNullable<CheckedRetries['backoff']>): Backoff {
  if (Array.isArray(backoff)) return { kind: 'list', ms: backoff }
  if ('fixed' in backoff) return { kind: 'fixed', ms: backoff.fixed }
  return { kind: 'exponential', baseMs: backoff.exponential, capMs: backoff.cap, jitter: backoff.jitter }
}

/** A rate without a delay means the rate: the default delay would silently turn '10/s' into one request per second. */
function hostLimits(pace: CheckedPace & { adaptive: CheckedAdaptive }): Limits {
  const limits = limitsOf(pace, pace.rate === undefined ? DEFAULT_DELAY_MS : 0, DEFAULT_CONCURRENCY)
  return withAdaptive(limits, pace.adaptive)
}

/** A delay of 0 is a wish for speed, and there is nothing to multiply. */
function withAdaptive(limits: Limits, adaptive: CheckedAdaptive): Limits {
  if (adaptive === false || limits.delayMs === 0) return limits
  const { target = limits.concurrency, maxDelay = limits.delayMs * LONGEST_DELAYS } = adaptive === true ? {} : adaptive
  return { ...limits, adaptive: { target, maxDelayMs: maxDelay } }
}

function routeLimits(pace: CheckedPace, host: Limits): Limits {
  return limitsOf(pace, 0, host.concurrency)
}

/** A group with neither delay nor rate uses both of the spider's. */
function groupLimits(
  { pace: { groups, adaptive } }: CheckedDefinition,
  host: Limits,
): Readonly<Record<HostKey, Limits>> {
  const names = groups.map(({ name }) => name)
  return Object.fromEntries(
    groups.map((group, index) => {
      const path = `pace.groups[${index}]`
      wellFormed(`${path}.name`, group.name)
      if (names.indexOf(group.name) !== index) throw invalid(`${path}.name: there are two groups called ${group.name}`)
      const own = group.delay !== undefined || group.rate !== undefined
      const limits = limitsOf(group, own ? 0 : host.delayMs, host.concurrency, path)
      const paced = own || host.rate === undefined ? limits : { ...limits, rate: host.rate }
      return [groupKey(group.name), withAdaptive(paced, adaptive)]
    }),
  )
}

function seenOf({ dedupe: { mode, scope, ttl, errorRate } }: CheckedDefinition): Seen | null {
  if (errorRate !== undefined && mode !== 'bloom')
    throw invalid("dedupe.errorRate: has no effect without mode: 'bloom'")
  const seen: Seen = { mode, scope, ttlMs: ttl ?? null, errorRate: errorRate ?? DEFAULT_ERROR_RATE }
  return mode === 'exact' && scope === 'crawl' && ttl === undefined ? null : seen
}

function limitsOf(pace: CheckedPace, delayMs: number, concurrency: number, path = 'pace'): Limits {
  if (pace.burst !== undefined && pace.rate === undefined)
    throw invalid(`${path}.burst: has no effect without ${path}.rate`)
  return {
    delayMs: pace.delay ?? delayMs,
    concurrency: pace.concurrency ?? concurrency,
    ...(pace.rate !== undefined && { rate: { ...pace.rate, burst: pace.burst ?? 1 } }),
  }
}

function defaultUserAgent(contact: string | undefined): string {
  const about = contact ?? homepage
  return about === null ? `Shoal/${version}` : `Shoal/${version} (+${about})`
}

/** The definition as text, including functions and regular expressions, so that an edit is noticed. */
function textForm(definition: unknown): string {
  return (
    JSON.stringify(definition, (_key, value: unknown) =>
      typeof value === 'function' || value instanceof RegExp ? String(value) : value,
    ) ?? ''
  )
}

function invalid(message: string): ShoalError {
  return new ShoalError('spider_invalid', message)
}
