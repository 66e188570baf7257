import { isWeb, parseUrl } from './parse-url.js'

/**
 * Where a link is looked up and what it is parsed from. Links with the same place and key lead to the same URL, whichever page they
 * stand on. `text` is complete by itself; when it is null the link has to be parsed against the base.
 */
export interface Located {
  readonly place: string
  readonly key: string
  readonly text: string | null
}

/** The page that links are resolved against, taken apart once for all of its links. */
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

/** `href` without its fragment, for every case but the plain absolute one. */
export function createBase(base: string): Base {
  const own = `=${base}`
  const page = parseUrl(base)
  // Not a page on the web: nothing is known about how links relate to it.
  if (page === null || !isWeb(page)) return { href: base, locate: (href) => ({ place: own, key: href, text: null }) }

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
        return { place: origin, key: href, text: hasHost ? null : origin + href }
      }
      // Of these the page itself is a part; tabs and spaces in front are ignored by the parser.
      if (!(first > SPACE) || first === QUESTION || first === BACKSLASH) return { place: own, key: href, text: null }
      if (href.includes(':')) {
        return OTHER_SCHEME.test(href) ? { place: '', key: href, text: href } : { place: own, key: href, text: null }
      }
      let levels = 0
      while (href.startsWith('../', levels * 3)) levels++
      const key = levels === 0 ? href : href.slice(levels * 3)
      const place = ancestor(levels)
      return { place, key, text: place + key }
    },
  }
}

/** `https://h/a/b/` → `https://h/a/`; the root is its own parent. */
function parentOf(directory: string, originLength: number): string {
  if (directory.length === originLength + 1) return directory
  return directory.slice(0, directory.lastIndexOf('/', directory.length - 2) + 1)
}
