import { Cookie, CookieJar, MemoryCookieStore, PrefixSecurityEnum } from 'tough-cookie'
import type { Clock } from '../clock.js'
import { isWeb, parseUrl } from '../url/parse-url.js'

/** Of one session. Browsers keep about as many. */
const MOST_COOKIES = 180
const MOST_IN_ANSWER = 50
const COOKIE_BYTES = 4096
const HEADER_BYTES = 8192
/** As browsers do. */
const LONGEST_AGE_S = 400 * 24 * 3600
/** What a header may contain. */
const FIT_TO_SEND = /^[\t\x20-\x7e\x80-\xff]*$/

/** The cookies of one session. What a hostile site sends is left out without a word: for a public suffix, for others, too large, too many. */
export interface Cookies {
  /** For the request header; '' when there are none. */
  headerFor(url: string): string
  /** From the Set-Cookie lines of an answer. */
  take(url: string, lines: readonly string[]): void
}

export function createCookies(clock: Clock): Cookies {
  const store = new MemoryCookieStore()
  const jar = new CookieJar(store, { rejectPublicSuffixes: true, prefixSecurity: PrefixSecurityEnum.STRICT })
  // Most sessions never get one: a page without cookies costs a comparison.
  let empty = true
  return {
    headerFor(url) {
      if (empty) return ''
      let header = ''
      // The jar goes by the time of the system.
      for (const cookie of jar.getCookiesSync(url, { expire: false })) {
        if ((cookie.expiryTime() ?? Number.POSITIVE_INFINITY) <= clock.now()) continue
        const text = cookie.cookieString()
        if (header.length + text.length + 2 <= HEADER_BYTES) header += header === '' ? text : `; ${text}`
      }
      return header
    },
    take(url, lines) {
      const from = lines.length === 0 ? null : parseUrl(url)
      if (from === null || !isWeb(from)) return
      for (const line of lines.slice(0, MOST_IN_ANSWER)) {
        const cookie = line.length <= COOKIE_BYTES && FIT_TO_SEND.test(line) ? Cookie.parse(line) : undefined
        // Who can change what passes in the clear must not replace what was said in private.
        if (cookie === undefined || (cookie.secure && from.protocol === 'http:')) continue
        fixEnd(cookie, clock.now())
        jar.setCookieSync(cookie, url, { ignoreError: true, now: new Date(clock.now()) })
        empty = false
      }
      if (!empty) dropOldest(store)
    },
  }
}

/** Max-Age counts from now; the jar would count it from the last use, and a cookie in use would never end. */
function fixEnd(cookie: Cookie, now: number): void {
  const { maxAge } = cookie
  if (typeof maxAge !== 'number') return
  cookie.maxAge = null
  cookie.setExpires(new Date(maxAge <= 0 ? 0 : now + Math.min(maxAge, LONGEST_AGE_S) * 1000))
}

function dropOldest(store: MemoryCookieStore): void {
  store.getAllCookies((_error, cookies = []) => {
    const surplus = cookies.length - MOST_COOKIES
    if (surplus <= 0) return
    const oldest = [...cookies].sort((a, b) => timeOf(a) - timeOf(b)).slice(0, surplus)
    for (const { domain, path, key } of oldest) store.removeCookie(domain ?? '', path ?? '/', key, () => {})
  })
}

function timeOf({ creation }: Cookie): number {
  return creation instanceof Date ? creation.getTime() : 0
}
