import type { AnyNode, ChildNode, Document, Element, ParentNode } from 'domhandler'
import type { html as names, Token, TreeAdapter } from 'parse5'
import type { Htmlparser2TreeAdapterMap } from 'parse5-htmlparser2-tree-adapter'

type Adapter = TreeAdapter<Htmlparser2TreeAdapterMap>

/**
 * By the list of the template's children, which is empty: selectors and text must not see the contents. Whoever puts something else into the
 * template replaces the list, and with it the contents that came from the page.
 */
const templateContents = new WeakMap<ArrayLike<AnyNode>, Document>()

export function contentsOf(children: ArrayLike<AnyNode>): Document | undefined {
  return templateContents.get(children)
}

/**
 * How parse5 builds and reads nodes of domhandler, which is what css-select and cheerio work on. The adapter that comes with parse5 is the base;
 * here are the differences:
 *
 * - `xlink:href` keeps its prefix, as in a browser; it is not the same attribute as `href`;
 * - names of foreign elements are in lower case, and their attributes can be found in lower case too, because css-select compares in lower case what
 *   a browser compares as it is (`linearGradient`, `viewBox`). `outerHTML` has the right case;
 * - the contents of a template are not among its children;
 * - a node that is moved in front of a table, or out of an element, is searched from the end of its siblings. It is nearly always there, and from the
 *   start 100,000 of them took minutes.
 */
export function createAdapter(
  { html, foreignContent }: typeof import('parse5'),
  { Element: ElementNode, Text: TextNode, isText }: typeof import('domhandler'),
  base: Adapter,
): Adapter {
  const { SVG_TAG_NAMES_ADJUSTMENT_MAP } = foreignContent

  function createElement(name: string, namespace: names.NS, attributes: Token.Attribute[]): Element {
    const foreign = namespace !== html.NS.HTML
    const element = new ElementNode(foreign ? name.toLowerCase() : name, {}, [])
    element.namespace = namespace
    element.attribs = foreign ? attributesOf(attributes.map(withPrefix)) : htmlAttributes(attributes)
    return element
  }

  function insertBefore(parent: ParentNode, node: ChildNode, reference: ChildNode): void {
    const { prev } = reference
    if (prev !== null) prev.next = node
    node.prev = prev
    node.next = reference
    reference.prev = node
    parent.children.splice(parent.children.lastIndexOf(reference), 0, node)
    node.parent = parent
  }

  return {
    ...base,
    createElement,
    insertBefore,
    insertTextBefore(parent, text, reference) {
      const { prev } = reference as ChildNode
      if (prev !== null && isText(prev)) prev.data += text
      else insertBefore(parent, new TextNode(text), reference as ChildNode)
    },
    detachNode(node) {
      const { parent, prev, next } = node as ChildNode
      if (parent === null) return
      if (prev !== null) prev.next = next
      if (next !== null) next.prev = prev
      parent.children.splice(parent.children.lastIndexOf(node as ChildNode), 1)
      node.prev = null
      node.next = null
      node.parent = null
    },
    adoptAttributes({ attribs }, attributes) {
      for (const { name, value } of attributes) if (!(name in attribs)) attribs[name] = value
    },
    setTemplateContent({ children }, contents) {
      templateContents.set(children, contents)
    },
    getTemplateContent({ children }) {
      return templateContents.get(children) ?? base.createDocumentFragment()
    },
    getTagName({ name, namespace }) {
      return namespace === html.NS.SVG ? (SVG_TAG_NAMES_ADJUSTMENT_MAP.get(name) ?? name) : name
    },
    getAttrList({ attribs }) {
      return Object.keys(attribs).map((name) => ({ name, value: attribs[name] ?? '' }))
    },
  }
}

type Attributes = Element['attribs']

/** An attribute may be called `__proto__` or `constructor`. Objects that have null itself as their prototype are twice as slow. */
const NO_PROPERTIES: object = Object.freeze(Object.create(null))

function htmlAttributes(attributes: readonly { readonly name: string; readonly value: string }[]): Attributes {
  const attribs: Attributes = Object.create(NO_PROPERTIES)
  for (const { name, value } of attributes) attribs[name] = value
  return attribs
}

/** Of an element outside HTML: names are case-sensitive, and found in lower case all the same. */
export function attributesOf(attributes: readonly { readonly name: string; readonly value: string }[]): Attributes {
  const attribs: Attributes = htmlAttributes(attributes)
  for (const { name } of attributes) {
    const lower = name.toLowerCase()
    if (lower in attribs) continue
    Object.defineProperty(attribs, lower, { get: () => attribs[name], enumerable: false, configurable: true })
  }
  return attribs
}

function withPrefix({ prefix, name, value }: Token.Attribute): { readonly name: string; readonly value: string } {
  return { name: prefix ? `${prefix}:${name}` : name, value }
}
