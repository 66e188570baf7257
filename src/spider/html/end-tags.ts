import * as modes from './modes.js'
import { StartTags } from './start-tags.js'
import * as tags from './tags.js'

// Imported names are looked up at every use; constants of this file become part of the compiled code.
const { Mode } = modes
const { flagsOf, IMPLIED_END, isMarker, Kind, kindOf, SCOPE, SPECIAL, T } = tags

/** What an end tag does to the open elements in each insertion mode of the HTML standard. */
export class EndTags extends StartTags {
  protected end(id: number): void {
    switch (this.mode) {
      case Mode.body:
        this.endInBody(id)
        break
      case Mode.cell:
        this.endInCell(id)
        break
      case Mode.table:
      case Mode.tableBody:
      case Mode.row:
        this.endInTable(id)
        break
      case Mode.caption:
        this.endInCaption(id)
        break
      case Mode.columnGroup:
        if (id === T.col) break
        this.popTo(this.top - 1, true)
        if (id !== T.colgroup) this.endInTable(id)
        break
      case Mode.select:
        this.endInSelect(id)
        break
      default:
        this.endBeforeBody(id)
    }
  }

  protected endBeforeBody(id: number): void {
    if (id === T.br) this.unsure = true
    else if (this.mode === Mode.headNoscript) {
      if (id !== T.noscript) return
      this.popTo(this.top - 1, true)
      this.mode = Mode.inHead
    } else if (id === T.head) {
      if (this.mode === Mode.inHead) {
        this.popTo(this.top - 1, true)
        this.mode = Mode.afterHead
      } else if (this.mode !== Mode.afterHead) this.unsure = true
    } else if (id === T.body || id === T.html) this.ensureBody()
  }

  protected endInBody(id: number): void {
    switch (kindOf(id)) {
      case Kind.formatting:
      case Kind.a:
      case Kind.nobr:
        this.endFormatting(id)
        break
      case Kind.block:
      case Kind.button:
      case Kind.pre: {
        if (id === T.p) {
          this.endP()
          break
        }
        const open = this.inScope(id)
        if (open > 0) this.popTo(open - 1, false)
        break
      }
      case Kind.li: {
        const open = this.inScope(id, T.ul, T.ol)
        if (open > 0) this.popTo(open - 1, false)
        break
      }
      case Kind.ddDt: {
        const open = this.inScope(id)
        if (open > 0) this.popTo(open - 1, false)
        break
      }
      case Kind.heading:
        this.endHeading()
        break
      case Kind.form:
        this.endForm()
        break
      case Kind.marker: {
        const open = this.inScope(id)
        if (open > 0) this.popTo(open - 1, true)
        break
      }
      case Kind.html:
      case Kind.body:
      case Kind.template:
        break
      default:
        if (id === T.br) this.impliedLeaf(id)
        else this.endOther(id)
    }
  }

  protected endOther(id: number): void {
    for (let i = this.top; i > 1; i--) {
      const other = this.ids[i] as number
      if (other === id) {
        this.popTo(i - 1, false)
        return
      }
      if ((flagsOf(other) & SPECIAL) !== 0) return
    }
  }

  protected endP(): void {
    if (this.openP > 0 && this.inScope(T.p, T.button) > 0) this.closeP()
    else this.impliedLeaf(T.p)
  }

  protected endHeading(): void {
    for (let i = this.top; i > 0; i--) {
      const id = this.ids[i] as number
      if (kindOf(id) === Kind.heading) {
        this.popTo(i - 1, false)
        return
      }
      if ((flagsOf(id) & SCOPE) !== 0) return
    }
  }

  protected endForm(): void {
    const wasOpen = this.formOpen
    this.formOpen = false
    if (!wasOpen) return
    const open = this.inScope(T.form)
    if (open === 0) return
    while ((flagsOf(this.current()) & IMPLIED_END) !== 0) this.popTo(this.top - 1, false)
    if (this.top === open) this.popTo(open - 1, false)
    else this.unsure = true
  }

  protected endFormatting(id: number): void {
    for (let i = this.top; i > 0; i--) {
      const other = this.ids[i] as number
      if (other === id) {
        this.popTo(i, false)
        this.popTo(i - 1, true)
        return
      }
      if (isMarker(other)) return
      if ((flagsOf(other) & SPECIAL) !== 0) {
        // Ignored if no such element is open; otherwise the standard splits it in two.
        for (let j = i - 1; j > 0; j--) {
          if (this.ids[j] === id) this.unsure = true
          if (isMarker(this.ids[j] as number)) return
        }
        return
      }
    }
  }

  protected endInCell(id: number): void {
    const kind = kindOf(id)
    if (id === T.td || id === T.th) {
      const open = this.inTableScope(id)
      if (open > 0) this.popTo(open - 1, true)
    } else if (id === T.caption || id === T.col || id === T.colgroup) return
    else if (kind === Kind.table || kind === Kind.tablePart) {
      if (this.inTableScope(id) === 0) return
      this.closeCell()
      this.endInTable(id)
    } else this.endInBody(id)
  }

  protected endInCaption(id: number): void {
    if (id === T.caption || id === T.table) {
      this.popTo(this.inTableScope(T.caption) - 1, true)
      if (id === T.table) this.endInTable(id)
    } else if (kindOf(id) !== Kind.tablePart) this.endInBody(id)
  }

  /** In a table, a table body or a row: the current element is always one of these. */
  protected endInTable(id: number): void {
    switch (id) {
      case T.table:
      case T.tbody:
      case T.thead:
      case T.tfoot:
      case T.tr: {
        const open = this.inTableScope(id)
        if (open > 0) this.popTo(open - 1, true)
        break
      }
      case T.p:
      case T.br:
        this.unsure = true
        break
      case T.form:
        this.formOpen = false
        break
    }
  }

  protected endInSelect(id: number): void {
    const current = this.current()
    if (id === T.option) {
      if (current === T.option) this.popTo(this.top - 1, true)
    } else if (id === T.optgroup) {
      if (current === T.option && this.ids[this.top - 1] === T.optgroup) this.popTo(this.top - 1, true)
      if (this.current() === T.optgroup) this.popTo(this.top - 1, true)
    } else if (id === T.select) this.popTo(this.inTableScope(T.select) - 1, true)
    else this.unsure = true
  }
}
