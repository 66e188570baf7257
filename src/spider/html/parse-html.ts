import { createRequire } from 'node:module'
import type { AnyNode, Document, ParentNode } from 'domhandler'
import type { ParserOptions, SerializerOptions } from 'parse5'
import type { Htmlparser2TreeAdapterMap } from 'parse5-htmlparser2-tree-adapter'
import { createParser } from './standard-parser.js'
import { contentsOf, createAdapter } from './tree-adapter.js'

/**
 * The tree of the HTML standard, as a browser without scripts builds it: `noscript` contains elements, and what is inside a template is not part of
 * the page. parse5 builds it; `standard-parser.ts` and `tree-adapter.ts` have what differs from parse5 alone.
 */
export function parseHtml(html: string, { selfClosing = false } = {}): Document {
  const { parse, options } = libraries()
  return parse(html, selfClosing ? { ...options, selfClosing } : options)
}

/** What `innerHTML` is in a browser. */
export function innerHtml(parent: ParentNode): string {
  const { parse5, options } = libraries()
  return parse5.serialize(parent, options)
}

/** What `outerHTML` of each node is. The children of a template stand for its contents. */
export function outerHtml(nodes: ArrayLike<AnyNode>): string {
  const { parse5, domhandler, options } = libraries()
  const contents = contentsOf(nodes)
  if (contents !== undefined) return innerHtml(contents)
  let html = ''
  for (let n = 0; n < nodes.length; n++) {
    const node = nodes[n] as AnyNode
    html += domhandler.isDocument(node) ? innerHtml(node) : parse5.serializeOuter(node, options)
  }
  return html
}

/** With these, cheerio parses fragments (`$('<tr>')`, `.html('…')`) into the same kind of tree. */
export function fragmentOptions(): Options {
  return libraries().options
}

type Options = ParserOptions<Htmlparser2TreeAdapterMap> & SerializerOptions<Htmlparser2TreeAdapterMap>

const require = createRequire(import.meta.url)
let loaded: ReturnType<typeof load> | null = null

/** 60 ms of CPU in every thread: loaded when the first page needs a tree, which most crawls never do. */
function libraries(): ReturnType<typeof load> {
  loaded ??= load()
  return loaded
}

function load() {
  const parse5: typeof import('parse5') = require('parse5')
  const domhandler: typeof import('domhandler') = require('domhandler')
  const { adapter }: typeof import('parse5-htmlparser2-tree-adapter') = require('parse5-htmlparser2-tree-adapter')
  const options: Options = { scriptingEnabled: false, treeAdapter: createAdapter(parse5, domhandler, adapter) }
  return { parse5, domhandler, options, parse: createParser(parse5) }
}
