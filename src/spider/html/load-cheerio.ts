import { createRequire } from 'node:module'
import type { CheerioAPI } from 'cheerio'
import { baseUrl } from './base-url.js'
import { cssSelect } from './css-select.js'
import { fragmentOptions, outerHtml } from './parse-html.js'
import { parsePage } from './parse-page.js'

const require = createRequire(import.meta.url)
let loaded: typeof import('cheerio') | null = null

/** Loaded with the first `page.$`: most spiders never use it. */
function cheerio(): typeof import('cheerio') {
  if (loaded === null) {
    cssSelect()
    loaded = require('cheerio') as typeof import('cheerio')
  }
  return loaded
}

/**
 * cheerio on the tree of the standard. Fragments that a spider adds (`$('<tr>')`, `.html('…')`) are parsed and printed by the same rules. A page that
 * is well-formed XML has the tree of an XML document, and selectors are case-sensitive, as in a browser.
 */
export function loadPage(text: string, mediaType: string, url: string): CheerioAPI {
  const { load } = cheerio()
  const { root, xml } = parsePage(text, mediaType)
  const baseURI = baseUrl(root, text, url)
  if (xml) return load(root, { xml: true, baseURI })
  const $ = load(root, { ...fragmentOptions(), baseURI })
  $.fn._render = (dom) => outerHtml('length' in dom ? dom : [dom])
  return $
}
