import type { ErrorCode } from '../errors.js'
import { type Base, createBase, isAbsolute } from './base.js'
import { type CanonicalUrl, compileCanonical } from './canonicalise.js'
import { fingerprint } from './fingerprint.js'
import { clampPriority, type Fingerprint, type HostKey, type Json, type Link, type RequestExtras } from './link.js'
import { isWeb, parseUrl } from './parse-url.js'
import { createRecall, detach } from './recall.js'
import type { AdmitRules } from './rules.js'
import { compileScope } from './scope.js'
import { showUrl } from './show-url.js'
import { trapIn } from './traps.js'

export { DEFAULT_CANONICAL, DEFAULT_DROP_PARAMS } from './canonicalise.js'
export type { AdmitRules, CanonicalRules, TrapRules } from './rules.js'
export { DEFAULT_TRAPS } from './traps.js'

export const DEFAULT_MAX_URL_LENGTH = 2048
export const DEFAULT_MAX_DEPTH = 50

/** Answers remembered in each of two generations. With 25,000 a link that is new cost 15 % more CPU. */
const REMEMBERED = 10_000

/** A URL that passed the door, independent of the page it was found on. */
export interface Target {
  readonly url: string
  readonly fp: Fingerprint
  readonly host: HostKey
  readonly route: string
  /** The route's. */
  readonly priority: number
}

export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
}

export type Admission =
  | { readonly ok: true; readonly target: Target }
  | { readonly ok: false; readonly refusal: Refusal }

export interface LinkOptions {
  readonly route?: string
  readonly priority?: number
  readonly data?: Json
  readonly request?: RequestExtras
  readonly dedupeKey?: string
  readonly delayMs?: number
}

export interface Admitter {
  /**
   * Resolves `href` against `base` and judges it; the answer is remembered, because the forty navigation links of a page stand on
   * every page. Never throws. Depth and `options.priority` are no part of it: `link` looks at them.
   */
  resolve(href: string, base: string, options?: LinkOptions): Admission
  /** A link at `depth`, or the refusal `too_deep`. */
  link(target: Target, depth: number, options?: LinkOptions): Link | Refusal
}

/** What is known about a URL whatever its route: refused, or where it leads, with the answers for the routes asked so far. */
type Verdict = Refused | Passed

type Refused = Extract<Admission, { ok: false }>

interface Passed {
  readonly ok: true
  readonly text: string
  readonly host: HostKey
  /** When it is at hand; given up after the first answer, because it is larger than all the rest. */
  url: URL | null
  answers: Answer | null
}

interface Answer {
  readonly route: string | undefined
  readonly admission: Admission
  readonly next: Answer | null
}

/** The single door, for seeds and found links alike. */
export function createAdmitter(rules: AdmitRules): Admitter {
  const canonical = compileCanonical(rules.canonical, rules.traps.sessionIds)
  const outOfScope = compileScope(rules)
  const recall = createRecall<Verdict>(REMEMBERED)
  let lastBase: Base | null = null

  const tooLong = (text: string): Refused =>
    refuse('url_too_long', `${text.length} characters are more than scope.maxUrlLength (${rules.maxUrlLength})`, text)

  const judge = (url: URL): Verdict => {
    if (!isWeb(url)) return refuse('bad_scheme', 'Only http and https can be fetched', url.href)
    let form: CanonicalUrl
    try {
      form = canonical(url)
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown)
      return refuse('bad_url', `The rewrite of the spider failed (${reason.slice(0, 200)})`, url.href)
    }
    const { text, host, path, query } = form
    if (text.length > rules.maxUrlLength) return tooLong(text)
    if (host.endsWith(':0')) return refuse('bad_url', 'There is no port 0', text)
    if (EMPTY_LABEL.test(host)) return refuse('bad_url', 'The host name has an empty part', text)
    let final = text === url.href ? url : null
    const parsed = () => {
      final ??= new URL(text)
      return final
    }
    const outside = outOfScope(form, parsed)
    if (outside !== null) return refuse('out_of_scope', `Out of scope, ${outside}`, text)
    const trap = trapIn(path, query, rules.traps)
    if (trap !== null) return refuse('trap', trap, text)
    return { ok: true, text, host, url: final, answers: null }
  }

  const decide = ({ text, host, url }: Passed, named: string | undefined): Admission => {
    const route = named === undefined ? rules.routeOf(url ?? new URL(text)) : routeNamed(named)
    if (route === null) {
      const reason = named === undefined ? 'No route matches' : `The spider has no route ${JSON.stringify(named)}`
      return refuse('no_route', reason, text)
    }
    return { ok: true, target: { url: text, fp: fingerprint(text), host, route: route.name, priority: route.priority } }
  }

  const routeNamed = (name: string): { name: string; priority: number } | null => {
    const priority = rules.priorityOf(name)
    return priority === null ? null : { name, priority }
  }

  const verdictOn = (href: string, base: string): Verdict => {
    let place = ''
    let key = href
    let text: string | null = href
    if (!isAbsolute(href)) {
      if (lastBase === null || lastBase.href !== base) lastBase = createBase(base)
      ;({ place, key, text } = lastBase.locate(href))
    }
    const known = recall.get(place, key)
    if (known !== undefined) return known
    const ownKey = detach(key)
    const url = parseUrl(text ?? ownKey, text === null ? base : undefined)
    const verdict = url === null ? refuse('bad_url', 'It is not a URL', detach(href)) : judge(url)
    recall.set(place, ownKey, verdict)
    return verdict
  }

  const admit = (verdict: Verdict, route: string | undefined): Admission => {
    if (!verdict.ok) return verdict
    for (let answer = verdict.answers; answer !== null; answer = answer.next) {
      if (answer.route === route) return answer.admission
    }
    const admission = decide(verdict, route)
    verdict.url = null
    // A route that does not exist is the user's slip, and there may be any number of those.
    if (admission.ok || route === undefined) verdict.answers = { route, admission, next: verdict.answers }
    return admission
  }

  return {
    resolve(href, base, options) {
      // `follow($('a').attr('href'))` in a spider that no compiler has seen.
      if (typeof href !== 'string') return refuse('bad_url', 'A link must be a text', String(href))
      // Before anything looks at it: an href of a megabyte costs nothing.
      if (href.length > rules.maxUrlLength) return tooLong(href)
      const admission = admit(verdictOn(withoutFragment(href), base), options?.route)
      if (!admission.ok || (options?.request === undefined && options?.dedupeKey === undefined)) return admission
      const { target } = admission
      return { ok: true, target: { ...target, fp: fingerprint(target.url, options) } }
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
  }
}

function refuse(code: ErrorCode, reason: string, url: string): Refused {
  return { ok: false, refusal: { code, message: `${reason}: ${showUrl(url)}` } }
}

/** Not where a space would become the last character: the parser drops spaces at the end. */
function withoutFragment(href: string): string {
  const hash = href.indexOf('#')
  return hash === -1 || href.charCodeAt(hash - 1) <= 0x20 ? href : href.slice(0, hash)
}

/** `a..b` and `.a` are no names in DNS, though they parse. */
const EMPTY_LABEL = /^\.|\.(?:[.:]|$)/
