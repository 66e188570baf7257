import { isWeb, parseUrl } from './parse-url.js'
import type { UrlParts } from './url-parts.js'

/**
 * What a URL parser leaves unchanged: no escape, no white space, no segment that starts with a dot, no fragment. Unusual characters that need no
 * escape in a path or a query are not included; those go to the parser.
 */
const PLAIN = /^(?:\/(?!\.)[\w~!$&()*+,:;=@.-]*)+(?:\?[\w~!$&()*+,:;=@./?-]*)?$/
const PATH_START = 8
const SLASH = 0x2f
const ORIGINS_REMEMBERED = 1000

interface Origin {
  readonly text: string
  readonly protocol: string
  readonly host: string
}

/**
 * Splits most links of a site without the URL parser, which is most of the cost of a new link: the origin is parsed once, and a plain path and query
 * after it need no parsing. Null if only the parser knows.
 */
export function createPlainParser(): (text: string) => UrlParts | null {
  const origins = new Map<string, Origin | null>()
  let last: Origin | null = null

  const originOf = (text: string): Origin | null => {
    if (last !== null && text.charCodeAt(last.text.length) === SLASH && text.startsWith(last.text)) return last
    const end = text.indexOf('/', PATH_START)
    if (end === -1) return null
    const name = text.slice(0, end)
    let origin = origins.get(name)
    if (origin === undefined) {
      origin = parseOrigin(name)
      if (origins.size >= ORIGINS_REMEMBERED) origins.clear()
      origins.set(name, origin)
    }
    last = origin ?? last
    return origin
  }

  return (text) => {
    const origin = originOf(text)
    if (origin === null) return null
    const rest = text.slice(origin.text.length)
    if (!PLAIN.test(rest)) return null
    const question = rest.indexOf('?')
    return {
      href: text,
      protocol: origin.protocol,
      host: origin.host,
      pathname: question === -1 ? rest : rest.slice(0, question),
      // The parser, too, reports no search for a question mark with nothing after it.
      search: question === -1 || question === rest.length - 1 ? '' : rest.slice(question),
    }
  }
}

/** Null if the parser would spell it differently. */
function parseOrigin(text: string): Origin | null {
  const url = parseUrl(text)
  if (url === null || !isWeb(url) || `${url.protocol}//${url.host}` !== text) return null
  return { text, protocol: url.protocol, host: url.host }
}
