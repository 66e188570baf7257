/** How records of one entity become one. Checked and complete; what a user writes is in spider/definition.ts. */
export interface MergeRules {
  /** Field → which record gives it. */
  readonly prefer: ReadonlyMap<string, Preference>
  /** For the other fields. */
  readonly otherwise: Preference
}

/**
 * `newest`: the record that a page showed last. `longest`: the longest text, the list with most items. `sites`: the first of these sites
 * that has it. What a rule leaves open, the newest decides.
 */
export type Preference = 'newest' | 'longest' | { readonly sites: readonly string[] }
