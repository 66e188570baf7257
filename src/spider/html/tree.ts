import { createRequire } from 'node:module'
import type { AnyNode, Document, Element } from 'domhandler'
import type { html as names, ParserOptions, Token } from 'parse5'
import type { Htmlparser2TreeAdapterMap } from 'parse5-htmlparser2-tree-adapter'
import { MAX_TEXT, tooComplex } from './limits.js'
import { type Rule, saysNofollow } from './program.js'
import { badSelector } from './selector.js'

const require = createRequire(import.meta.url)
let loaded: ReturnType<typeof load> | null = null

/** 90 ms of CPU in every thread: loaded when the first page needs a tree, which most crawls never do. */
function libraries(): ReturnType<typeof load> {
  loaded ??= load()
  return loaded
}

function load() {
  const parse5: typeof import('parse5') = require('parse5')
  const { compile, selectAll }: typeof import('css-select') = require('css-select')
  const { adapter }: typeof import('parse5-htmlparser2-tree-adapter') = require('parse5-htmlparser2-tree-adapter')
  const { isTag, isText }: typeof import('domhandler') = require('domhandler')

  class LimitedParser extends parse5.Parser<Htmlparser2TreeAdapterMap> {
    #pushed = 0

    override onItemPush(node: Element, tagId: number, isTop: boolean): void {
      if (this.openElements.stackTop > MAX_DEPTH) throw tooComplex(`is nested deeper than ${MAX_DEPTH} elements`)
      if (++this.#pushed > MAX_ELEMENTS) throw tooComplex(`has more than ${MAX_ELEMENTS} elements`)
      super.onItemPush(node, tagId, isTop)
    }
  }
  return { parse5, compile, selectAll, adapter, isTag, isText, LimitedParser }
}

/** As deep as browsers build trees. Every start tag may walk up the open elements, so depth is also time. */
const MAX_DEPTH = 512

/** Unclosed formatting elements are opened again in every block: a small page can ask for any number of elements. */
const MAX_ELEMENTS = 500_000

/**
 * The slow and certain way: the tree of a spec-compliant parser, and css-select. Selectors see what a browser without scripts would show them: names
 * in lower case, `xlink:href` separate from `href`, contents of noscript as elements, contents of templates not at all.
 */
export function runOnTree(rules: readonly Rule[], matchers: readonly Matcher[], html: string): string[][] {
  const { selectAll, parse5, adapter } = libraries()
  const root = parseTree(html)
  let textLength = 0
  const text = (element: Element): string => {
    const found = textOf(element)
    textLength += found.length
    if (textLength > MAX_TEXT) throw tooComplex(`produces more than ${MAX_TEXT} characters of text`)
    return found
  }
  return rules.map((rule, index) => {
    const found: string[] = []
    const matcher = matchers[index]
    if (matcher === undefined) return found
    for (const element of selectAll<AnyNode, Element>(matcher, root)) {
      const { pick } = rule
      const value =
        pick.kind === 'text'
          ? text(element)
          : pick.kind === 'html'
            ? parse5.serialize(element, { treeAdapter: adapter })
            : element.attribs[pick.name]
      if (value === undefined) continue
      if (rule.skipNofollow && saysNofollow(element.attribs.rel ?? '')) continue
      found.push(value)
      if (rule.first) break
    }
    return found
  })
}

export type Matcher = (element: Element) => boolean

export function compileMatcher(css: string): Matcher {
  try {
    return libraries().compile<AnyNode, Element>(css)
  } catch (cause) {
    throw badSelector(css, cause)
  }
}

function parseTree(html: string): Document {
  return libraries().LimitedParser.parse(html, parserOptions())
}

function parserOptions(): ParserOptions<Htmlparser2TreeAdapterMap> {
  const contents = new WeakMap<Element, Document>()
  const { adapter: plainAdapter, parse5 } = libraries()
  return {
    scriptingEnabled: false,
    treeAdapter: {
      ...plainAdapter,
      createElement(tagName: string, namespace: names.NS, attributes: Token.Attribute[]): Element {
        const lower = attributes.map((attribute) => ({
          ...attribute,
          name: (attribute.prefix ? `${attribute.prefix}:${attribute.name}` : attribute.name).toLowerCase(),
        }))
        return plainAdapter.createElement(
          tagName.toLowerCase(),
          namespace,
          namespace === parse5.html.NS.HTML ? attributes : lower,
        )
      },
      setTemplateContent(template: Element, content: Document): void {
        contents.set(template, content)
      },
      getTemplateContent(template: Element): Document {
        return contents.get(template) ?? plainAdapter.createDocumentFragment()
      },
    },
  }
}

/** Like textContent of the DOM: all text below, without comments. */
function textOf(element: Element): string {
  const { isTag, isText } = libraries()
  let text = ''
  for (const child of element.children) {
    if (isText(child)) text += child.data
    else if (isTag(child)) text += textOf(child)
  }
  return text
}
