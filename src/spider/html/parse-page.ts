import type { Document } from 'domhandler'
import { isXml } from '../../fetch/media-type.js'
import { parseHtml } from './parse-html.js'
import { parseXml } from './parse-xml.js'

/** The tree that a browser without scripts builds from a page. */
export interface PageTree {
  readonly root: Document
  /** Selectors are case-sensitive in XML. */
  readonly xml: boolean
}

/**
 * XML that is not well-formed is read as HTML, except that `<script/>` has ended: a browser would stop at the error, and lose what comes after it.
 */
export function parsePage(text: string, mediaType: string): PageTree {
  if (!isXml(mediaType)) return { root: parseHtml(text), xml: false }
  const root = parseXml(text)
  return root === null ? { root: parseHtml(text, { selfClosing: true }), xml: false } : { root, xml: true }
}
