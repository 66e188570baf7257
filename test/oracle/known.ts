import type { Document } from './answers.js'
import type { Difference } from './compare.js'

/** A difference that stays, and why. */
interface Known {
  readonly reason: string
  applies(difference: Difference, document: Document): boolean
}

const isUrl = ({ question }: Difference) => question === 'links' || question === 'base'

/** In the order of how often they are met. What is not explained by one of these fails. */
export const KNOWN: readonly Known[] = [
  {
    reason:
      'No encoding is declared: Chromium guesses from the text and the locale, Shoal takes bytes that are valid UTF-8 as UTF-8 (HTML standard, 13.2.3.2, allows both)',
    applies: (_, { name }) => /^(?:encoding (?:no declaration|in |late )|saved )/.test(name),
  },
  {
    reason: 'Chromium escapes | in paths; the URL standard does not (path percent-encode set)',
    applies: (difference) =>
      isUrl(difference) && difference.chromium.replaceAll('%7C', '|') === difference.shoal.replaceAll('%7C', '|'),
  },
]

export function reasonOf(difference: Difference, document: Document): string | null {
  return KNOWN.find((known) => known.applies(difference, document))?.reason ?? null
}
