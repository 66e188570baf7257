import type { AnyNode, Document, Element } from 'domhandler'
import { cssSelect } from '../spider/html/css-select.js'
import { parsePage } from '../spider/html/parse-page.js'
import { compileMatcher } from '../spider/html/tree.js'

/**
 * How many elements all queries of a page may look at together: about a second. A page of ordinary size gets hundreds of queries from it, one of
 * 500,000 elements about ten.
 */
const MOST_LOOKS = 5_000_000

/** Questions about the tree of one page. */
export interface PageQueries {
  /** What a rule of the spider matches, in document order: always answered, as the spider itself asks it on whatever page. */
  matching(css: string): readonly Element[]
  /** The same for a guess. Empty also when the page is too large for one more question. */
  select(css: string): readonly Element[]
  /** The elements inside these, each once. */
  inside(elements: readonly Element[]): readonly Element[]
  readonly all: readonly Element[]
  /** Questions are no longer answered. */
  readonly isSpent: boolean
}

export function pageQueries(text: string, mediaType: string): PageQueries {
  const { root, xml } = parsePage(text, mediaType)
  const all = elementsBelow(root)
  const answers = new Map<string, readonly Element[]>()
  let looks = MOST_LOOKS
  const answer = (css: string): readonly Element[] => {
    const found = cssSelect().selectAll<AnyNode, Element>(compileMatcher(css, { xml }), root)
    answers.set(css, found)
    return found
  }
  const mayLook = (): boolean => {
    looks -= Math.max(1, all.length)
    return looks > 0
  }
  return {
    all,
    get isSpent() {
      return looks <= 0
    },
    matching: (css) => answers.get(css) ?? answer(css),
    select: (css) => answers.get(css) ?? (mayLook() ? answer(css) : []),
    inside(elements) {
      if (!mayLook()) return []
      const found = new Set<Element>()
      // Those inside an element that was visited are already there.
      for (const element of elements) if (!found.has(element)) for (const one of elementsBelow(element)) found.add(one)
      return [...found]
    },
  }
}

/** In document order; without recursion, because trees may be deep. */
function elementsBelow(parent: Document | Element): Element[] {
  const found: Element[] = []
  const rest: AnyNode[] = [...parent.children].reverse()
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    if (!('attribs' in node)) continue
    found.push(node)
    for (let n = node.children.length - 1; n >= 0; n--) rest.push(node.children[n] as AnyNode)
  }
  return found
}
