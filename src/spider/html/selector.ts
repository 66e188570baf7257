import * as cssWhat from 'css-what'
import { AttributeAction, SelectorType } from 'css-what'
import { ShoalError } from '../../errors.js'
import { type ForeignSelector, foreignSelector } from './foreign-selector.js'

/**
 * Selectors as a spider writes them: CSS, with one extension at the end. `'img@src'` picks the attribute `src` of the
 * elements that match `img` and have it; without `@` the text is picked.
 *
 * Type, `*`, `#id`, `.class`, attribute tests, descendant and child combinators and comma lists can be answered while
 * scanning; every other selector of css-select (`:not()`, `:nth-child()`, `+`, `~`, `:has()` …) needs the tree.
 */
export interface Selector {
  /** The CSS part. */
  readonly css: string
  /** Lower-case attribute name after `@`. */
  readonly attribute: string | null
  /** Null: needs the tree. */
  readonly chains: readonly Chain[] | null
}

/** Compounds from the outermost ancestor to the element itself. */
type Chain = readonly Compound[]

export interface Compound {
  /** How it is connected to the compound before it. */
  readonly child: boolean
  /** Lower case; null for any. */
  readonly tag: string | null
  readonly classes: readonly string[]
  readonly attributes: readonly AttributeTest[]
}

export interface AttributeTest {
  readonly name: string
  /** Null: it is enough that the attribute is there. */
  readonly test: ((value: string) => boolean) | null
}

export function parseSelector(source: string): Selector {
  const foreign = foreignSelector(source)
  if (foreign !== null) throw foreignError(source, foreign)
  const picked = /^([\s\S]*\S)\s*@\s*([\w:.-]+)\s*$/.exec(source)
  const css = picked?.[1] ?? source
  const attribute = picked?.[2]?.toLowerCase() ?? null
  let alternatives: cssWhat.Selector[][]
  try {
    alternatives = cssWhat.parse(css)
  } catch (cause) {
    throw badSelector(source, cause)
  }
  if (alternatives.length === 0) throw badSelector(source, new Error('it is empty'))
  // css-what accepts these.
  if (/[>+~,]\s*$/.test(css)) throw badSelector(source, new Error('it ends with a combinator'))
  if (alternatives.flat().some((token) => token.type === SelectorType.Tag && token.name.includes('@')))
    throw badSelector(source, new Error('@attribute may appear only once, after a selector'))
  const chains: Chain[] = []
  for (const alternative of alternatives) {
    const chain = streamable(alternative)
    if (chain === null) return { css, attribute, chains: null }
    chains.push(chain)
  }
  return { css, attribute, chains }
}

function foreignError(source: string, { reason, here }: ForeignSelector): ShoalError {
  const shown = JSON.stringify(source)
  return here === null
    ? new ShoalError('bad_selector', `selector ${shown}: ${reason}`, {
        hint: 'Write it as a CSS selector, with @name for an attribute.',
      })
    : new ShoalError('bad_selector', `selector ${shown}: ${reason}, did you mean '${here}'?`, {
        hint: `Write '${here}'.`,
      })
}

export function badSelector(source: string, cause: unknown): ShoalError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new ShoalError('bad_selector', `selector ${JSON.stringify(source)}: ${reason}`, { cause })
}

function streamable(tokens: readonly cssWhat.Selector[]): Chain | null {
  const chain: Compound[] = []
  let child = false
  let tag: string | null = null
  let classes: string[] = []
  let attributes: AttributeTest[] = []
  let empty = true
  const close = (): void => {
    chain.push({ child, tag, classes, attributes })
    tag = null
    classes = []
    attributes = []
    empty = true
  }
  for (const token of tokens) {
    switch (token.type) {
      case SelectorType.Tag:
        if (token.namespace !== null || !isAscii(token.name)) return null
        tag = token.name.toLowerCase()
        empty = false
        break
      case SelectorType.Universal:
        if (token.namespace !== null) return null
        empty = false
        break
      case SelectorType.Attribute:
        if (token.namespace !== null || !isAscii(token.name)) return null
        // [attr!=value] also matches elements without the attribute.
        if (token.action === AttributeAction.Not) return null
        if (isPlainClass(token)) classes.push(token.value)
        else attributes.push({ name: token.name.toLowerCase(), test: attributeTest(token) })
        empty = false
        break
      case SelectorType.Descendant:
      case SelectorType.Child:
        if (empty) return null
        close()
        child = token.type === SelectorType.Child
        break
      default:
        return null
    }
  }
  if (empty) return null
  close()
  return chain
}

function isAscii(name: string): boolean {
  return /^[\x21-\x7e]+$/.test(name)
}

function isPlainClass(token: cssWhat.AttributeSelector): boolean {
  return (
    token.name === 'class' &&
    token.action === AttributeAction.Element &&
    token.ignoreCase !== true &&
    isAscii(token.value)
  )
}

/** Attributes whose values HTML compares without regard to case (HTML standard, "case-sensitivity of selectors"). */
const CASELESS = new Set(
  'accept accept-charset align alink axis bgcolor charset checked clear codetype color compact declare defer dir direction disabled enctype face frame hreflang http-equiv lang language link media method multiple nohref noresize noshade nowrap readonly rel rev rules scope scrolling selected shape target text type valign valuetype vlink'.split(
    ' ',
  ),
)

/** The tests of css-select, on a value instead of an element. */
function attributeTest(token: cssWhat.AttributeSelector): ((value: string) => boolean) | null {
  const caseless =
    typeof token.ignoreCase === 'boolean'
      ? token.ignoreCase
      : token.ignoreCase !== 'quirks' && CASELESS.has(token.name.toLowerCase())
  const fold = caseless ? (text: string) => text.toLowerCase() : (text: string) => text
  const wanted = fold(token.value)
  const length = wanted.length
  const never = (): boolean => false
  switch (token.action) {
    case AttributeAction.Exists:
      return null
    case AttributeAction.Equals:
      return (value) => fold(value) === wanted
    case AttributeAction.Hyphen:
      return (value) =>
        (value.length === length || value.charAt(length) === '-') && fold(value.slice(0, length)) === wanted
    case AttributeAction.Element: {
      if (/\s/.test(wanted)) return never
      const escaped = token.value.replace(/[-[\]{}()*+?.,\\^$|#\s]/g, '\\$&')
      const word = new RegExp(`(?:^|\\s)${escaped}(?:$|\\s)`, caseless ? 'i' : '')
      return (value) => word.test(value)
    }
    case AttributeAction.Start:
      return length === 0 ? never : (value) => fold(value.slice(0, length)) === wanted
    case AttributeAction.End:
      return length === 0 ? never : (value) => fold(value.slice(-length)) === wanted
    case AttributeAction.Any:
      return length === 0 ? never : (value) => fold(value).includes(wanted)
    case AttributeAction.Not:
      throw new Error('[attr!=value] needs the tree')
  }
}
