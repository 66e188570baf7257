import { knownLanguage } from './convert/languages.js'
import { compileExtractor, type Extractor } from './html/extract.js'
import { parseSelector } from './html/selector.js'

/** The elements that name the language are the first of a page. */
const HEAD_CHARS = 8_192

let compiled: Extractor | null = null

/** The two places of a page that name its language, the more important one first. Compiled with the first page that needs it. */
function places(): Extractor {
  compiled ??= compileExtractor(
    ['html@lang', 'meta[http-equiv="content-language" i]@content'].map((source) => {
      const selector = parseSelector(source)
      return { selector, pick: { kind: 'attribute', name: selector.attribute ?? '' }, first: true, skipNofollow: false }
    }),
  )
  return compiled
}

/** In which language a page is written: BCP 47; null if it does not say so, or names several. `html` is null for a page that is none. */
export function pageLanguage(html: string | null, contentLanguage: string | undefined): string | null {
  const [own, meta] = html === null ? [] : places().run(html.slice(0, HEAD_CHARS))
  for (const tag of [own?.[0], meta?.[0], contentLanguage]) {
    const language = tag === undefined ? null : knownLanguage(tag)
    if (language !== null) return language
  }
  return null
}
