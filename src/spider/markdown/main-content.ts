import type { ChildNode, Document, Element } from 'domhandler'
import { elementsOf } from '../html/tree.js'

/**
 * Where the content of a page is, as the page itself says: its main element or role, its only article, or the id or class that a documentation tool
 * gives it; otherwise the body. What is around and between it is left out by isFurniture().
 */
export function mainContent(root: Document): Element | null {
  const found: (Element | null)[] = PLACES.map(() => null)
  let body: Element | null = null
  let articles = 0
  for (const element of elementsOf(root)) {
    if (element.name === 'body') body ??= element
    if (element.name === 'article') articles++
    const place = PLACES.findIndex((is) => is(element))
    if (place >= 0) found[place] ??= element
  }
  if (articles > 1) found[ARTICLE] = null
  return found.find((element) => element !== null) ?? body
}

/** The best first. */
const PLACES: readonly ((element: Element) => boolean)[] = [
  ({ name, attribs }) => name === 'main' || attribs.role === 'main',
  ({ name }) => name === 'article',
  ({ attribs }) => CONTENT_IDS.has(attribs.id ?? ''),
  ({ attribs }) => attribs.id === 'content',
]
const ARTICLE = 1
/** MediaWiki, Doxygen, Node, Apache. What most others call `content` often has the navigation in it. */
const CONTENT_IDS: ReadonlySet<string> = new Set([
  'apicontent',
  'bodyContent',
  'doc-content',
  'main-content',
  'page-content',
])

const FURNITURE_TAGS: ReadonlySet<string> = new Set(
  'aside audio button canvas dialog embed footer form iframe input map nav noscript object script select style svg template textarea title video'.split(
    ' ',
  ),
)
const FURNITURE_ROLES: ReadonlySet<string> = new Set('banner complementary contentinfo navigation search'.split(' '))
/** Links to a heading (Sphinx, Rust, MkDocs), navigation of DocBook, Sphinx and Doxygen. */
const FURNITURE_CLASSES: ReadonlySet<string> = new Set(
  'anchor-link breadcrumbs footer headerlink navfooter navheader navpath related sphinxsidebar spirit-nav up'.split(
    ' ',
  ),
)

/** What is on the page but not part of its content: navigation, forms, scripts, what is hidden. */
export function isFurniture({ name, attribs }: Element): boolean {
  return (
    FURNITURE_TAGS.has(name) ||
    FURNITURE_ROLES.has(attribs.role ?? '') ||
    attribs.hidden !== undefined ||
    attribs['aria-hidden'] === 'true' ||
    classesOf(attribs).some((word) => FURNITURE_CLASSES.has(word))
  )
}

export function classesOf(attribs: Element['attribs']): readonly string[] {
  return attribs.class === undefined ? [] : attribs.class.split(/\s+/, 20)
}

/** Lists and tables of links above the first heading: the navigation of pages that do not mark it as such. */
export function menusOf(body: Element): ReadonlySet<Element> {
  const lists: Element[] = []
  for (const element of elementsOf(body)) {
    if (HEADINGS.has(element.name)) return new Set(lists.filter(isMostlyLinks))
    if (LISTS.has(element.name) && lists.length < MAX_LISTS) lists.push(element)
  }
  return new Set()
}
const HEADINGS: ReadonlySet<string> = new Set(['h1', 'h2', 'h3'])
const LISTS: ReadonlySet<string> = new Set(['ul', 'ol', 'table'])
/** Lists may be nested, and each is walked through. */
const MAX_LISTS = 50

function isMostlyLinks(list: Element): boolean {
  let all = 0
  let linked = 0
  const left: [ChildNode, boolean][] = list.children.map((child) => [child, false])
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [node, inLink] = next
    if (node.type === 'text') {
      const { length } = node.data.trim()
      all += length
      if (inLink) linked += length
    } else if ('attribs' in node) for (const child of node.children) left.push([child, inLink || node.name === 'a'])
  }
  return linked * 2 >= all
}
