import { createRequire } from 'node:module'
import type { ChildNode, Document, Element } from 'domhandler'
import { decodeHTMLStrict } from 'entities/lib/decode.js'
import type { SaxesTagNS } from 'saxes'
import { MAX_DEPTH, MAX_ELEMENTS, tooComplex } from './limits.js'
import { attributesOf } from './tree-adapter.js'

/**
 * The tree of an XML document: `<script/>` and `<a/>` are closed, names keep their case. Null if the document is not well-formed: a browser shows the
 * part before the error.
 */
export function parseXml(xml: string): Document | null {
  const { SaxesParser, nodes } = libraries()
  const builder = new XmlTree(nodes)
  const parser = new SaxesParser({ xmlns: true })
  parser.ENTITIES = HTML_ENTITIES
  let wellFormed = true
  parser.on('error', () => {
    wellFormed = false
  })
  parser.on('opentag', (tag) => {
    if (wellFormed) builder.open(tag)
  })
  parser.on('closetag', () => {
    if (wellFormed) builder.close()
  })
  parser.on('text', (text) => builder.text(text))
  parser.on('cdata', (text) => builder.text(text))
  parser.on('comment', (text) => builder.append(new nodes.Comment(text)))
  parser.on('processinginstruction', ({ target, body }) =>
    builder.append(new nodes.ProcessingInstruction(target, `?${target} ${body}?`)),
  )
  parser.on('doctype', (text) => builder.append(new nodes.ProcessingInstruction('!doctype', `!DOCTYPE${text}`)))
  for (let from = 0; wellFormed && from < xml.length; from += CHUNK) parser.write(xml.slice(from, from + CHUNK))
  if (wellFormed) parser.close()
  return wellFormed ? builder.document : null
}

/** An error is noticed at the end of a chunk: a large page that is not XML at all is not read to its end. */
const CHUNK = 64 * 1024

/** Browsers know the names of HTML (`&nbsp;`) if the document type is one of XHTML; here they are always known. */
const HTML_ENTITIES: Record<string, string> = new Proxy(
  {},
  {
    get(_, name) {
      const reference = `&${String(name)};`
      const text = decodeHTMLStrict(reference)
      return text === reference ? undefined : text
    },
  },
)

const require = createRequire(import.meta.url)
let loaded: ReturnType<typeof load> | null = null

/** Loaded with the first XML page. */
function libraries(): ReturnType<typeof load> {
  loaded ??= load()
  return loaded
}

function load() {
  const { SaxesParser }: typeof import('saxes') = require('saxes')
  const nodes: typeof import('domhandler') = require('domhandler')
  return { SaxesParser, nodes }
}

class XmlTree {
  readonly document: Document
  readonly #nodes: typeof import('domhandler')
  readonly #open: (Document | Element)[]
  #elements = 0

  constructor(nodes: typeof import('domhandler')) {
    this.#nodes = nodes
    this.document = new nodes.Document([])
    this.#open = [this.document]
  }

  open({ name, uri, attributes }: SaxesTagNS): void {
    if (this.#open.length > MAX_DEPTH) throw tooComplex(`is nested deeper than ${MAX_DEPTH} elements`)
    if (++this.#elements > MAX_ELEMENTS) throw tooComplex(`has more than ${MAX_ELEMENTS} elements`)
    const element = new this.#nodes.Element(name, attributesOf(Object.values(attributes)), [])
    element.namespace = uri
    this.append(element)
    this.#open.push(element)
  }

  close(): void {
    this.#open.pop()
  }

  text(data: string): void {
    const last = this.#current().children.at(-1)
    if (last !== undefined && this.#nodes.isText(last)) last.data += data
    else if (this.#open.length > 1) this.append(new this.#nodes.Text(data))
  }

  append(node: ChildNode): void {
    const parent = this.#current()
    const last = parent.children.at(-1) ?? null
    node.parent = parent
    node.prev = last
    if (last !== null) last.next = node
    parent.children.push(node)
  }

  #current(): Document | Element {
    return this.#open.at(-1) ?? this.document
  }
}
