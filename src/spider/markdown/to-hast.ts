import type { ChildNode, Element } from 'domhandler'
import type { ElementContent, Element as HastElement } from 'hast'
import { elementsOf } from '../html/tree.js'
import { classesOf, isFurniture, menusOf } from './main-content.js'

/** A record may have 256 KB. More of a page is not converted, which also bounds the time: 0.5 s of CPU for the worst pages. */
const MAX_CHARS = 250_000
const MAX_ELEMENTS = 20_000
/** Each level of a quote or list indents every line below it: 480 levels made 4 MB of 20 KB. */
const MAX_LEVELS = 32
/** Rows are filled up to the longest: 5,000 rows and one of 5,000 cells took a minute. */
const MAX_CELLS = 10_000

export interface Converted {
  readonly content: HastElement
  /** The page is larger than what was converted. */
  readonly truncated: boolean
}

/**
 * The content of an element as hast, the tree that the Markdown library reads: without furniture, with absolute links, code blocks as text with their
 * language, and tables that only lay out a page as what is in them.
 */
export function toHast(root: Element, resolve: (href: string) => string | null): Converted {
  const converter = new Converter(resolve, root.name === 'body' ? menusOf(root) : new Set())
  const content: HastElement = { type: 'element', tagName: 'div', properties: {}, children: [] }
  converter.addAll(root.children, content.children, 0)
  return { content, truncated: converter.truncated }
}

class Converter {
  readonly #resolve: (href: string) => string | null
  readonly #menus: ReadonlySet<Element>
  #chars = 0
  #elements = 0
  /** In a table that is one; the cells of others are blocks. */
  #inTable = false

  constructor(resolve: (href: string) => string | null, menus: ReadonlySet<Element>) {
    this.#resolve = resolve
    this.#menus = menus
  }

  get truncated(): boolean {
    return this.#chars >= MAX_CHARS || this.#elements >= MAX_ELEMENTS
  }

  addAll(nodes: readonly ChildNode[], into: ElementContent[], level: number): void {
    for (const node of nodes) {
      if (this.truncated) return
      if (node.type === 'text') into.push(this.#text(node.data))
      else if ('attribs' in node && !isFurniture(node) && !this.#menus.has(node)) this.#add(node, into, level)
    }
  }

  #text(value: string) {
    this.#chars += value.length
    return { type: 'text', value } as const
  }

  #add(element: Element, into: ElementContent[], level: number): void {
    this.#elements++
    const { name } = element
    if (name === 'pre' || isListing(element)) into.push(this.#codeBlock(element))
    else if (name === 'img') this.#image(element, into)
    else if (name === 'br' || name === 'hr') into.push(node(name))
    else if (name === 'a') this.#link(element, into, level)
    else if (name === 'table') this.#table(element, into, level)
    else if (this.#keeps(name, level)) {
      const kept = node(name, spansOf(element))
      this.addAll(element.children, kept.children, INDENTS.has(name) ? level + 1 : level)
      into.push(kept)
    } else if (BLOCKS.has(name)) {
      const block = node('div')
      this.addAll(element.children, block.children, level)
      into.push(block)
    } else this.addAll(element.children, into, level)
  }

  #keeps(name: string, level: number): boolean {
    if (TABLE_PARTS.has(name)) return this.#inTable
    return KEPT.has(name) && (level < MAX_LEVELS || !INDENTS.has(name))
  }

  #table(element: Element, into: ElementContent[], level: number): void {
    const outside = this.#inTable
    this.#inTable = !isLayout(element)
    const table = node(this.#inTable ? 'table' : 'div')
    this.addAll(element.children, table.children, level)
    into.push(table)
    this.#inTable = outside
  }

  #link(element: Element, into: ElementContent[], level: number): void {
    const { href } = element.attribs
    if (href?.startsWith('#') && isMark(element)) return
    const target = href === undefined ? null : this.#resolve(href)
    if (target === null) this.addAll(element.children, into, level)
    else {
      const link = node('a', { href: target })
      this.addAll(element.children, link.children, level)
      into.push(link)
    }
  }

  /** An empty alt says that a picture is decoration; pictures inside the page itself (data:) would be megabytes of text. */
  #image({ attribs }: Element, into: ElementContent[]): void {
    if (attribs.alt?.trim() === '') return
    const src = attribs.src === undefined || /^data:/i.test(attribs.src) ? null : this.#resolve(attribs.src)
    if (src !== null) into.push(node('img', { src, alt: attribs.alt ?? '' }))
    else if (attribs.alt) into.push(this.#text(attribs.alt))
  }

  #codeBlock(element: Element): HastElement {
    const language = codeLanguage(element)
    const code = node('code', language === null ? {} : { className: [`language-${language}`] })
    const lines = [...elementsOf(element)].filter((line) => classesOf(line.attribs).includes('line'))
    const text = element.name === 'pre' ? codeText(element) : lines.map(codeText).join('\n')
    code.children.push(this.#text(text.slice(0, MAX_CHARS)))
    return { ...node('pre'), children: [code] }
  }
}

function node(tagName: string, properties: HastElement['properties'] = {}): HastElement {
  return { type: 'element', tagName, properties, children: [] }
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))
/** Elements that mean something in Markdown. */
const KEPT = words(
  'b blockquote code dd del dl dt em h1 h2 h3 h4 h5 h6 i kbd li ol p s samp strong sub sup tt u ul var',
)
const INDENTS = words('blockquote dl ol ul')
const TABLE_PARTS = words('caption tbody td tfoot th thead tr')
const BLOCKS = words(
  'address article caption center details div fieldset figcaption figure header hgroup main section summary ul ol dl li dt dd blockquote p td th tr',
)

function spansOf({ attribs }: Element): HastElement['properties'] {
  const { colspan, start } = attribs
  return { ...(colspan !== undefined && { colSpan: colspan }), ...(start !== undefined && { start }) }
}

/** The sign next to a heading that links to it. */
function isMark({ children }: Element): boolean {
  const [only] = children
  return children.length === 1 && only?.type === 'text' && /^\s*[#¶§🔗]\s*$/u.test(only.data)
}

/** Doxygen writes code as one div per line. */
function isListing({ name, attribs }: Element): boolean {
  return name === 'div' && classesOf(attribs).includes('fragment')
}

/** It holds blocks, which a table of Markdown cannot, or is too large to be one. */
function isLayout(table: Element): boolean {
  let rows = 0
  let cells = 0
  let columns = 0
  for (const { name } of elementsOf(table)) {
    if (LAYOUT_CONTENT.has(name)) return true
    if (name === 'tr') {
      rows++
      cells = 0
    } else if (name === 'td' || name === 'th') columns = Math.max(columns, ++cells)
  }
  return columns < 2 || rows * columns > MAX_CELLS || table.attribs.role === 'presentation'
}
const LAYOUT_CONTENT = words('table pre h1 h2 h3 h4 h5 h6 ul ol dl blockquote')

/** `language-x` and `lang-x` of the block or the code in it, `highlight-x` of a wrapper by Sphinx. */
function codeLanguage(element: Element): string | null {
  const around = [element.parent, element.parent?.parent].filter((one) => one != null && 'attribs' in one)
  const inside = element.children.filter((child) => 'attribs' in child)
  for (const { attribs } of [element, ...inside, ...around] as Element[]) {
    for (const word of classesOf(attribs)) {
      const language = /^(?:language|lang|highlight(?:-source)?)-([\w+#.-]{1,30})$/.exec(word)?.[1]
      if (language !== undefined && !NO_LANGUAGE.has(language)) return language === 'python3' ? 'python' : language
    }
  }
  return null
}
const NO_LANGUAGE = words('default none notranslate text plain')

/** The text of code as it is, without links to headings and copy buttons. */
function codeText(element: Element): string {
  let text = ''
  const left: ChildNode[] = [...element.children].reverse()
  for (let child = left.pop(); child !== undefined; child = left.pop()) {
    if (child.type === 'text') text += child.data
    else if ('attribs' in child && !isFurniture(child)) {
      if (child.name === 'br') text += '\n'
      for (let n = child.children.length - 1; n >= 0; n--) left.push(child.children[n] as ChildNode)
    }
  }
  return text.replace(/^\n/, '').trimEnd()
}
