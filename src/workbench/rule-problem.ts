/** Why a rule finds nothing on a page, or not what is there. */
export interface RuleProblem {
  readonly code:
    | 'no_match'
    /** The elements are there, without the attribute. */
    | 'no_attribute'
    /** The pattern does not match the text. */
    | 'no_pattern'
    /** The text cannot be converted. */
    | 'not_converted'
    /** The page is not what the rule is for: a selector needs HTML or XML of a sane size, a path needs JSON. */
    | 'wrong_type'
  readonly message: string
  /** What would match instead; null: nothing is near. */
  readonly suggestion: string | null
  /** How many elements or values match the suggestion. */
  readonly suggestionMatches: number
}

export const NO_SUGGESTION = { suggestion: null, suggestionMatches: 0 } as const
