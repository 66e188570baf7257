import { ShoalError } from '../../errors.js'

/** Maximum characters of text per page, for all rules together: nested matches repeat what is inside them. */
export const MAX_TEXT = 32 * 1024 * 1024

/** As deep as browsers build trees. Every start tag may walk up the open elements, so depth is also time. */
export const MAX_DEPTH = 512

/** Unclosed formatting elements are opened again in every block: a small page can ask for any number of elements. */
export const MAX_ELEMENTS = 500_000

export function tooComplex(what: string): ShoalError {
  return new ShoalError('html_too_complex', `the HTML ${what}`)
}
