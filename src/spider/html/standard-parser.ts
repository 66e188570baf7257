import type { Document, Element } from 'domhandler'
import type { ParserOptions, Token } from 'parse5'
import type { Htmlparser2TreeAdapterMap } from 'parse5-htmlparser2-tree-adapter'
import { isHtmlElement } from './base-url.js'
import { flattenBelow } from './flatten.js'
import { MAX_DEPTH, MAX_ELEMENTS, tooComplex } from './limits.js'

type OpenElements = import('parse5').Parser<Htmlparser2TreeAdapterMap>['openElements']
interface OpenCounts {
  p: number
  select: number
}
type Options = ParserOptions<Htmlparser2TreeAdapterMap> & {
  /** `<script/>` has ended, as in XML; in HTML it has not. */
  readonly selfClosing?: boolean
}
type Parse = (html: string, options: Options) => Document

/**
 * parse5, and what today's standard and its browsers do differently:
 *
 * - a tag with very many attributes takes linear time, and so does everything else, or the page is refused (`html_too_complex`);
 * - text is taken in pieces, not letter by letter;
 * - elements that are nested deeper than 512 levels become siblings;
 * - a `select` may contain any element. Until 2025 the standard had two insertion modes of its own for it, which dropped most tags.
 */
export function createParser(parse5: typeof import('parse5')): Parse {
  const { Tokenizer, TokenizerMode, html } = parse5
  const { TAG_ID: $ } = html

  /** parse5 compares each attribute with all before it: a tag of 100,000 attributes took a minute. Chromium keeps all of them, too. */
  class LinearTokenizer extends Tokenizer {
    #names: Set<string> | null = null
    #tag: Token.Token | null = null
    readonly #parser: Pick<StandardParser, 'insertionMode'>

    constructor(options: ConstructorParameters<typeof Tokenizer>[0], parser: StandardParser) {
      super(options, parser)
      this.#parser = parser
    }

    protected override _leaveAttrName(): void {
      const tag = this.currentToken
      if (tag === null || !('attrs' in tag) || tag.attrs.length < FEW_ATTRIBUTES) {
        super._leaveAttrName()
        return
      }
      if (tag !== this.#tag || this.#names === null) {
        this.#tag = tag
        this.#names = new Set(tag.attrs.map(({ name }) => name))
      }
      const { size } = this.#names.add(this.currentAttr.name)
      if (size > tag.attrs.length) tag.attrs.push(this.currentAttr)
    }

    protected override _stateData(cp: number): void {
      if (!this.#takeRun(cp)) super._stateData(cp)
    }

    protected override _stateRawtext(cp: number): void {
      if (!this.#takeRun(cp)) super._stateRawtext(cp)
    }

    protected override _stateScriptData(cp: number): void {
      if (!this.#takeRun(cp)) super._stateScriptData(cp)
    }

    /**
     * parse5 appends text letter by letter, which was a fifth of the CPU time of `page.$` on the page of the benchmark. Here everything up to the next character that may mean
     * something is one piece.
     */
    #takeRun(cp: number): boolean {
      if (!isLetter(cp)) return false
      const { html, pos } = this.preprocessor
      // In other modes a space may go elsewhere than the word before it: a frameset keeps spaces and drops words.
      const { insertionMode } = this.#parser
      const isPlain = insertionMode === Mode.body || insertionMode === Mode.text ? isLetterOrSpace : isLetter
      let end = pos + 1
      while (isPlain(html.charCodeAt(end))) end++
      this.preprocessor.pos = end - 1
      this._emitChars(html.slice(pos, end))
      return true
    }
  }

  const FORMATTING = new Set([
    $.A,
    $.B,
    $.BIG,
    $.CODE,
    $.EM,
    $.FONT,
    $.I,
    $.NOBR,
    $.S,
    $.SMALL,
    $.STRIKE,
    $.STRONG,
    $.TT,
    $.U,
  ])
  const HEADINGS = [$.H1, $.H2, $.H3, $.H4, $.H5, $.H6]
  const modes = new Map<number, number>([
    [$.BODY, Mode.body],
    [$.TABLE, Mode.table],
    [$.CAPTION, Mode.caption],
    [$.COLGROUP, Mode.columnGroup],
    [$.TBODY, Mode.tableBody],
    [$.THEAD, Mode.tableBody],
    [$.TFOOT, Mode.tableBody],
    [$.TR, Mode.row],
    [$.TD, Mode.cell],
    [$.TH, Mode.cell],
  ])

  /**
   * Since it may contain anything, a tag inside a select does not reach what is open outside. Most tags ask for a paragraph or a select, which nearly
   * never is open: to know that without a walk is what makes deep pages linear.
   */
  function boundScopesBySelect(open: OpenElements, counts: OpenCounts): void {
    const reaches = (tag: number): boolean => {
      if ((tag === $.P && counts.p === 0) || (tag === $.SELECT && counts.select === 0)) return false
      if (counts.select === 0) return true
      for (let index = open.stackTop; index > 0; index--) {
        if (open.tagIDs[index] === tag) return true
        if (open.tagIDs[index] === $.SELECT) return false
      }
      return false
    }
    const { hasInScope, hasInListItemScope, hasInButtonScope } = open
    open.hasInScope = (tag) => reaches(tag) && hasInScope.call(open, tag)
    open.hasInListItemScope = (tag) => reaches(tag) && hasInListItemScope.call(open, tag)
    open.hasInButtonScope = (tag) => reaches(tag) && hasInButtonScope.call(open, tag)
    open.hasNumberedHeaderInScope = () => HEADINGS.some((heading) => open.hasInScope(heading))
  }

  class StandardParser extends parse5.Parser<Htmlparser2TreeAdapterMap> {
    /** How many more steps through the open elements the page may cause. */
    #stepsLeft = 0
    #elements = 0
    readonly #open: OpenCounts = { p: 0, select: 0 }
    #selfClosing = false
    /** Misnested formatting elements may still be nested deeper, and code that calls itself for each level would fail. */
    #deep = false

    constructor(...args: ConstructorParameters<typeof parse5.Parser<Htmlparser2TreeAdapterMap>>) {
      super(...args)
      this.tokenizer = new LinearTokenizer(this.options, this)
      boundScopesBySelect(this.openElements, this.#open)
    }

    read(html: string, { selfClosing = false }: Options): Document {
      this.#selfClosing = selfClosing
      this.#stepsLeft = STEPS + html.length * STEPS_PER_CHARACTER
      this.tokenizer.write(html, true)
      if (this.#deep) flattenBelow(this.document, MAX_DEPTH)
      return this.document
    }

    override onStartTag(token: Token.TagToken): void {
      // A link inside a link ends the outer one first, and opens again all formatting elements between them.
      this.#walk(token.tagID === $.A ? Math.max(1, this.activeFormattingElements.entries.length) : 1)
      const depth = this.openElements.stackTop
      super.onStartTag(token)
      if (this.#selfClosing && token.selfClosing && this.openElements.stackTop > depth) this.#endAtOnce(token)
    }

    override onEndTag(token: Token.TagToken): void {
      this.#walk(FORMATTING.has(token.tagID) ? MISNESTED_STEPS : END_TAG_STEPS)
      super.onEndTag(token)
    }

    override onItemPush(node: Element, tagId: number, isTop: boolean): void {
      if (++this.#elements > MAX_ELEMENTS) throw tooComplex(`has more than ${MAX_ELEMENTS} elements`)
      if (node.name === 'p') this.#open.p++
      else if (node.name === 'select') this.#open.select++
      super.onItemPush(node, tagId, isTop)
    }

    override onItemPop(node: Element, isTop: boolean): void {
      if (node.name === 'p') this.#open.p--
      else if (node.name === 'select') this.#open.select--
      super.onItemPop(node, isTop)
    }

    /** Deeper than browsers build trees, elements become siblings of the current one instead of its children. */
    override _attachElementToTree(element: Element, location: Token.LocationWithAttributes | null): void {
      const parent = this.openElements.stackTop < MAX_DEPTH ? null : (this.openElements.current?.parent ?? null)
      if (parent === null || this._shouldFosterParentOnInsertion()) super._attachElementToTree(element, location)
      else this.treeAdapter.appendChild(parent, element)
    }

    override _startTagOutsideForeignContent(token: Token.TagToken): void {
      if (this.openElements.hasInScope($.SELECT)) {
        switch (token.tagID) {
          case $.SELECT:
            this.openElements.popUntilTagNamePopped($.SELECT)
            return
          case $.INPUT:
            this.openElements.popUntilTagNamePopped($.SELECT)
            break
          case $.OPTION:
            this.openElements.generateImpliedEndTagsWithExclusion($.OPTGROUP)
            break
          case $.OPTGROUP:
          case $.HR:
            this.openElements.generateImpliedEndTags()
            break
        }
      }
      super._startTagOutsideForeignContent(token)
      if (this.insertionMode === Mode.select || this.insertionMode === Mode.selectInTable) this._resetInsertionMode()
    }

    override _endTagOutsideForeignContent(token: Token.TagToken): void {
      if (token.tagID === $.SELECT && this.openElements.hasInScope($.SELECT)) {
        this.openElements.generateImpliedEndTags()
        this.openElements.popUntilTagNamePopped($.SELECT)
      } else if (this.#closesForgotten(token)) this.openElements.pop()
      else super._endTagOutsideForeignContent(token)
    }

    /** Of more than three equal formatting elements the list forgets the first: its end tag closes it and nothing else. */
    #closesForgotten({ tagID }: Token.TagToken): boolean {
      const { current, currentTagId } = this.openElements
      if (currentTagId !== tagID || !FORMATTING.has(tagID) || current === undefined || !('attribs' in current))
        return false
      return isHtmlElement(current) && this.activeFormattingElements.getElementEntry(current) === undefined
    }

    /** As if the select were not there. */
    override _resetInsertionModeForSelect(selectIndex: number): void {
      this.insertionMode = Mode.body
      for (let index = selectIndex - 1; index > 0; index--) {
        const tag = this.openElements.tagIDs[index]
        const mode = tag === $.TEMPLATE ? this.tmplInsertionModeStack[0] : modes.get(tag ?? $.UNKNOWN)
        if (mode === undefined) continue
        this.insertionMode = mode
        return
      }
    }

    #endAtOnce({ tagName, tagID }: Token.TagToken): void {
      this.tokenizer.state = TokenizerMode.DATA
      const attrs: Token.Attribute[] = []
      const type = parse5.Token.TokenType.END_TAG
      this.onEndTag({ type, tagName, tagID, attrs, selfClosing: false, ackSelfClosing: false, location: null })
    }

    /** A tag may cause a walk through all open elements, and through all formatting elements that are to be opened again. */
    #walk(weight: number): void {
      const formatting = this.activeFormattingElements.entries.length
      this.#stepsLeft -= this.openElements.stackTop * weight + formatting * FORMATTING_STEPS
      if (this.#stepsLeft < 0) throw tooComplex('has too many open elements at once')
      if (this.openElements.stackTop + formatting > MAX_DEPTH) this.#deep = true
    }
  }

  return (html, options) => new StandardParser(options).read(html, options)
}

/** 1,000 open elements at every tag of a usual page; 100 KB of nothing but unclosed <div> still fit. */
const STEPS = 1_000_000
const STEPS_PER_CHARACTER = 2_000
/** An end tag walks in any case. */
const END_TAG_STEPS = 20
/** Several times if formatting elements are misnested. */
const MISNESTED_STEPS = 100
/** A formatting element is compared with all others, with all attributes. */
const FORMATTING_STEPS = 1500

/** Text that means nothing but itself; NaN, after the end, is none. */
function isLetter(code: number): boolean {
  return code > 0x20 && code < 0xd800 && code !== LESS_THAN && code !== AMPERSAND
}

function isLetterOrSpace(code: number): boolean {
  return code === 0x20 || isLetter(code)
}

const AMPERSAND = 0x26
const LESS_THAN = 0x3c

/** Insertion modes of parse5, which it does not export. */
const Mode = {
  body: 6,
  text: 7,
  table: 8,
  caption: 10,
  columnGroup: 11,
  tableBody: 12,
  row: 13,
  cell: 14,
  select: 15,
  selectInTable: 16,
} as const

/** Up to here, comparing with each other is faster than a set. */
const FEW_ATTRIBUTES = 32
