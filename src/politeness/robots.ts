import type { ShoalError } from '../errors.js'
import { withoutUserInfo } from '../url/show-url.js'

/** What a site's robots.txt says to us (RFC 9309). */
export interface Robots {
  /** `pathAndQuery` as in a canonical URL, starting with a slash. */
  allows(pathAndQuery: string): boolean
  readonly crawlDelayMs: number | null
  readonly sitemaps: readonly string[]
  /**
   * Null if the file was read or does not exist. Otherwise it could not be read, nothing is allowed, and it is requested again at this time (wall
   * clock).
   */
  readonly retryAt: number | null
  /** How often in a row it could not be read, and why the last time, for people; 0 and '' if it was. */
  readonly failures: number
  readonly why: string
}

/** RFC 9309 requires at least this much to be read; the rest is ignored. */
export const ROBOTS_MAX_BYTES = 500 * 1024
const MAX_LINE_CHARS = 2_083 * 8
const MAX_SITEMAPS = 1_000
/** The reason goes into the shared notes and into the history of every link that waits for it. */
const WHY_MAX_CHARS = 300
/** A longer Crawl-delay is a way of saying no; Disallow exists for that. */
const CRAWL_DELAY_CAP_MS = 300_000

const WAS_READ = { retryAt: null, failures: 0, why: '' } as const
export const ALLOW_ALL: Robots = { allows: () => true, crawlDelayMs: null, sitemaps: [], ...WAS_READ }
export const FORBID_ALL: Robots = { ...ALLOW_ALL, allows: () => false }

export function unreachableUntil(retryAt: number, failures: number, why: string): Robots {
  return { allows: () => false, crawlDelayMs: null, sitemaps: [], retryAt, failures, why }
}

interface Rule {
  readonly allow: boolean
  /** Octets of the pattern as written: the longest match decides. */
  readonly length: number
  /** The pattern split at its wildcards; the first piece is anchored at the start of the path. */
  readonly pieces: readonly string[]
  readonly anchored: boolean
  /** The second character that every match has (the first is always a slash), -1 for any: rules out most rules with one comparison. */
  readonly second: number
}

interface Group {
  found: boolean
  readonly rules: { readonly allow: boolean; readonly pattern: string }[]
  crawlDelayMs: number | null
}

/** The part of a robots.txt that applies to us. */
export interface OwnPart extends Pick<Group, 'rules' | 'crawlDelayMs'> {
  readonly sitemaps: readonly string[]
}

/** `productToken` is the name in our user agent, 'Shoal' of 'Shoal/0.1 (+https://…)'. */
export function parseRobots(file: string | Uint8Array, productToken: string): Robots {
  return robotsOf(ownPart(file, productToken))
}

export function robotsOf({ rules, crawlDelayMs, sitemaps }: OwnPart): Robots {
  const compiled = rules.flatMap(({ allow, pattern }) => rulesOf(pattern, allow))
  return { allows: matcher(compiled), crawlDelayMs, sitemaps, ...WAS_READ }
}

/** As a small robots.txt of its own, to be stored: a fraction of the file. */
export function textOf({ rules, crawlDelayMs, sitemaps }: OwnPart): string {
  return [
    'User-agent: *',
    ...rules.map(({ allow, pattern }) => `${allow ? 'Allow' : 'Disallow'}: ${pattern}`),
    ...(crawlDelayMs === null ? [] : [`Crawl-delay: ${crawlDelayMs / 1000}`]),
    ...sitemaps.map((url) => `Sitemap: ${url}`),
  ].join('\n')
}

export function ownPart(file: string | Uint8Array, productToken: string): OwnPart {
  const own: Group = { found: false, rules: [], crawlDelayMs: null }
  const everybody: Group = { found: false, rules: [], crawlDelayMs: null }
  const sitemaps: string[] = []
  const me = agentName(productToken)

  let current = new Set<Group>()
  let readingAgents = false
  /** A Crawl-delay applies to the agents named since the last one: in a list of agents with only delays, each has its own. */
  let delayed = new Set<Group>()
  let readingDelayed = false
  for (const line of linesOf(file)) {
    const field = fieldOf(line)
    if (field === null) continue
    const { name, value } = field
    if (name === 'user-agent') {
      if (!readingAgents) current = new Set()
      if (!readingDelayed) delayed = new Set()
      readingAgents = true
      readingDelayed = true
      const group = groupNamed(value, me, own, everybody)
      if (group !== null) {
        group.found = true
        current.add(group)
        delayed.add(group)
      }
    } else if (name === 'allow' || name === 'disallow') {
      readingAgents = false
      readingDelayed = false
      if (current.size === 0 || value === '') continue
      for (const group of current) group.rules.push({ allow: name === 'allow', pattern: value })
    } else if (name === 'crawl-delay') {
      // Like every line that RFC 9309 does not define, it does not end the list of agents for the rules that follow.
      readingDelayed = false
      for (const group of delayed) group.crawlDelayMs = crawlDelay(value) ?? group.crawlDelayMs
    } else if (name === 'sitemap' && value !== '' && sitemaps.length < MAX_SITEMAPS) {
      // The fleet shares this text in the queue.
      sitemaps.push(withoutUserInfo(value))
    }
  }

  const { rules, crawlDelayMs } = own.found ? own : everybody
  return { rules, crawlDelayMs, sitemaps }
}

function linesOf(file: string | Uint8Array): string[] {
  const text = typeof file === 'string' ? file.replace(/^\uFEFF/, '') : decode(file.subarray(0, ROBOTS_MAX_BYTES))
  const cut = file.length > ROBOTS_MAX_BYTES
  // Half a byte order mark is not a letter either.
  const lines = text
    .slice(0, ROBOTS_MAX_BYTES)
    .replace(/^\uFFFD/, '')
    .split(/\r\n|\r|\n/)
  // Half of 'Disallow: /private' would be 'Disallow: /'.
  if (cut) lines.pop()
  return lines
}

function decode(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  return new TextDecoder().decode(bytes)
}

const SPELLINGS = new Map([
  ['useragent', 'user-agent'],
  ['user agent', 'user-agent'],
  ['dissallow', 'disallow'],
  ['dissalow', 'disallow'],
  ['disalow', 'disallow'],
  ['diasllow', 'disallow'],
  ['disallaw', 'disallow'],
  ['site-map', 'sitemap'],
])

function fieldOf(line: string): { name: string; value: string } | null {
  const text = line.slice(0, MAX_LINE_CHARS)
  const hash = text.indexOf('#')
  const bare = (hash === -1 ? text : text.slice(0, hash)).trim()
  const colon = bare.indexOf(':')
  if (colon === -1) {
    // Some people write 'Disallow /', and it is clear what they mean.
    const words = bare.split(/\s+/, 3)
    const [name = '', value = ''] = words
    return words.length === 2 ? { name: fieldName(name), value } : null
  }
  return { name: fieldName(bare.slice(0, colon).trim()), value: bare.slice(colon + 1).trim() }
}

function fieldName(written: string): string {
  const name = written.toLowerCase()
  return SPELLINGS.get(name) ?? name
}

function agentName(value: string): string {
  return (/^[a-z_-]*/i.exec(value)?.[0] ?? '').toLowerCase()
}

function groupNamed(value: string, me: string, own: Group, everybody: Group): Group | null {
  if (/^\*(\s|$)/.test(value)) return everybody
  const name = agentName(value)
  return name !== '' && name === me ? own : null
}

function crawlDelay(value: string): number | null {
  if (!/^\d+(\.\d+)?(e\d+)?$/i.test(value)) return null
  return Math.min(CRAWL_DELAY_CAP_MS, Number(value) * 1000)
}

function rulesOf(pattern: string, allow: boolean): Rule[] {
  const rule = ruleOf(pattern, allow)
  // Allowing a directory's index means allowing the directory.
  if (!allow || !pattern.endsWith('/index.html')) return [rule]
  return [rule, ruleOf(`${pattern.slice(0, -'index.html'.length)}$`, allow)]
}

function ruleOf(pattern: string, allow: boolean): Rule {
  const anchored = pattern.endsWith('$')
  const body = anchored ? pattern.slice(0, -1) : pattern
  const pieces = body.split(/\*+/).map(normalise)
  const length = pieces.join('*').length + (anchored ? 1 : 0)
  const first = pieces[0] ?? ''
  return { allow, length, pieces, anchored, second: first.length > 1 ? first.charCodeAt(1) : -1 }
}

/** Characters that rules and paths may spell in two ways: all except these. */
const TWO_SPELLINGS = /[^!#&'()+,\-./0-9:;=?@A-Z[\]_a-z~]/

/**
 * One spelling for equivalent paths: unreserved characters plain, everything else that is not plain ASCII as upper-case percent-encoding. A star or
 * dollar inside a path is a character, not a wildcard.
 */
function normalise(text: string): string {
  if (!TWO_SPELLINGS.test(text)) return text
  return text.replace(/%([0-9a-f]{2})|%|[^%!#&'()+,\-./0-9:;=?@A-Z[\]_a-z~]+/gi, (match, hex?: string) => {
    if (hex === undefined) return match === '%' ? match : percent(match)
    const char = String.fromCharCode(Number.parseInt(hex, 16))
    return /[A-Za-z0-9._~-]/.test(char) ? char : match.toUpperCase()
  })
}

function percent(text: string): string {
  return Array.from(
    new TextEncoder().encode(text),
    (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('')
}

/** Allowed whatever the rules say (RFC 9309, 2.2.2). */
const ROBOTS_PATH = '/robots.txt'

/** The longest matching rule decides, and allow wins a tie: so the first match in this order is the answer. */
function matcher(rules: readonly Rule[]): (pathAndQuery: string) => boolean {
  if (rules.every((rule) => rule.allow)) return () => true
  const ordered = [...rules].sort((a, b) => b.length - a.length || Number(b.allow) - Number(a.allow))
  return (pathAndQuery) => {
    const path = normalise(pathAndQuery)
    const second = path.charCodeAt(1)
    for (const rule of ordered) {
      if ((rule.second === -1 || rule.second === second) && matches(rule, path))
        return rule.allow || path === ROBOTS_PATH
    }
    return true
  }
}

/** Each piece at its earliest position: no wildcard ever needs a second try, so time is linear in the path for each piece. */
function matches({ pieces, anchored }: Rule, path: string): boolean {
  const first = pieces[0] ?? ''
  if (!path.startsWith(first)) return false
  const last = pieces.length - 1
  if (last === 0) return !anchored || path.length === first.length
  let at = first.length
  for (let i = 1; i < last; i++) {
    const piece = pieces[i] ?? ''
    const found = path.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  const end = pieces[last] ?? ''
  if (!anchored) return path.indexOf(end, at) !== -1
  return path.length - end.length >= at && path.endsWith(end)
}

export interface RobotsResponse {
  readonly status: number
  /** Decoded. */
  readonly body: Uint8Array
}

/** How fetching robots.txt ended; redirects are followed by the caller. */
export type RobotsOutcome =
  | { readonly kind: 'response'; readonly response: RobotsResponse }
  | { readonly kind: 'error'; readonly error: ShoalError }

export type RobotsDecision =
  | { readonly kind: 'rules'; readonly part: OwnPart }
  /** It does not exist: everything is allowed. */
  | { readonly kind: 'none' }
  /** Access was denied (401, 403): everything is allowed too, unless the spider is strict. */
  | { readonly kind: 'denied' }
  /** Nothing may be fetched yet; ask again later. `why` is for people. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** The page itself would fail in the same way: let it fail with the real reason. */
  | { readonly kind: 'hopeless'; readonly error: ShoalError }

/**
 * RFC 9309, 2.3.1: "unavailable" (4xx, too many redirects) allows everything; "unreachable" (5xx, network, timeouts) forbids everything. 429 is a 4xx
 * that means "not now" and counts as unreachable.
 */
export function robotsFor(outcome: RobotsOutcome, productToken: string): RobotsDecision {
  if (outcome.kind === 'response') {
    const { status, body } = outcome.response
    if (status >= 200 && status < 300) return { kind: 'rules', part: ownPart(body, productToken) }
    if (status === 429 || status >= 500) return { kind: 'unreachable', why: `the server answered ${status}` }
    return { kind: status === 401 || status === 403 ? 'denied' : 'none' }
  }
  const { error } = outcome
  switch (error.code) {
    case 'too_many_redirects':
    case 'bad_redirect':
    case 'bad_scheme':
    case 'bad_url':
    case 'http_error':
      return { kind: 'none' }
    case 'private_address':
    case 'blocked_port':
    case 'dns_not_found':
    case 'tls_error':
      return { kind: 'hopeless', error }
    default:
      return { kind: 'unreachable', why: error.message.slice(0, WHY_MAX_CHARS) }
  }
}
