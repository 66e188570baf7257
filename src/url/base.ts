import { isWeb } from './parse-url.js'
import type { UrlParts } from './url-parts.js'

/**
 * The cache key of a link, and what it is parsed from. Links with the same place and key lead to the same URL, whichever page they are on. If it is
 * `whole`, place + key is that URL; otherwise the link has to be parsed against the base.
 */
interface Located {
  readonly place: string
  readonly key: string
  readonly whole: boolean
}

/** The page that links are resolved against, split into its parts once for all of its links. */
export interface Base {
  readonly href: string
  locate(href: string): Located
}

const SPACE = 0x20
const SLASH = 0x2f
const QUESTION = 0x3f
const BACKSLASH = 0x5c
const OTHER_SCHEME = /^(?!https?:)[a-z][a-z0-9+.-]*:/i

export function isAbsolute(href: string): boolean {
  return href.startsWith('https://') || href.startsWith('http://')
}

/** `href` without its fragment, for every case but the plain absolute one. `page` is the parsed base; null if it is not a URL. */
export function createBase(base: string, page: UrlParts | null): Base {
  const own = `=${base}`
  // Not a web page: nothing is known about how links relate to it.
  if (page === null || !isWeb(page)) return { href: base, locate: (href) => ({ place: own, key: href, whole: false }) }

  const origin = `${page.protocol}//${page.host}`
  const path = page.pathname
  /** The page's directory, then its parents. */
  const directories = [origin + path.slice(0, path.lastIndexOf('/') + 1)]
  const ancestor = (levels: number): string => {
    for (let last = directories.length - 1; last < levels; last++) {
      directories.push(parentOf(directories[last] ?? origin, origin.length))
    }
    return directories[levels] ?? origin
  }

  return {
    href: base,
    locate(href) {
      const first = href.charCodeAt(0)
      if (first === SLASH) {
        const second = href.charCodeAt(1)
        const hasHost = second === SLASH || second === BACKSLASH || second < SPACE
        return { place: origin, key: href, whole: !hasHost }
      }
      // These depend on the page itself; the parser ignores leading tabs and spaces.
      if (!(first > SPACE) || first === QUESTION || first === BACKSLASH) return { place: own, key: href, whole: false }
      if (href.includes(':')) {
        return OTHER_SCHEME.test(href) ? { place: '', key: href, whole: true } : { place: own, key: href, whole: false }
      }
      let levels = 0
      while (href.startsWith('../', levels * 3)) levels++
      const key = levels === 0 ? href : href.slice(levels * 3)
      return { place: ancestor(levels), key, whole: true }
    },
  }
}

/** `https://h/a/b/` → `https://h/a/`; the root is its own parent. */
function parentOf(directory: string, originLength: number): string {
  if (directory.length === originLength + 1) return directory
  return directory.slice(0, directory.lastIndexOf('/', directory.length - 2) + 1)
}
