/** Trees that are not those which the tests expect, and why. */
interface Explanation {
  readonly reason: string
  readonly pages: readonly string[]
}

export const EXPLAINED: readonly Explanation[] = [
  {
    reason:
      'Since 2025 a select may contain any element (HTML standard, "in body"). The tests are older: they expect that these tags are dropped, or end the select. Chromium 156 builds the same trees as Shoal.',
    pages: [
      '<!DOCTYPE html><select><menuitem></select>',
      '<select><b><option><select><option></b></select>X',
      '<select><b><option><select><option></b></select>',
      '<!DOCTYPE html><body><select><svg></svg></select>',
      '<!DOCTYPE html><body><select><option><svg></svg></option></select>',
      '<!DOCTYPE html><body><table><tr><td><select><svg><g>foo</g><g>bar</g><p>baz</table><p>quux',
      '<!DOCTYPE html><body><table><select><svg><g>foo</g><g>bar</g><p>baz</table><p>quux',
      '<!doctype html><select><plaintext></plaintext>X',
      '<!doctype html><table><select><plaintext>a<caption>b',
      '<select><keygen>',
      '<!DOCTYPE html><body><select><math></math></select>',
      '<!DOCTYPE html><body><select><option><math></math></option></select>',
      '<!DOCTYPE html><body><table><tr><td><select><math><mi>foo</mi><mi>bar</mi><p>baz</table><p>quux',
      '<!DOCTYPE html><body><table><select><math><mi>foo</mi><mi>bar</mi><p>baz</table><p>quux',
    ],
  },
]
