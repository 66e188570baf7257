import { ShoalError } from '../errors.js'
import type { HostKey } from './link.js'
import { isWeb, parseUrl } from './parse-url.js'
import type { CanonicalRules } from './rules.js'
import { isSessionParam, withoutSessionParam } from './session-ids.js'
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
}

/**
 * The one text that identifies a URL: the WHATWG form without user info, fragment, dropped parameters, empty parameters and the trailing dot of the
 * host; parameters sorted by name, those with equal names in their order; escapes in upper case, and none for characters that need none. Nothing else
 * changes: values keep their bytes, reserved characters their escapes.
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
export function compileCanonical(rules: CanonicalRules, sessionIds: boolean): (url: UrlParts) => CanonicalUrl {
  const { rewrite, sortParams } = rules
  const isDropped = compileDrops(rules.dropParams, sessionIds)
  const stripSlash = rules.trailingSlash === 'strip'

  const pathOf = (url: UrlParts): string => {
    let path = normaliseEscapes(url.pathname)
    if (sessionIds) path = withoutSessionParam(path)
    if (stripSlash && path.endsWith('/')) path = path.replace(TRAILING_SLASHES, '') || '/'
    return path
  }

  // By hand: URLSearchParams would turn %20 into + and re-encode every value.
  const queryOf = (url: UrlParts): string => {
    const search = url.search
    if (search === '') return ''
    const kept: { name: string; text: string }[] = []
    for (const text of normaliseEscapes(search.slice(1)).split('&')) {
      const equals = text.indexOf('=')
      const name = equals === -1 ? text : text.slice(0, equals)
      if (text !== '' && !isDropped(name, text.slice(name.length + 1))) kept.push({ name, text })
    }
    if (kept.length === 0) return ''
    if (sortParams) kept.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    return `?${kept.map(({ text }) => text).join('&')}`
  }

  const formOf = (url: UrlParts): CanonicalUrl => {
    const host = withoutTrailingDot(url.host)
    const path = pathOf(url)
    const query = queryOf(url)
    // Most URLs are already canonical: if the parts are as long as the whole, nothing was left out, and no text has to be built.
    const unchanged =
      host === url.host &&
      path === url.pathname &&
      query === url.search &&
      url.href.length === url.protocol.length + 2 + host.length + path.length + query.length
    return { text: unchanged ? url.href : `${url.protocol}//${host}${path}${query}`, host, path, query }
  }

  if (rewrite === null) return formOf
  return (url) => {
    const rewritten = new URL(formOf(url).text)
    rewrite(rewritten)
    return formOf(rewritten)
  }
}

const TRAILING_SLASHES = /\/+$/

function compileDrops(patterns: readonly string[], sessionIds: boolean): (name: string, value: string) => boolean {
  const names = new Set(patterns.filter((pattern) => !pattern.endsWith('*')))
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1))
  return (name, value) =>
    names.has(name) || prefixes.some((prefix) => name.startsWith(prefix)) || (sessionIds && isSessionParam(name, value))
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
