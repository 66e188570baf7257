import type { CheerioAPI } from 'cheerio'
import type { AnyNode, Element } from 'domhandler'
import { type EncodedPage, encodeQuery } from '../url/encode-query.js'
import { parseUrl } from '../url/parse-url.js'
import { isBase, resolveBase } from './html/base-url.js'
import { isLastLabel, isNextLabel, LABEL_CHARS, pageOfText, shownOfText } from './pagination-words.js'

/** What a page of a list says about the other pages of it. */
export interface Pagination {
  /** Its own number; 1 if unknown. */
  readonly current: number
  /** How many pages there are, as far as this page shows; null if unknown. */
  readonly count: number | null
  /** The next page; null on the last one, and if unknown. */
  readonly next: string | null
  /** All other pages that can be derived from this one, by number: for a list of 37 all of them, already from its first page. */
  readonly pages: readonly PageLink[]
}

export interface PageLink {
  readonly url: string
  /** Null: unknown, as with `?after=b3f`. */
  readonly number: number | null
}

/** More pages than this are not listed. */
const MOST_PAGES = 100_000
const CONTAINER = /pag(?:er|inat|ing|ination|e-?num|e-?nav|enavi|elinks|es\b)|(?:^|[\s_-])pages?(?:$|[\s_-])/i
const DISABLED = /(?:^|[\s_-])(?:disabled|inactive)(?:$|[\s_-])/i
const CURRENT = /(?:^|[\s_-])(?:active|current|selected)(?:$|[\s_-])/i
const NEXT_CLASS = /(?:^|[\s_-])next(?:$|[\s_-])/i
const ARROWS = new Set(['›', '→', '>', '▶', '⟩', '❯'])
const DOUBLE_ARROWS = new Set(['»', '>>', '⟫'])
const IN_URL =
  /(?:[?&](?:page|p|pg|pn|paged|pagina|página|seite|pageno|page_no|page_num|pagenum|pagenumber|currentpage|strona|sida|side)=|\/(?:page|seite|pagina|p|strona|sida|side)[/_-]?)(\d{1,6})(?=[/?&#.]|$)/i

/** The page with the list: its URL and its encoding. */
interface PageOfList extends EncodedPage {
  readonly url: string
}

interface Anchor {
  readonly url: string
  /** Of the URL as it will be requested. */
  readonly rel: readonly string[]
  readonly labels: readonly string[]
  readonly text: string
  readonly classes: string
  /** Inside an element that is marked as a pager. */
  readonly inPager: boolean
}

export function findPagination($: CheerioAPI, page: PageOfList): Pagination {
  const { url: pageUrl } = page
  const elements = elementsOf($)
  const anchors = anchorsOf(elements, page)
  const texts = countingTexts(elements)
  const stated = pageOfText(texts)
  const current = currentOf(elements, pageUrl, stated?.current ?? null)
  const next = nextOf(anchors)
  const numbered = anchors.flatMap(({ url, text: label, inPager }) => {
    const number = inPager ? wholeNumber(label) : null
    return number === null ? [] : [{ number, url }]
  })
  const last = anchors.find(({ rel }) => rel.includes('last')) ?? anchors.find(isLast)
  const form = formOf([
    ...numbered,
    ...(next === null ? [] : [{ number: current + 1, url: next.url }]),
    { number: current, url: pageUrl },
  ])
  const lastNumber = last === undefined ? null : (form?.numberOf(last.url) ?? numberInUrl(last.url))
  const count = stated?.count ?? lastNumber ?? perPage(texts) ?? highest(numbered, current, next !== null)
  const urls = new Map<number, string>()
  const reach = Math.min(count ?? 0, MOST_PAGES)
  for (let number = 2; form !== null && number <= reach; number++) urls.set(number, form.urlOf(number))
  for (const { number, url } of numbered) if (count === null || number <= count) urls.set(number, url)
  urls.delete(current)
  const others = [...urls]
    .filter(([, url]) => url !== pageUrl)
    .sort(([a], [b]) => a - b)
    .map(([number, url]): PageLink => ({ number, url }))
  if (next !== null && !others.some(({ url }) => url === next.url))
    others.push({ url: next.url, number: form?.numberOf(next.url) ?? numberInUrl(next.url) })
  return { current, count, next: next?.url ?? null, pages: others }
}

/** Every element, in document order. By hand: a selector takes quadratic time if elements are nested deeply. */
function elementsOf($: CheerioAPI): Element[] {
  const elements: Element[] = []
  const left: AnyNode[] = [...$.root().toArray()]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if ('attribs' in node) elements.push(node)
    if ('children' in node) for (let n = node.children.length - 1; n >= 0; n--) left.push(node.children[n] as AnyNode)
  }
  return elements
}

function anchorsOf(elements: readonly Element[], from: PageOfList): Anchor[] {
  const page = parseUrl(from.url)
  const baseHref = elements.find(isBase)?.attribs.href
  const base = resolveBase(baseHref === undefined ? undefined : encodeQuery(baseHref, from), from.url)
  const anchors: Anchor[] = []
  for (const element of elements) {
    const { name, attribs, parent } = element
    if (name !== 'a' && name !== 'link') continue
    const href = (attribs.href ?? '').trim()
    const rel = (attribs.rel ?? '').toLowerCase().split(/\s+/)
    if (href === '' || href.startsWith('#') || rel.includes('nofollow')) continue
    const around = `${attribs.class ?? ''} ${attribs.id ?? ''} ${parent !== null && 'attribs' in parent ? (parent.attribs.class ?? '') : ''}`
    if (attribs['aria-disabled'] === 'true' || DISABLED.test(around)) continue
    const url = parseUrl(encodeQuery(href, from), base)
    if (url === null || url.origin !== page?.origin) continue
    url.hash = ''
    if (url.href === page.href.replace(/#.*/, '')) continue
    const inside = labelIn(element)
    const labels = [attribs['aria-label'], attribs.title, ...inside.labels]
    anchors.push({
      url: url.href,
      rel,
      labels: labels.flatMap((label) => (label === undefined ? [] : [label.trim()])),
      text: inside.text,
      classes: around,
      inPager: isInPager(element),
    })
  }
  return anchors
}

const LABEL_NODES = 60
const NO_LABEL = { text: '', labels: [] }

/** Text and labels inside an element that is small enough to be a label; nothing for a larger one, however deep it goes. */
function labelIn(element: Element): { readonly text: string; readonly labels: readonly string[] } {
  const labels: string[] = []
  let text = ''
  const left: AnyNode[] = [element]
  for (let nodes = 0; nodes <= LABEL_NODES; nodes++) {
    const node = left.pop()
    if (node === undefined) {
      const line = text.replace(/\s+/g, ' ').trim()
      return line.length > LABEL_CHARS ? NO_LABEL : { text: line, labels }
    }
    if (node.type === 'text') text += node.data.slice(0, 4 * LABEL_CHARS)
    else if ('children' in node) {
      for (let n = Math.min(node.children.length, LABEL_NODES) - 1; n >= 0; n--) left.push(node.children[n] as AnyNode)
      const { 'aria-label': aria, alt } = 'attribs' in node && node !== element ? node.attribs : {}
      for (const label of [aria, alt]) if (label !== undefined) labels.push(label)
    }
  }
  return NO_LABEL
}

const PAGER_LEVELS = 5

function isInPager(element: Element): boolean {
  let one: AnyNode | null = element
  for (let level = 0; level < PAGER_LEVELS && one !== null && 'attribs' in one; level++) {
    const { class: classes = '', id = '', 'aria-label': label = '' }: Element['attribs'] = one.attribs
    if (CONTAINER.test(`${classes} ${id} ${label}`)) return true
    one = one.parent
  }
  return false
}

const TEXT_ELEMENTS = new Set('nav,div,p,span,ul,ol,li,td,section,header,footer,small,strong,b,em,h2,h3'.split(','))

/** Short texts with counts: 'Page 1 of 37', 'Showing 1–20 of 734'. */
function countingTexts(elements: readonly Element[]): string[] {
  const texts: string[] = []
  for (const element of elements) {
    const text = TEXT_ELEMENTS.has(element.name) ? labelIn(element).text : ''
    if (/\d/.test(text)) texts.push(text)
  }
  return texts
}

function currentOf(elements: readonly Element[], pageUrl: string, stated: number | null): number {
  if (stated !== null) return stated
  const marked = elements.find(
    (element) => /^(page|true)$/.test(element.attribs['aria-current'] ?? '') && numberIn(element) !== null,
  )
  const shown =
    marked ??
    elements.find(
      (element) => CURRENT.test(element.attribs.class ?? '') && numberIn(element) !== null && isInPager(element),
    )
  return (shown === undefined ? null : numberIn(shown)) ?? numberInUrl(pageUrl) ?? 1
}

function numberIn(element: Element): number | null {
  return wholeNumber(labelIn(element).text)
}

function nextOf(anchors: readonly Anchor[]): Anchor | null {
  const labelled = ({ text, labels }: Anchor) => [text, ...labels].some(isNextLabel)
  const pager = anchors.filter(({ inPager }) => inPager)
  return (
    anchors.find(({ rel }) => rel.includes('next')) ??
    pager.find(labelled) ??
    pager.find(({ classes }) => NEXT_CLASS.test(classes)) ??
    pager.find(({ text }) => ARROWS.has(text)) ??
    pager.find(({ text }) => DOUBLE_ARROWS.has(text)) ??
    anchors.find(labelled) ??
    null
  )
}

function isLast({ inPager, text, labels }: Anchor): boolean {
  return inPager && [text, ...labels].some(isLastLabel)
}

/** Numbered links may continue after an ellipsis: they only give a lower bound. */
function highest(numbered: readonly { number: number }[], current: number, hasNext: boolean): number | null {
  const most = numbered.reduce((highest, { number }) => Math.max(highest, number), 0)
  if (most === 0) return null
  return Math.max(most, current + (hasNext ? 1 : 0))
}

/** 'Showing 1–20 of 734' means 37 pages, wherever it is. */
function perPage(texts: readonly string[]): number | null {
  const shown = shownOfText(texts)
  if (shown === null) return null
  const size = shown.to - shown.from + 1
  // The last page is shorter than the others: it does not show how long those are.
  return (shown.from - 1) % size === 0 && shown.to <= shown.total ? Math.ceil(shown.total / size) : null
}

interface Sample {
  readonly number: number
  readonly url: string
}

interface Form {
  urlOf(number: number): string
  numberOf(url: string): number | null
}

/** How the URL of a page follows from its number, learnt from the URLs on the page. An offset (`start=40`) is a number too. */
function formOf(samples: readonly Sample[]): Form | null {
  const byMask = new Map<string, Map<number, readonly number[]>>()
  for (const { number, url } of samples) {
    const { mask, values } = masked(url)
    const group = byMask.get(mask) ?? new Map<number, readonly number[]>()
    if (!group.has(number)) group.set(number, values)
    byMask.set(mask, group)
  }
  const groups = [...byMask].sort(([, a], [, b]) => b.size - a.size)
  for (const [mask, group] of groups) {
    const form = group.size >= 2 ? fitted(mask, group) : guessed(mask, group, samples)
    if (form !== null) return form
  }
  return null
}

function fitted(mask: string, group: ReadonlyMap<number, readonly number[]>): Form | null {
  const [[n1, v1] = [0, []], [n2, v2] = [0, []], ...rest] = [...group]
  const lines = v1.map((value, place) => {
    const step = ((v2[place] ?? 0) - value) / (n2 - n1)
    return { step, at: value - step * n1 }
  })
  const fits = rest.every(([n, values]) => values.every((value, place) => value === lineAt(lines[place], n)))
  const moving = lines.filter(({ step }) => step !== 0)
  if (!fits || moving.length === 0 || moving.some(({ step }) => step < 0 || !Number.isInteger(step))) return null
  return formFrom(mask, lines)
}

/** From a single URL, if one of its numbers is clearly that of the page. */
function guessed(mask: string, group: ReadonlyMap<number, readonly number[]>, samples: readonly Sample[]): Form | null {
  const [[number, values] = [0, []]] = [...group]
  const url = samples.find((sample) => sample.number === number && masked(sample.url).mask === mask)?.url ?? ''
  if (number < 2 || numberInUrl(url) !== number) return null
  const place = values.lastIndexOf(number)
  return formFrom(
    mask,
    values.map((value, index) => (index === place ? { step: 1, at: 0 } : { step: 0, at: value })),
  )
}

interface Line {
  readonly step: number
  readonly at: number
}

function lineAt(line: Line | undefined, number: number): number {
  return line === undefined ? Number.NaN : line.at + line.step * number
}

function formFrom(mask: string, lines: readonly Line[]): Form {
  const texts = mask.split('\0')
  const moving = lines.findIndex(({ step }) => step !== 0)
  return {
    urlOf: (number) =>
      texts.map((text, place) => (place === 0 ? text : `${lineAt(lines[place - 1], number)}${text}`)).join(''),
    numberOf(url) {
      const { mask: other, values } = masked(url)
      const line = lines[moving]
      if (other !== mask || line === undefined) return null
      const number = ((values[moving] ?? 0) - line.at) / line.step
      return Number.isInteger(number) && number > 0 ? number : null
    },
  }
}

/** The URL with a placeholder for each number of its path and query; numbers that are too long or have leading zeros count as text. */
function masked(url: string): { mask: string; values: number[] } {
  const values: number[] = []
  const from = url.indexOf('/', url.indexOf('//') + 2)
  const mask = url.slice(from).replace(/(?<![\dA-Za-z%])(?:0|[1-9]\d{0,8})(?![\dA-Za-z])/g, (digits) => {
    values.push(Number(digits))
    return '\0'
  })
  return { mask: url.slice(0, from) + mask, values }
}

function numberInUrl(url: string): number | null {
  const digits = IN_URL.exec(url)?.[1]
  return digits === undefined ? null : Number(digits)
}

function wholeNumber(text: string): number | null {
  const digits = /^\D{0,3}?(\d{1,3}(?:[.,\u00a0\u202f ]\d{3})+|\d{1,6})\D{0,3}$/
    .exec(text.trim())?.[1]
    ?.replace(/\D/g, '')
  const number = Number(digits ?? 0)
  return number > 0 ? number : null
}
