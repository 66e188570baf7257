import * as modes from './modes.js'
import { OpenElements } from './open-elements.js'
import * as program from './program.js'
import * as tags from './tags.js'

// Imported names are looked up at every use; constants of this file become part of the compiled code.
const { Mode, Raw } = modes
const { TYPE_SLOT } = program
const {
  BREAKS_OUT,
  flagsOf,
  IMPLIED_END,
  IMPLIED_END_THOROUGH,
  INTEGRATION_POINTS,
  isMarker,
  Kind,
  kindOf,
  SPECIAL,
  T,
} = tags

/** What a start tag does to the open elements in each insertion mode of the HTML standard. */
export class StartTags extends OpenElements {
  protected formOpen = false
  private rootHasAttributes = false
  private bodyHasAttributes = false
  protected templateOpened = false
  /** The head was put back on the stack for one element that came after it. */
  protected borrowedHead = false
  protected standardsDoctype = false

  protected override clearStack(): void {
    super.clearStack()
    this.formOpen = false
    this.rootHasAttributes = false
    this.bodyHasAttributes = false
    this.templateOpened = false
    this.borrowedHead = false
    this.standardsDoctype = false
  }

  /** Gives the `Raw` kind of text that follows. */
  protected start(id: number): number {
    switch (this.mode) {
      case Mode.body:
        return this.startInBody(id)
      case Mode.cell:
        if (kindOf(id) !== Kind.tablePart) return this.startInBody(id)
        this.closeCell()
        return this.startInRow(id)
      case Mode.table:
        return this.startInTable(id)
      case Mode.tableBody:
        return this.startInTableBody(id)
      case Mode.row:
        return this.startInRow(id)
      case Mode.caption:
        if (kindOf(id) !== Kind.tablePart) return this.startInBody(id)
        this.popTo(this.inTableScope(T.caption) - 1, true)
        return this.startInTable(id)
      case Mode.columnGroup:
        return this.startInColumnGroup(id)
      case Mode.select:
        return this.startInSelect(id)
      default:
        return this.startBeforeBody(id)
    }
  }

  protected startBeforeBody(id: number): number {
    const kind = kindOf(id)
    if (kind === Kind.unsure) {
      this.unsure = true
      return Raw.none
    }
    if (this.mode === Mode.beforeHtml) {
      this.mode = Mode.beforeHead
      if (kind === Kind.html) {
        this.rootHasAttributes = this.hasAttributes
        this.push(id)
        return Raw.none
      }
      this.pushImplied(T.html)
    }
    if (kind === Kind.html) return this.mergeAttributes(T.html, this.rootHasAttributes)
    if (this.mode === Mode.beforeHead) {
      this.mode = Mode.inHead
      if (kind === Kind.head) {
        this.push(id)
        return Raw.none
      }
      this.pushImplied(T.head)
    }
    if (kind === Kind.head) return Raw.none
    if (this.mode === Mode.headNoscript) {
      if (kind === Kind.noscript) return Raw.none
      if ((kind === Kind.headVoid && id !== T.base) || kind === Kind.style) return this.startInHead(id)
      this.popTo(this.top - 1, true)
      this.mode = Mode.inHead
    }
    const headish =
      kind === Kind.headVoid ||
      kind === Kind.title ||
      kind === Kind.style ||
      kind === Kind.script ||
      kind === Kind.template
    if (this.mode === Mode.inHead) {
      if (headish) return this.startInHead(id)
      if (kind === Kind.noscript) {
        this.push(id)
        this.mode = Mode.headNoscript
        return Raw.none
      }
      this.popTo(this.top - 1, true)
      this.mode = Mode.afterHead
    }
    if (headish) {
      // It still becomes a child of the head, whose text is then no longer in the order of the page.
      if (this.headTextWanted) this.unsure = true
      this.top++
      this.borrowedHead = true
      return this.startInHead(id)
    }
    this.mode = Mode.body
    if (kind === Kind.body) {
      this.bodyHasAttributes = this.hasAttributes
      this.push(id)
      return Raw.none
    }
    this.pushImplied(T.body)
    return this.startInBody(id)
  }

  protected ensureBody(): void {
    if (this.mode === Mode.beforeHtml) this.pushImplied(T.html)
    if (this.mode <= Mode.beforeHead) this.pushImplied(T.head)
    if (this.mode !== Mode.afterHead) this.popTo(1, true)
    this.pushImplied(T.body)
    this.mode = Mode.body
  }

  /** A second <html> or <body> adds its attributes to the first: harmless unless a rule can notice. */
  protected mergeAttributes(id: number, hadAttributes: boolean): number {
    if (!this.hasAttributes) return Raw.none
    const { tagSteps, classSteps, otherSteps, rules } = this.program
    for (const step of [...(tagSteps[id] ?? []), ...classSteps, ...otherSteps]) {
      const tests = step.classBits !== 0 || step.attributes.length > 0
      const picks = step.rule >= 0 && rules[step.rule]?.slot !== 0
      if (hadAttributes || (tests ? this.fits(step) : picks)) this.unsure = true
    }
    return Raw.none
  }

  protected startInHead(id: number): number {
    const kind = kindOf(id)
    if (kind === Kind.template) this.template(id)
    else if (kind === Kind.headVoid) this.leaf(id)
    else {
      this.push(id)
      return rawKind(kind)
    }
    return Raw.none
  }

  protected template(id: number): void {
    this.leaf(id)
    this.templateOpened = true
  }

  protected startInBody(id: number): number {
    switch (kindOf(id)) {
      case Kind.ordinary:
      case Kind.formatting:
      case Kind.marker:
      case Kind.noscript:
        this.push(id)
        break
      case Kind.a:
        if (this.openA > 0) this.closeOpenA()
        this.push(id)
        break
      case Kind.block:
        this.closeP()
        this.push(id)
        break
      case Kind.li:
      case Kind.ddDt:
        this.closeListItem(id)
        this.closeP()
        this.push(id)
        break
      case Kind.void:
      case Kind.headVoid:
        this.leaf(id)
        break
      case Kind.hr:
        this.closeP()
        this.leaf(id)
        break
      case Kind.heading:
        this.closeP()
        if (kindOf(this.current()) === Kind.heading) this.popTo(this.top - 1, false)
        this.push(id)
        break
      case Kind.pre:
        this.closeP()
        this.push(id)
        this.skipNewline = true
        break
      case Kind.form:
        if (this.formOpen) break
        this.formOpen = true
        this.closeP()
        this.push(id)
        break
      case Kind.button: {
        const open = this.inScope(T.button)
        if (open > 0) this.popTo(open - 1, false)
        this.push(id)
        break
      }
      case Kind.nobr:
        if (this.inScope(T.nobr) > 0) this.unsure = true
        this.push(id)
        break
      case Kind.table:
        if (this.openP > 0 && this.inScope(T.p, T.button) > 0) {
          // Quirks mode keeps the paragraph open.
          if (this.standardsDoctype) this.closeP()
          else this.unsure = true
        }
        this.push(id)
        this.mode = Mode.table
        break
      case Kind.textarea:
        this.push(id)
        this.skipNewline = true
        return Raw.withEntities
      case Kind.xmp:
        this.closeP()
        this.push(id)
        return Raw.plain
      case Kind.title:
      case Kind.style:
      case Kind.script:
      case Kind.rawText:
        this.push(id)
        return rawKind(kindOf(id))
      case Kind.select:
        this.push(id)
        this.mode = Mode.select
        break
      case Kind.option:
        if (this.current() === T.option) this.popTo(this.top - 1, false)
        this.push(id)
        break
      case Kind.ruby:
        if (this.inScope(T.ruby) > 0) this.impliedEnds(id)
        this.push(id)
        break
      case Kind.foreign:
        this.push(id)
        this.foreignFrom = this.top
        if (this.selfClosing) this.popForeign()
        break
      case Kind.html:
        return this.mergeAttributes(T.html, this.rootHasAttributes)
      case Kind.body:
        return this.mergeAttributes(T.body, this.bodyHasAttributes)
      case Kind.template:
        this.template(id)
        break
      case Kind.unsure:
        this.unsure = true
        break
    }
    return Raw.none
  }

  protected impliedEnds(id: number): void {
    const before = id === T.rb || id === T.rtc
    for (;;) {
      const current = this.current()
      const ends = flagsOf(current) & (before ? IMPLIED_END : IMPLIED_END_THOROUGH)
      if (ends === 0 || (!before && current === T.rtc)) return
      this.popTo(this.top - 1, false)
    }
  }

  /** A link inside a link ends the first one; easy only when nothing else is open between them. */
  protected closeOpenA(): void {
    for (let i = this.top; i > 0; i--) {
      const id = this.ids[i] as number
      if (id === T.a) {
        if (i === this.top) this.popTo(i - 1, true)
        else this.unsure = true
        return
      }
      if (isMarker(id)) return
    }
  }

  protected closeListItem(id: number): void {
    for (let i = this.top; i > 0; i--) {
      const other = this.ids[i] as number
      if (id === T.li ? other === T.li : other === T.dd || other === T.dt) {
        this.popTo(i - 1, false)
        return
      }
      if ((flagsOf(other) & SPECIAL) !== 0 && other !== T.address && other !== T.div && other !== T.p) return
    }
  }

  protected startInTable(id: number): number {
    switch (id) {
      case T.caption:
        this.push(id)
        this.mode = Mode.caption
        return Raw.none
      case T.colgroup:
        this.push(id)
        this.mode = Mode.columnGroup
        return Raw.none
      case T.col:
        this.pushImplied(T.colgroup)
        this.mode = Mode.columnGroup
        this.leaf(id)
        return Raw.none
      case T.tbody:
      case T.thead:
      case T.tfoot:
        this.push(id)
        this.mode = Mode.tableBody
        return Raw.none
      case T.tr:
      case T.td:
      case T.th:
        this.pushImplied(T.tbody)
        this.mode = Mode.tableBody
        return this.startInTableBody(id)
      case T.style:
      case T.script:
        this.push(id)
        return rawKind(kindOf(id))
      case T.template:
        this.template(id)
        return Raw.none
      case T.input:
        if (this.has(TYPE_SLOT) && this.value(TYPE_SLOT).toLowerCase() === 'hidden') this.leaf(id)
        else this.unsure = true
        return Raw.none
      case T.form:
        // The element is there, but nothing is put into it.
        if (!this.formOpen) this.leaf(id)
        this.formOpen = true
        return Raw.none
      default:
        this.unsure = true
        return Raw.none
    }
  }

  protected startInTableBody(id: number): number {
    if (id === T.tr) {
      this.push(id)
      this.mode = Mode.row
      return Raw.none
    }
    if (id === T.td || id === T.th) {
      this.pushImplied(T.tr)
      this.mode = Mode.row
      return this.startInRow(id)
    }
    if (kindOf(id) === Kind.tablePart) this.popTo(this.top - 1, true)
    return this.startInTable(id)
  }

  protected startInRow(id: number): number {
    if (id === T.td || id === T.th) {
      this.push(id)
      this.mode = Mode.cell
      return Raw.none
    }
    if (kindOf(id) !== Kind.tablePart) return this.startInTable(id)
    this.popTo(this.top - 1, true)
    return this.startInTableBody(id)
  }

  protected startInColumnGroup(id: number): number {
    if (id === T.col) this.leaf(id)
    else if (id === T.template) this.template(id)
    else {
      this.popTo(this.top - 1, true)
      return this.startInTable(id)
    }
    return Raw.none
  }

  protected startInSelect(id: number): number {
    switch (id) {
      case T.option:
      case T.optgroup:
      case T.hr:
        if (this.current() === T.option) this.popTo(this.top - 1, true)
        if (id !== T.option && this.current() === T.optgroup) this.popTo(this.top - 1, true)
        if (id === T.hr) this.leaf(id)
        else this.push(id)
        return Raw.none
      case T.script:
        this.push(id)
        return Raw.script
      case T.template:
        this.template(id)
        return Raw.none
      default:
        // A select may contain anything since 2025, but hardly any page makes use of it: the tree decides.
        this.unsure = true
        return Raw.none
    }
  }

  protected startInForeign(id: number): void {
    // A base is only the page's base if it is one of HTML.
    if ((flagsOf(id) & BREAKS_OUT) !== 0 || INTEGRATION_POINTS.has(this.current()) || id === T.base) {
      this.unsure = true
      return
    }
    this.push(id)
    if (this.selfClosing) this.popForeign()
  }
}

export function rawKind(kind: number): number {
  switch (kind) {
    case Kind.title:
    case Kind.textarea:
      return Raw.withEntities
    case Kind.style:
    case Kind.xmp:
    case Kind.rawText:
      return Raw.plain
    case Kind.script:
      return Raw.script
    default:
      return Raw.none
  }
}
