/**
 * Session ids in URLs make every page endless: a crawler keeps no cookies, so each visit gets new ones. If the site works without them (query,
 * `;jsessionid=`) they are removed, because refusing such links would refuse the whole site. If they are part of the path (ASP.NET `/(S(…))/`) the
 * site only redirects to a new one, so the link is refused.
 *
 * A name that only session ids have is certain. A name like `s` or `sid` is not: `/doc?s=<md5>` may be the key of a document, and without it a
 * thousand documents would be one. Those are touched only if the spider says so.
 */

const CERTAIN_PARAM = /^(?:jsessionid|phpsessid|aspsessionid[a-z]*|asp\.net_sessionid|cfid|cftoken|oscsid|zenid)$/i

/** Names that have other meanings too: only with a value in the form of PHP's 26 or MD5's 32 digits. A UUID may be a real key. */
const LIKELY_PARAM = /^(?:s|sid|sessid|session|session_?id)$/i
const TOKEN = /^(?=.*[0-9])(?=.*[a-z])[0-9a-z]{26,}$/i

const PATH_PARAM = /;(?:jsessionid|phpsessid)=[^/;]*/gi
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/

/** Every session segment contains one of these. */
const SEGMENT_SIGN = /[(=:,]/
const CERTAIN_SEGMENT =
  /\/(?:\((?:[a-z]\([^()/]*\))*s\([0-9a-z]{20,}\)\)|(?:jsessionid|phpsessid)[=:,][^/]{8,})(?=\/|$)/i
const LIKELY_SEGMENT = /\/(?:sessionid|sid)[=:,][^/]{8,}(?=\/|$)/i

export function isSessionParam(name: string): boolean {
  return CERTAIN_PARAM.test(name)
}

export function isLikelySessionParam(name: string, value: string): boolean {
  return LIKELY_PARAM.test(name) && TOKEN.test(value)
}

export function withoutSessionParam(path: string): string {
  if (!path.includes(';')) return path
  const stripped = path.replace(PATH_PARAM, '')
  // `/..;jsessionid=1/` would become a dot segment, and thus another resource.
  return DOT_SEGMENT.test(stripped) ? path : stripped
}

export function hasSessionSegment(path: string, likely: boolean): boolean {
  return SEGMENT_SIGN.test(path) && (CERTAIN_SEGMENT.test(path) || (likely && LIKELY_SEGMENT.test(path)))
}
