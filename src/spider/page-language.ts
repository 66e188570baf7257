import { knownLanguage } from './convert/languages.js'
import { compileExtractor, type Extractor } from './html/extract.js'
import type { Rule } from './html/program.js'
import { parseSelector } from './html/selector.js'

/** The elements that name the language are the first of a page. */
const HEAD_CHARS = 8_192

/** The two places of a page that name its language, the more important one first. */
export const LANGUAGE_RULES: readonly Rule[] = ['html@lang', 'meta[http-equiv="content-language" i]@content'].map(
  (source) => {
    const selector = parseSelector(source)
    return { selector, pick: { kind: 'attribute', name: selector.attribute ?? '' }, first: true, skipNofollow: false }
  },
)

/** Compiled with the first page that needs it. */
let compiled: Extractor | null = null

/** In which language a page is written: BCP 47; null if it does not say so, or names several. `html` is null for a page that is none. */
export function pageLanguage(html: string | null, contentLanguage: string | undefined): string | null {
  compiled ??= compileExtractor(LANGUAGE_RULES)
  return foundLanguage(html === null ? [] : compiled.run(html.slice(0, HEAD_CHARS)), contentLanguage)
}

/** The same from the values of LANGUAGE_RULES. */
export function foundLanguage(
  [own, meta]: readonly (readonly string[])[],
  contentLanguage: string | undefined,
): string | null {
  for (const tag of [own?.[0], meta?.[0], contentLanguage]) {
    const language = tag === undefined ? null : knownLanguage(tag)
    if (language !== null) return language
  }
  return null
}
