import * as modes from './modes.js'
import { MAX_DEPTH, RuleMatcher } from './rule-matcher.js'
import * as tags from './tags.js'

// Imported names are looked up at every use; constants of this file become part of the compiled code.
const { Mode, modeOf } = modes
const { FORMATTING, flagsOf, HIDDEN, MODE, SCOPE, SEPARATES, T } = tags

/** The stack of open elements, as the HTML standard defines it. Index 0 is the document. */
export class OpenElements extends RuleMatcher {
  /** The standard would move or clone elements here: only the tree gets this right. */
  protected unsure = false
  protected mode: number = Mode.beforeHtml
  protected readonly ids = new Int32Array(MAX_DEPTH)
  protected top = 0
  protected openP = 0
  protected openA = 0

  protected clearStack(): void {
    this.unsure = false
    this.mode = Mode.beforeHtml
    this.top = 0
    this.openP = 0
    this.openA = 0
    this.foreignFrom = 0
  }

  protected push(id: number): void {
    const parent = this.top
    if (parent + 1 >= MAX_DEPTH) {
      this.unsure = true
      return
    }
    const bits = this.match(id, parent)
    const top = parent + 1
    this.top = top
    this.ids[top] = id
    this.matched[top] = bits
    this.ancestors[top] = (this.ancestors[parent] as number) | bits
    if (id === T.p) this.openP++
    else if (id === T.a) this.openA++
    if (this.pageText !== null) this.startInPageText(id, top)
  }

  /** An element that is not in the page but implied by the standard; it has no attributes. */
  protected pushImplied(id: number): void {
    const tag = this.tagNumber
    this.tagNumber = 0
    this.push(id)
    this.tagNumber = tag
  }

  /** An element without content. */
  protected leaf(id: number): void {
    this.match(id, this.top)
    if (this.pageText !== null) this.startInPageText(id, 0)
    this.closeCaptures(this.top)
  }

  protected impliedLeaf(id: number): void {
    const tag = this.tagNumber
    this.tagNumber = 0
    this.leaf(id)
    this.tagNumber = tag
  }

  /**
   * A formatting element that ends with something other than its own end tag would be opened again by the next text: only the end of a cell, caption
   * or object clears them (`forgets`).
   */
  protected popTo(newTop: number, forgets: boolean): void {
    let resets = false
    for (let i = this.top; i > newTop; i--) {
      const id = this.ids[i] as number
      if (id === T.p) this.openP--
      else if (id === T.a) this.openA--
      const flags = flagsOf(id)
      if ((flags & FORMATTING) !== 0 && !forgets) this.unsure = true
      if ((flags & MODE) !== 0) resets = true
    }
    if (this.pageText !== null) this.endInPageText(newTop)
    this.top = newTop
    if (this.listeners > 0) this.closeCaptures(newTop)
    if (resets) this.resetMode()
  }

  protected popForeign(): void {
    if (this.ids[this.top] === T.a) this.openA--
    if (this.pageText !== null) this.endInPageText(this.top - 1)
    this.top--
    if (this.listeners > 0) this.closeCaptures(this.top)
    if (this.top < this.foreignFrom) this.foreignFrom = 0
  }

  /** An element was opened, at this depth if it can have contents. What is hidden separates nothing. */
  private startInPageText(id: number, depth: number): void {
    if (this.hiddenFrom > 0) return
    const flags = flagsOf(id)
    if ((flags & SEPARATES) !== 0) this.pageText?.separate()
    if ((flags & HIDDEN) !== 0) this.hiddenFrom = depth
  }

  /** The elements above `newTop` are closed next. */
  private endInPageText(newTop: number): void {
    const visible = this.hiddenFrom > 0 ? this.hiddenFrom - 1 : this.top
    for (let i = visible; i > newTop; i--) {
      if ((flagsOf(this.ids[i] as number) & SEPARATES) !== 0) this.pageText?.separate()
    }
    if (newTop < this.hiddenFrom) this.hiddenFrom = 0
  }

  protected resetMode(): void {
    for (let i = this.top; i > 0; i--) {
      const mode = modeOf(this.ids[i] as number)
      if (mode !== 0) {
        this.mode = mode
        return
      }
    }
    this.mode = Mode.body
  }

  protected current(): number {
    return this.ids[this.top] as number
  }

  /** Index of the innermost open `id`, or 0 when there is none or a boundary of the scope lies above it. */
  protected inScope(id: number, boundary = 0, boundary2 = 0): number {
    for (let i = this.top; i > 0; i--) {
      const other = this.ids[i] as number
      if (other === id) return i
      if (
        (flagsOf(other) & SCOPE) !== 0 ||
        (other === boundary && boundary !== 0) ||
        (other === boundary2 && boundary2 !== 0)
      )
        return 0
    }
    return 0
  }

  protected inTableScope(id: number): number {
    for (let i = this.top; i > 0; i--) {
      const other = this.ids[i] as number
      if (other === id) return i
      if (other === T.table) return 0
    }
    return 0
  }

  protected closeP(): void {
    if (this.openP === 0) return
    const p = this.inScope(T.p, T.button)
    if (p > 0) this.popTo(p - 1, false)
  }

  protected closeCell(): void {
    let i = this.top
    while (i > 1 && this.ids[i] !== T.td && this.ids[i] !== T.th) i--
    this.popTo(i - 1, true)
  }
}
