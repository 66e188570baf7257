import { ShoalError } from '../errors.js'
import type { FilterReason } from './filter-reasons.js'
import type { HostKey } from './link.js'
import { isWeb, parseUrl } from './parse-url.js'
import type { CanonicalRules, SessionIdRule } from './rules.js'
import { isLikelySessionParam, isSessionParam, withoutSessionParam } from './session-ids.js'
import { showUrl } from './show-url.js'
import type { UrlParts } from './url-parts.js'

/** Parameters that advertisers and mailers add and that no site needs to find a page. */
export const DEFAULT_DROP_PARAMS: readonly string[] = [
  ...['utm_*', 'gclid', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'gad_source', 'gad_campaignid', 'srsltid', '_ga', '_gl'],
  ...['fbclid', 'igshid', 'igsh', 'msclkid', 'yclid', 'ysclid', '_openstat', 'twclid', 'ttclid', 'li_fat_id', 'epik'],
  ...['mc_cid', 'mc_eid', 'mkt_tok', '_hsenc', '_hsmi', '__hstc', '__hssc', '__hsfp', 'hsCtaTracking', 'vero_id'],
  ...['oly_anon_id', 'oly_enc_id', 'wickedid', 'rb_clickid', 's_cid', 'ScCid', '_kx', 'mtm_*', 'pk_campaign', 'pk_kwd'],
]

export const DEFAULT_CANONICAL: CanonicalRules = {
  dropParams: DEFAULT_DROP_PARAMS,
  sortParams: true,
  trailingSlash: 'keep',
  rewrite: null,
}

/** The canonical text of an http or https URL, and its parts: `path` starts with a slash, `query` with `?` or is empty. */
export interface CanonicalUrl {
  readonly text: string
  readonly host: HostKey
  readonly path: string
  readonly query: string
  /** The first rule that changed the WHATWG form, or that another setting would have changed it by; null: none. The fragment is not part of a request. */
  readonly rule: CanonicalRule | null
}

export type CanonicalRule = Extract<
  FilterReason,
  'session_id' | 'likely_session_id' | 'dropped_params' | 'rewritten' | 'param_order' | 'trailing_slash' | 'spelling'
>

/**
 * The one text that identifies a URL: the WHATWG form without user info, fragment, dropped parameters, empty parameters and the trailing dot of the
 * host; parameters sorted by name, those with equal names in their order; escapes in upper case, and none for characters that need none. Nothing else
 * changes: values keep their bytes, reserved characters their escapes. A query with a parameter without `=` keeps its order: `?b&a` may be
 * a list of words, and their order may have a meaning.
 */
export function canonicalise(url: URL | string, rules: CanonicalRules): string {
  const parsed = typeof url === 'string' ? parseUrl(url) : url
  if (parsed === null) throw new ShoalError('bad_url', `It is not a URL: ${showUrl(String(url))}`)
  if (!isWeb(parsed)) {
    throw new ShoalError('bad_scheme', `Only http and https can be fetched: ${showUrl(parsed.href)}`)
  }
  return compileCanonical(rules, false)(parsed).text
}

/** `canonicalise` prepared for many URLs; with `sessionIds` they are removed as well. */
export function compileCanonical(rules: CanonicalRules, sessionIds: SessionIdRule): (url: UrlParts) => CanonicalUrl {
  const { rewrite, sortParams } = rules
  const ruleOf = compileParamRules(rules.dropParams, sessionIds)
  const stripSlash = rules.trailingSlash === 'strip'
  /** Of the URL in work: what changed it so far. */
  let rule: CanonicalRule | null = null
  const applied = (by: CanonicalRule): void => {
    if (rule === null || RULES.indexOf(by) < RULES.indexOf(rule)) rule = by
  }

  const pathOf = (url: UrlParts): string => {
    let path = normaliseEscapes(url.pathname)
    if (sessionIds !== false) {
      const stripped = withoutSessionParam(path)
      if (stripped !== path) applied('session_id')
      path = stripped
    }
    if (stripSlash && path.length > 1 && path.endsWith('/')) {
      applied('trailing_slash')
      path = withoutTrailingSlashes(path) || '/'
    }
    return path
  }

  // By hand: URLSearchParams would turn %20 into + and re-encode every value.
  const queryOf = (url: UrlParts): string => {
    const search = url.search
    if (search === '') return ''
    const kept: Param[] = []
    let isPairs = true
    for (const text of normaliseEscapes(search.slice(1)).split('&')) {
      if (text === '') continue
      const equals = text.indexOf('=')
      const name = equals === -1 ? text : text.slice(0, equals)
      const by = ruleOf(name, text.slice(name.length + 1))
      if (by !== null) applied(by)
      if (by !== null && by !== 'likely_session_id') continue
      if (equals === -1) isPairs = false
      kept.push({ name, text })
    }
    if (kept.length === 0) return ''
    if (sortParams && isPairs && !isSorted(kept)) {
      applied('param_order')
      kept.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    }
    return `?${kept.map(({ text }) => text).join('&')}`
  }

  const formOf = (url: UrlParts): CanonicalUrl => {
    rule = null
    const host = withoutTrailingDot(url.host)
    const path = pathOf(url)
    const query = queryOf(url)
    // Most URLs are already canonical: if the parts are as long as the whole, nothing was left out, and no text has to be built.
    const unchanged =
      host === url.host &&
      path === url.pathname &&
      query === url.search &&
      url.href.length === url.protocol.length + 2 + host.length + path.length + query.length
    if (unchanged) return { text: url.href, host, path, query, rule }
    const text = `${url.protocol}//${host}${path}${query}`
    if (text !== withoutFragment(url.href)) applied('spelling')
    return { text, host, path, query, rule }
  }

  if (rewrite === null) return formOf
  return (url) => {
    const form = formOf(url)
    const rewritten = new URL(form.text)
    rewrite(rewritten)
    const last = formOf(rewritten)
    return { ...last, rule: form.rule ?? (last.text === form.text ? null : 'rewritten') }
  }
}

/** First comes what matters most to whoever misses a page. */
const RULES: readonly CanonicalRule[] = [
  ...(['session_id', 'likely_session_id', 'dropped_params', 'rewritten'] as const),
  ...(['param_order', 'trailing_slash', 'spelling'] as const),
]

interface Param {
  readonly name: string
  readonly text: string
}

function isSorted(params: readonly Param[]): boolean {
  return params.every(({ name }, nth) => nth === 0 || (params[nth - 1]?.name ?? '') <= name)
}

function withoutFragment(href: string): string {
  const hash = href.indexOf('#')
  return hash === -1 ? href : href.slice(0, hash)
}

/** By hand: a regular expression tries each slash of `/////x` as the first of the last ones. */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

function compileParamRules(
  dropped: readonly string[],
  sessionIds: SessionIdRule,
): (
  name: string,
  value: string,
) => Extract<CanonicalRule, 'session_id' | 'likely_session_id' | 'dropped_params'> | null {
  const names = new Set(dropped.filter((pattern) => !pattern.endsWith('*')))
  const prefixes = dropped.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1))
  return (name, value) => {
    if (names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) return 'dropped_params'
    if (sessionIds === false) return null
    if (isSessionParam(name)) return 'session_id'
    if (!isLikelySessionParam(name, value)) return null
    return sessionIds === 'likely' ? 'session_id' : 'likely_session_id'
  }
}

/** Only one dot, and only after a label: `0x7f..` without its last dot would be an address. */
export function withoutTrailingDot(host: string): string {
  if (!host.endsWith('.') && !host.includes('.:')) return host
  return host.replace(TRAILING_DOT, '$1$2')
}

const TRAILING_DOT = /([^.])\.(:[0-9]+)?$/

const ESCAPE = /%[0-9A-Fa-f]{2}/g
const UNRESERVED = /[A-Za-z0-9\-._~]/
const HEX_DIGIT = /[0-9A-Fa-f]/

export function normaliseEscapes(text: string): string {
  if (!text.includes('%')) return text
  return text.replace(ESCAPE, (escaped, offset: number) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
    if (!UNRESERVED.test(character)) return escaped.toUpperCase()
    // After a stray % the decoded character would form an escape that was not there: `%%34%31` is not `%41`.
    const stray = text[offset - 1] === '%' || (text[offset - 2] === '%' && HEX_DIGIT.test(text[offset - 1] ?? ''))
    return stray ? escaped.toUpperCase() : character
  })
}
