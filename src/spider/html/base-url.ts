import type { Document, Element } from 'domhandler'
import { parseUrl } from '../../url/parse-url.js'

const HTML = 'http://www.w3.org/1999/xhtml'

/** A `base` inside svg or math is not HTML's and means nothing. */
export function isHtmlElement({ namespace }: Element): boolean {
  return namespace === HTML
}

/**
 * What relative links are resolved against, by the HTML standard: the `href` of the first base element that has one, resolved against the page's URL;
 * the page's URL if there is none, if that is not a URL, or if its scheme is `data:` or `javascript:`.
 */
export function resolveBase(href: string | null | undefined, pageUrl: string): string {
  if (href === null || href === undefined) return pageUrl
  const url = parseUrl(href, pageUrl)
  return url === null || url.protocol === 'data:' || url.protocol === 'javascript:' ? pageUrl : url.href
}

export function isBase(element: Element): boolean {
  return element.name === 'base' && isHtmlElement(element) && element.attribs.href !== undefined
}

/** `text` is what the tree was built from. */
export function baseUrl(root: Document, text: string, pageUrl: string): string {
  // Nearly no page has one: this saves the walk.
  if (!/<base/i.test(text)) return pageUrl
  return resolveBase(firstElement(root, isBase)?.attribs.href, pageUrl)
}

function firstElement(root: Document, is: (element: Element) => boolean): Element | undefined {
  const left = [...root.children].reverse()
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (!('attribs' in node)) continue
    if (is(node)) return node
    for (let n = node.children.length - 1; n >= 0; n--) {
      const child = node.children[n]
      if (child !== undefined) left.push(child)
    }
  }
  return undefined
}
