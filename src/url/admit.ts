import type { ErrorCode } from '../errors.js'
import { textOf } from '../thrown.js'
import { type Base, createBase, isAbsolute } from './base.js'
import { type CanonicalRule, type CanonicalUrl, compileCanonical } from './canonicalise.js'
import type { FilterReason } from './filter-reasons.js'
import { fingerprint } from './fingerprint.js'
import { hostKey } from './host.js'
import { clampPriority, type Fingerprint, type HostKey, type Json, type Link, type RequestExtras } from './link.js'
import { compilePaceKey, groupKey } from './pace-key.js'
import { createPlainParser } from './parse-plain.js'
import { isWeb, parseUrl } from './parse-url.js'
import { createRecall, detach } from './recall.js'
import type { AdmitRules } from './rules.js'
import { compileScope } from './scope.js'
import { showUrl } from './show-url.js'
import { type Trap, trapIn } from './traps.js'
import type { UrlParts } from './url-parts.js'

export { DEFAULT_CANONICAL } from './canonicalise.js'
export type { AdmitRules } from './rules.js'
export { DEFAULT_TRAPS } from './traps.js'

export const DEFAULT_MAX_URL_LENGTH = 2048
export const DEFAULT_MAX_DEPTH = 50

/** Cached answers in each of two generations: about 400 bytes each. */
const REMEMBERED = 10_000

/** A URL that passed the filter, independent of the page it was found on. */
export interface Target {
  readonly url: string
  readonly fp: Fingerprint
  /** Its pace key. */
  readonly host: HostKey
  readonly route: string
  /** That of the route. */
  readonly priority: number
}

export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
  /** The same, with the kind of a trap. */
  readonly reason: FilterReason
}

export type Admission =
  | {
      readonly ok: true
      readonly target: Target
      /** What the canonical form changed, or would have changed by another setting; null: nothing. */
      readonly rule: CanonicalRule | null
    }
  | { readonly ok: false; readonly refusal: Refusal }

export interface LinkOptions {
  readonly route?: string
  readonly priority?: number
  readonly data?: Json
  readonly request?: RequestExtras
  readonly dedupeKey?: string
  readonly delayMs?: number
  /** A pace group by name, instead of the one that the URL implies. */
  readonly group?: string
}

export interface Admitter {
  /**
   * Resolves `href` against `base` and filters it. The answer is cached, because every page repeats the same forty navigation links. Never throws.
   * Depth and `options.priority` are not part of the answer: `link` applies them.
   */
  resolve(href: string, base: string, options?: LinkOptions): Admission
  /** A link at `depth`, or the refusal `too_deep`. */
  link(target: Target, depth: number, options?: LinkOptions): Link | Refusal
  /** For requests that are not links: robots.txt. */
  paceKey(url: URL): HostKey
}

type Refused = Extract<Admission, { ok: false }>

/** The answer for a link, for one of the routes it was asked for. */
interface Answer {
  /** Null: for any route. */
  readonly asked: string | undefined | null
  readonly admission: Admission
  readonly next: Answer | undefined
}

/** A URL that may be visited if a route matches it. */
interface Passed {
  readonly ok: true
  readonly text: string
  readonly host: HostKey
  readonly rule: CanonicalRule | null
  /** If it is already parsed. */
  readonly url: UrlParts | null
}

/** The one filter for seeds and found links alike. */
export function createAdmitter(rules: AdmitRules): Admitter {
  const canonical = compileCanonical(rules.canonical, rules.traps.sessionIds)
  const outOfScope = compileScope(rules)
  const paceKey = compilePaceKey(rules.pace)
  const groups = new Set(rules.pace.groups.map(({ name }) => name))
  const parsePlain = createPlainParser()
  const recall = createRecall<Answer>(REMEMBERED)
  let lastBase: Base | null = null

  const tooLong = (text: string): Refused =>
    refuse('url_too_long', `${text.length} characters are more than scope.maxUrlLength (${rules.maxUrlLength})`, text)

  const judge = (url: UrlParts): Passed | Refused => {
    if (!isWeb(url)) return refuse('bad_scheme', 'Only http and https can be fetched', url.href)
    let form: CanonicalUrl
    try {
      form = canonical(url)
    } catch (thrown) {
      return refuse('bad_url', `scope.canonical.rewrite failed (${textOf(thrown).slice(0, 200)})`, url.href)
    }
    const { text, host, path, query, rule } = form
    if (text.length > rules.maxUrlLength) return tooLong(text)
    if (host.endsWith(':0')) return refuse('bad_url', 'There is no port 0', text)
    if (EMPTY_LABEL.test(host)) return refuse('bad_url', 'The host name has an empty label', text)
    let final: UrlParts | null = text === url.href ? url : null
    const parsed = () => {
      final ??= new URL(text)
      return final
    }
    const outside = outOfScope(form, parsed)
    if (outside !== null) return refuse('out_of_scope', `Out of scope, ${outside}`, text)
    const trap = trapIn(path, query, rules.traps)
    if (trap !== null) return trapped(trap, text)
    return { ok: true, text, host: paceKey(host, parsed), rule, url: final }
  }

  const decide = ({ text, host, rule, url }: Passed, named: string | undefined): Admission => {
    const route = named === undefined ? rules.routeOf(url ?? new URL(text)) : routeNamed(named)
    if (route === null) {
      const reason = named === undefined ? 'No route matches' : `The spider has no route ${JSON.stringify(named)}`
      return refuse('no_route', reason, text)
    }
    const { name, priority } = route
    return { ok: true, target: { url: text, fp: fingerprint(text), host, route: name, priority }, rule }
  }

  const routeNamed = (name: string): { name: string; priority: number } | null => {
    const priority = rules.priorityOf(name)
    return priority === null ? null : { name, priority }
  }

  const admit = (href: string, base: string, route: string | undefined): Admission => {
    let place = ''
    let key = href
    let whole = true
    if (!isAbsolute(href)) {
      if (lastBase === null || lastBase.href !== base) lastBase = createBase(base, parse(base))
      ;({ place, key, whole } = lastBase.locate(href))
    }
    const known = recall.get(place, key)
    for (let answer = known; answer !== undefined; answer = answer.next) {
      if (answer.asked === route || answer.asked === null) return answer.admission
    }
    // Both are copies, independent of the page, and a key that is a slice of its text shares the characters.
    const text = place === '' || !whole ? detach(key) : place + key
    const ownKey = whole ? text.slice(place.length) : text
    const url = whole ? parse(text) : parseUrl(text, base)
    const verdict = url === null ? refuse('bad_url', 'It is not a URL', detach(href)) : judge(url)
    const admission = verdict.ok ? decide(verdict, route) : verdict
    const asked = verdict.ok ? route : null
    // A route that does not exist is a mistake of the user, and there may be any number of those.
    if (admission.ok || asked === undefined || asked === null)
      recall.set(place, ownKey, { asked, admission, next: known })
    return admission
  }

  const parse = (text: string): UrlParts | null => parsePlain(text) ?? parseUrl(text)

  return {
    resolve(href, base, options) {
      // `follow($('a').attr('href'))` in a spider that no compiler has checked.
      if (typeof href !== 'string') return refuse('bad_url', 'A link must be a string', String(href))
      // Before anything reads it: an href of a megabyte costs nothing.
      if (href.length > rules.maxUrlLength) return tooLong(href)
      const admission = admit(withoutFragment(href), base, options?.route)
      if (!admission.ok || options === undefined) return admission
      const { request, dedupeKey, group } = options
      if (request === undefined && dedupeKey === undefined && group === undefined) return admission
      const { target } = admission
      if (group !== undefined && !groups.has(group))
        return refuse('no_group', `The spider has no pace group ${JSON.stringify(group)}`, target.url)
      const host = group === undefined ? target.host : groupKey(group)
      return { ok: true, target: { ...target, host, fp: fingerprint(target.url, options) }, rule: admission.rule }
    },

    link(target, depth, options) {
      if (depth > rules.maxDepth) {
        return refuse('too_deep', `Depth ${depth} is more than scope.maxDepth (${rules.maxDepth})`, target.url).refusal
      }
      const { url, fp, host, route } = target
      const priority = clampPriority((options?.priority ?? target.priority) + depth * rules.depthPriority)
      if (options === undefined) return { url, fp, host, route, depth, priority }
      const { request, data, delayMs } = options
      return {
        url,
        fp,
        host,
        route,
        depth,
        priority,
        ...(request !== undefined && { request }),
        ...(data !== undefined && { data }),
        ...(delayMs !== undefined && { delayMs }),
      }
    },

    paceKey: (url) => paceKey(hostKey(url), () => url),
  }
}

function refuse(reason: Extract<ErrorCode, FilterReason>, why: string, url: string): Refused {
  return { ok: false, refusal: { code: reason, message: `${why}: ${showUrl(url)}`, reason } }
}

function trapped({ reason, message }: Trap, url: string): Refused {
  return { ok: false, refusal: { code: 'trap', message: `${message}: ${showUrl(url)}`, reason } }
}

/** Not if a space would become the last character: the parser drops trailing spaces. */
function withoutFragment(href: string): string {
  const hash = href.indexOf('#')
  return hash === -1 || href.charCodeAt(hash - 1) <= 0x20 ? href : href.slice(0, hash)
}

/** `a..b` and `.a` are not valid DNS names, though they parse. */
const EMPTY_LABEL = /^\.|\.(?:[.:]|$)/
