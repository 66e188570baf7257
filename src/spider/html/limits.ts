import { ShoalError } from '../../errors.js'

/** Characters of text that one page may give, all rules together: nested matches repeat what is inside them. */
export const MAX_TEXT = 32 * 1024 * 1024

export function tooComplex(what: string): ShoalError {
  return new ShoalError('html_too_complex', `the HTML ${what}`)
}
