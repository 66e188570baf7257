import { isXml } from '../../fetch/media-type.js'
import { parsePage } from './parse-page.js'
import { compilePrograms, type Rule } from './program.js'
import { Scanner } from './scan.js'
import { compileMatcher, type Matcher, runOnTree } from './tree.js'

/** All rules of a route, ready to run on page after page. */
export interface Extractor {
  /** Per rule the values of its matches, in document order. */
  run(text: string, mediaType?: string): string[][]
  /** How many pages the scanner handled alone, and how many needed the tree. */
  readonly pages: { readonly scanned: number; readonly tree: number }
}

export function compileExtractor(rules: readonly Rule[]): Extractor {
  const scanners = compilePrograms(rules)?.map((program) => new Scanner(program)) ?? null
  const compileMatchers = (options?: { xml: boolean }): readonly Matcher[] =>
    rules.map((rule) => compileMatcher(rule.selector.css, options))
  // Selectors that the scanner understands are valid. Anything else is compiled now, so that a wrong selector is reported before the crawl.
  let matchers = scanners === null ? compileMatchers() : null
  let xmlMatchers: readonly Matcher[] | null = null
  const pages = { scanned: 0, tree: 0 }
  return {
    pages,
    run(text, mediaType = 'text/html') {
      if (scanners !== null && !isXml(mediaType)) {
        const found: string[][] = rules.map(() => [])
        if (scanners.every((scanner) => scanner.run(text, found))) {
          pages.scanned++
          return found
        }
      }
      pages.tree++
      const { root, xml } = parsePage(text, mediaType)
      if (xml) xmlMatchers ??= compileMatchers({ xml })
      else matchers ??= compileMatchers()
      return runOnTree(rules, (xml ? xmlMatchers : matchers) ?? [], root)
    },
  }
}
