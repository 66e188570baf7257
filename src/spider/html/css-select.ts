import { createRequire } from 'node:module'

type CssSelect = typeof import('css-select')
type Filter = CssSelect['filters'][string]

const require = createRequire(import.meta.url)
let loaded: CssSelect | null = null

/** Loaded when the first page needs a tree, like the parser. cheerio works on the same copy. */
export function cssSelect(): CssSelect {
  if (loaded !== null) return loaded
  loaded = require('css-select') as CssSelect
  const { filters } = loaded
  filters['nth-child'] = countsSiblings({ fromEnd: false, ofType: false })
  filters['nth-last-child'] = countsSiblings({ fromEnd: true, ofType: false })
  filters['nth-of-type'] = countsSiblings({ fromEnd: false, ofType: true })
  filters['nth-last-of-type'] = countsSiblings({ fromEnd: true, ofType: true })
  return loaded
}

/**
 * css-select counts the siblings before each element anew: `li:nth-child(2)` took 2.6 s on a list of 15,000. Here the children of a parent are
 * counted once for each compiled selector. `page.$` compiles a selector whenever it is used, so changes to the tree are seen; the trees of `fields`
 * never change.
 */
function countsSiblings({ fromEnd, ofType }: { fromEnd: boolean; ofType: boolean }): Filter {
  const { default: nthCheck }: typeof import('nth-check') = require('nth-check')
  return (next, rule, { adapter }) => {
    const matches = nthCheck(rule)
    const positions = new WeakMap<object, number>()
    return (element) => {
      if (!next(element)) return false
      const key = Object(element)
      if (!positions.has(key)) {
        const siblings = adapter.getSiblings(element)
        const counts = new Map<string, number>()
        for (let n = 0; n < siblings.length; n++) {
          const sibling = siblings[fromEnd ? siblings.length - 1 - n : n]
          if (sibling === undefined || !adapter.isTag(sibling)) continue
          const kind = ofType ? adapter.getName(sibling) : ''
          const before = counts.get(kind) ?? 0
          positions.set(Object(sibling), before)
          counts.set(kind, before + 1)
        }
      }
      return matches(positions.get(key) ?? 0)
    }
  }
}
