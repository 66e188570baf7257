import { ShoalError } from '../errors.js'
import { normaliseEscapes } from './canonicalise.js'
import type { UrlParts } from './url-parts.js'

export type UrlPattern = (url: UrlParts) => boolean

/**
 * A route's `match`, and the patterns of a scope:
 *   `/about`                   exactly this path
 *   `/catalogue/page-*`        `*` is any number of characters except `/`, including none
 *   `/docs/**`                 `**` is any number of characters; `/docs` itself does not match
 *   `/search?q=*`              a pattern with a `?` is compared with path and query, others only with the path;
 *                              parameters are in canonical order; `?` is a literal, and after it `*` is any number of characters
 *   `https://x.example/p/*`    with scheme and host; `https://*.x.example/**` for subdomains
 *   a RegExp                   is tested on the whole URL
 * Matching takes at most time proportional to pattern × URL, whatever the pattern.
 */
export function compilePattern(pattern: string | RegExp): UrlPattern {
  if (pattern instanceof RegExp) {
    const expression = stateless(pattern)
    return (url) => expression.test(url.href)
  }
  const full = /^https?:\/\//i.test(pattern)
  if (!(full || pattern.startsWith('/') || pattern.startsWith('**')) || pattern.includes('#')) {
    throw new ShoalError('spider_invalid', `match: ${JSON.stringify(pattern)} can never match`, {
      hint: "Start with '/', '**' or 'https://', and leave out the fragment.",
    })
  }
  const matches = compileGlob(encode(full ? normaliseOrigin(pattern) : pattern))
  const withQuery = pattern.includes('?')
  if (full) return (url) => matches(`${url.protocol}//${url.host}${url.pathname}${withQuery ? url.search : ''}`)
  return withQuery ? (url) => matches(url.pathname + url.search) : (url) => matches(url.pathname)
}

/** With `g` or `y` a pattern would start where its last match ended. */
function stateless(pattern: RegExp): RegExp {
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
}

export function matchUrl(patterns: readonly UrlPattern[], url: UrlParts): boolean {
  for (const matches of patterns) if (matches(url)) return true
  return false
}

/** Scheme and host as a parsed URL spells them; a pattern without a path means the root. */
function normaliseOrigin(pattern: string): string {
  const end = pattern.slice(8).search(/[/?]/)
  const cut = end === -1 ? pattern.length : end + 8
  const origin = pattern.slice(0, cut)
  const rest = pattern.slice(cut)
  const path = rest.startsWith('/') ? rest : `/${rest}`
  if (origin.includes('*')) return origin.toLowerCase() + path
  try {
    const { protocol, host } = new URL(origin)
    return `${protocol}//${host}${path}`
  } catch (cause) {
    throw new ShoalError('spider_invalid', `match: ${JSON.stringify(pattern)} has no valid host`, { cause })
  }
}

/** Letters such as é are escaped in a URL. */
function encode(pattern: string): string {
  return normaliseEscapes(pattern.replace(/\p{Cs}/gu, '\ufffd').replace(/[^\x21-\x7e]+/g, encodeURIComponent))
}

interface Piece {
  /** Matches `/` as well. */
  readonly deep: boolean
  readonly literal: string
}

function compileGlob(glob: string): (text: string) => boolean {
  const query = glob.indexOf('?')
  const [head = '', ...rest] = glob.split(/\*+/)
  let at = head.length
  const pieces: Piece[] = rest.map((literal) => {
    const stars = /^\*+/.exec(glob.slice(at))?.[0].length ?? 0
    const deep = stars > 1 || (query !== -1 && at > query)
    at += stars + literal.length
    return { deep, literal }
  })
  const tail = pieces.at(-1)
  if (tail === undefined) return (text) => text === glob
  const shortest = glob.replaceAll('*', '').length
  const fits = (text: string) => text.length >= shortest && text.startsWith(head) && text.endsWith(tail.literal)
  if (pieces.length > 1) return (text) => fits(text) && reachesEnd(text, head.length, pieces)
  return (text) => {
    if (!fits(text)) return false
    const slash = tail.deep ? -1 : text.indexOf('/', head.length)
    return slash === -1 || slash >= text.length - tail.literal.length
  }
}

/** Piece by piece, all positions at once; backtracking would try every combination. */
function reachesEnd(text: string, start: number, pieces: readonly Piece[]): boolean {
  let reached = new Uint8Array(text.length + 1)
  reached[start] = 1
  for (const { deep, literal } of pieces) {
    const next = new Uint8Array(text.length + 1)
    let open = false
    for (let i = start; i + literal.length <= text.length; i++) {
      if (reached[i] === 1) open = true
      if (open && text.startsWith(literal, i)) next[i + literal.length] = 1
      if (!deep && text[i] === '/') open = false
    }
    reached = next
  }
  return reached[text.length] === 1
}
