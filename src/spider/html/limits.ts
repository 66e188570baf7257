import { ShoalError } from '../../errors.js'

/** Maximum characters of text per page, for all rules together: nested matches repeat what is inside them. */
export const MAX_TEXT = 32 * 1024 * 1024

export function tooComplex(what: string): ShoalError {
  return new ShoalError('html_too_complex', `the HTML ${what}`)
}
