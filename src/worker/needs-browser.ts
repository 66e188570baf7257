import type { FetchResponse } from '../fetch/fetcher.js'
import { isHtml, mediaTypeOf } from '../fetch/media-type.js'
import type { Harvest, Route } from '../spider/spider.js'
import type { Json } from '../url/link.js'

/** Whether a page is usable as the server sent it, or a browser must render it. All of it is pure. */

/** A page with more visible text than this has content without scripts. */
const LITTLE_TEXT = 250
/** The elements that frameworks render into. */
const ROOT_IDS = 'root|app|__next|__nuxt|___gatsby|svelte|react-root|main-app|application|mount'
const ROOT_ID = new RegExp(`(?:^|[\\s"'/])id\\s*=\\s*["']?(?:${ROOT_IDS})(?:["'\\s]|$)`, 'i')
/** Linear time: `<` ends a tag, and a name ends where something else begins. */
const EMPTY_ELEMENT = /<([a-z][\w-]*)([^<>\w-][^<>]*)?>\s*<\/([a-z][\w-]*)/gi
/** Only this many characters of a tag's attributes are searched. */
const MOST_ATTRIBUTES = 2_000
const JAVASCRIPT = /java ?script/gi
/** What a page says of JavaScript that it needs: before the word, and after it. */
const WANTED_BEFORE = /enable|activate|allow|turn(?:ed)? on|switch on|requires?|needs?|without/i
const WANTED_AFTER = /enable|required|disabled|activate|turned off|needed|necessary|blocked/i
/** How far from the word, in characters. */
const SENTENCE = 90
const META = /<meta\b([^<>]*)>/gi
const REFRESH = /http-equiv\s*=\s*["']?refresh/i
const CHALLENGE = /challenge|captcha|verify|verification|bot-?check|cdn-cgi|_incapsula_/i

export type AskedFor = 'empty app' | 'demands scripts' | 'challenge'

/** What in the page itself calls for a browser; null: nothing does. */
export function asksForBrowser(response: Pick<FetchResponse, 'headers' | 'body'>, text: () => string): AskedFor | null {
  if (response.body.length === 0 || !isHtmlPage(mediaTypeOf(response))) return null
  const { markup, scripts, noscript } = withoutScripts(text())
  const visible = markup
    .replace(/<[^<>]*>/g, ' ')
    .replace(/(?:\s|&nbsp;)+/g, ' ')
    .trim()
  if (visible.length > LITTLE_TEXT) return null
  if (leadsToChallenge(markup)) return 'challenge'
  if (!scripts) return null
  if (hasEmptyRoot(markup)) return 'empty app'
  return wantsScripts(noscript) || wantsScripts(visible) ? 'demands scripts' : null
}

function wantsScripts(text: string): boolean {
  return text.split(/[<>]/).some((run) =>
    [...run.matchAll(JAVASCRIPT)].some(({ 0: word, index }) => {
      const end = index + word.length
      return (
        WANTED_BEFORE.test(run.slice(Math.max(0, index - SENTENCE), index)) ||
        WANTED_AFTER.test(run.slice(end, end + SENTENCE))
      )
    }),
  )
}

function isHtmlPage(type: string): boolean {
  return isHtml(type) || type === 'application/xhtml+xml'
}

function leadsToChallenge(markup: string): boolean {
  for (const [, all = ''] of markup.matchAll(META)) {
    const attributes = all.slice(0, MOST_ATTRIBUTES)
    if (REFRESH.test(attributes)) return CHALLENGE.test(attributes)
  }
  return false
}

function hasEmptyRoot(markup: string): boolean {
  for (const [, opened = '', attributes = '', closed = ''] of markup.matchAll(EMPTY_ELEMENT)) {
    if (opened.toLowerCase() !== closed.toLowerCase()) continue
    if (/^app-root$/i.test(opened) || ROOT_ID.test(attributes.slice(0, MOST_ATTRIBUTES))) return true
  }
  return false
}

/** A route that yields records got none worth keeping: none at all, only rejected ones, or only ones whose every field is empty. */
export function lacksWanted(
  { records, rejected, links }: Harvest,
  { givesRecords }: Pick<Route, 'givesRecords'>,
): boolean {
  if (records.some(({ data }) => !isEmpty(data))) return false
  if (records.length > 0 || rejected.length > 0) return true
  return givesRecords && links.length === 0
}

function isEmpty(value: Json): boolean {
  if (value === null || value === '') return true
  if (Array.isArray(value)) return value.every(isEmpty)
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

interface Parts {
  /** Without scripts, styles, comments and `noscript`. */
  readonly markup: string
  readonly scripts: boolean
  readonly noscript: string
}

const DROPPED = /<!--|<(script|style|noscript|template|svg|title)\b/gi

/** One pass, whatever the page: an element that is never closed ends with the page. */
function withoutScripts(html: string): Parts {
  let markup = ''
  let noscript = ''
  let scripts = false
  let at = 0
  const lower = html.toLowerCase()
  DROPPED.lastIndex = 0
  for (let match = DROPPED.exec(html); match !== null; match = DROPPED.exec(html)) {
    markup += html.slice(at, match.index)
    const tag = match[1]?.toLowerCase()
    const close = tag === undefined ? '-->' : `</${tag}`
    const end = lower.indexOf(close, match.index)
    at = end === -1 ? html.length : end + close.length
    if (tag === 'script') scripts = true
    if (tag === 'noscript') noscript += html.slice(match.index, at)
    if (end === -1) break
    if (tag !== undefined) {
      const bracket = html.indexOf('>', at)
      at = bracket === -1 ? html.length : bracket + 1
    }
    DROPPED.lastIndex = at
  }
  return { markup: markup + html.slice(at), scripts, noscript }
}
