import { describeError, type ErrorCode } from '../errors.js'
import type { ProxyVerdict } from './proxy-ledger.js'
import { wordSearch } from './word-search.js'

/** What an answer, or its absence, says about the proxy it came through. */

export interface JudgedAnswer {
  /** As it was asked for. */
  readonly url: string
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Decoded. */
  readonly body: Uint8Array
  /** What the site asked for; null when it did not say. */
  readonly retryAfterMs: number | null
}

/** The user's own: true for an answer by which the site refuses the proxy. */
export type BanPredicate = (answer: {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The beginning of the page. */
  readonly text: string
}) => boolean

/** Only this much of a page is searched. */
const SEARCHED = 8_192
/** Walls are small. A page that is larger has content, whatever it talks about. */
const WALL_BYTES = 65_536
const SMALL_BYTES = 16_384

/**
 * 407 comes from the site itself: one of the proxy never gets this far. 502, 503 and 504 are what proxies say of themselves as well: the proxy is to
 * be avoided there, unless a Retry-After shows that the site has spoken.
 */
const BANNED_STATUS: ReadonlySet<number> = new Set([403, 407, 429, 502, 504])

/** Scripts and elements of the large vendors' block pages, which no page behind them contains; each with a word that must be present for it to match. */
const WALLS: readonly (readonly [word: string, wall: RegExp])[] = [
  ['_cf_chl_opt', /_cf_chl_opt/],
  ['challenge-platform/h/', /\/cdn-cgi\/challenge-platform\/h\/[bg]\/orchestrate/],
  ['challenge-error-text', /id="challenge-error-text"/],
  ['captcha-delivery.com/', /captcha-delivery\.com\/[ci]\.js/],
  ['var dd={', /var dd=\{'rt'/],
  ['px-captcha', /id="px-captcha"/],
  ['_pxAppId', /window\._pxAppId/],
  ['Incapsula', /_Incapsula_Resource\?[^"'?]*(?:incident_id|SWUDNSAI)|Incapsula incident ID/],
  ['gokuProps', /window\.gokuProps\s*=/],
  ['AwsWafIntegration', /AwsWafIntegration\.(?:checkForceRefresh|saveReferrer)/],
  ['sec-if-cpt-container', /sec-if-cpt-container/],
  ['/_sec/cp_challenge/', /\/_sec\/cp_challenge\//],
  ['validateCaptcha', /action="\/errors\/validateCaptcha"/],
  ['/sorry/index?', /\/sorry\/index\?continue=/],
  ['KP_UIDz', /ips\.js\?KP_UIDz/],
]

/** Widgets that ordinary pages have as well: in a small page with an error they are a wall. */
const WIDGETS =
  /g-recaptcha|h-captcha|cf-turnstile|recaptcha\/api\.js|hcaptcha\.com\/1\/api\.js|are you (?:a )?(?:human|robot)|captcha/i

/** A title alone is enough when the page has hardly anything else. */
const TITLES = [
  'just a moment\\.*',
  'attention required!',
  'access denied',
  'access to this page has been denied',
  'pardon our interruption',
  'robot check',
  'are you a (?:human|robot)\\??',
  'security check(?: required)?',
  'human verification',
  'bot verification',
  'captcha',
]
const WALL_TITLE = new RegExp(`<title[^<>]*>\\s*(?:${TITLES.join('|')})[^<]{0,40}</title>`, 'i')

/** Of nearly every page this is all that is done: the expressions together take ten times as long. */
const mayBeWall = wordSearch([...WALLS.map(([word]) => word), ...TITLES.map(plainStart)])

/** The literal text that an expression begins with. */
function plainStart(expression: string): string {
  return /^[a-z ]+/.exec(expression)?.[0] ?? ''
}

/** Where sites send those whom they take for robots. */
const WALL_PLACE =
  /\/(?:captcha|recaptcha|challenge|blocked|validatecaptcha|sorry\/index|px-?captcha|_sec\/cp_challenge)(?:[/?.#]|$)/i

export function verdictOfAnswer(answer: JudgedAnswer, predicate: BanPredicate | null): ProxyVerdict {
  const { status, headers, body, retryAfterMs } = answer
  if (predicate?.({ status, headers, text: beginningOf(body) }) === true) return { kind: 'banned', retryAfterMs }
  const unsaid = status === 503 && retryAfterMs === null
  if (unsaid || BANNED_STATUS.has(status) || isWall(answer)) return { kind: 'banned', retryAfterMs }
  return { kind: status >= 500 ? 'neutral' : 'good' }
}

function isWall({ url, status, headers, body }: JudgedAnswer): boolean {
  if (headers['cf-mitigated'] === 'challenge') return true
  const action = headers['x-amzn-waf-action']
  if (action === 'captcha' || action === 'challenge') return true
  // A page that is called so itself may well move to another spelling of its name.
  if (status >= 300 && status < 400) return WALL_PLACE.test(headers.location ?? '') && !WALL_PLACE.test(url)
  return body.length <= WALL_BYTES && isText(headers['content-type']) && looksLikeWall(status, body)
}

function isText(contentType = ''): boolean {
  return contentType === '' || contentType.includes('html') || contentType.startsWith('text/')
}

function looksLikeWall(status: number, body: Uint8Array): boolean {
  if (status < 400 && !mayBeWall(body, SEARCHED)) return false
  const text = beginningOf(body)
  if (WALLS.some(([, wall]) => wall.test(text))) return true
  if (body.length > SMALL_BYTES) return false
  if (status >= 400 && status !== 404 && status !== 410 && WIDGETS.test(text)) return true
  return WALL_TITLE.test(text) && linksIn(text) <= 3
}

/** An article about walls has a menu. */
function linksIn(text: string): number {
  return text.split(/<a\s/i).length - 1
}

function beginningOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, SEARCHED)).toString('latin1')
}

/**
 * A request that failed. A failure of the proxy itself has a code of its own. Silence and broken connections may come from either side, and a site that
 * does not want a proxy often just lets it wait: the proxy rests on that site alone, so that a site that hangs does not empty the pool.
 */
export function verdictOfError({ code }: { readonly code: ErrorCode }): ProxyVerdict {
  if (code === 'proxy_error') return { kind: 'broken' }
  return describeError(code).failedAt === 'connection' ? { kind: 'banned', retryAfterMs: null } : { kind: 'neutral' }
}
