import * as characters from './characters.js'
import { EndTags } from './end-tags.js'
import * as modes from './modes.js'
import { MAX_DEPTH } from './rule-matcher.js'
import { rawKind } from './start-tags.js'
import * as tags from './tags.js'

// Imported names are looked up at every use; constants of this file become part of the compiled code.
const { AMPERSAND, BANG, GT, isLetter, isSpace, QUESTION, SLASH } = characters
const { Mode, Raw } = modes
const { isMarker, Kind, kindOf, T } = tags

/**
 * Runs a program over a page in one pass over its tags, without building a tree. It keeps the stack of open elements as the HTML standard does,
 * including implied elements, and stops (`false`) as soon as the standard would move or clone elements (misnested formatting, foster parenting …):
 * only the tree gets those right. One scanner serves one page after another; it is not reentrant. README.md says in which order to read the layers.
 */
export class Scanner extends EndTags {
  /** After a doctype or an end tag, one that comes later is ignored. */
  private tooLateForDoctype = false

  /** Adds what every rule found to `out[rule]`; false if it cannot be sure (`out` is then worthless). */
  run(html: string, out: string[][]): boolean {
    if (html.includes('\0')) return false
    this.open(html)
    this.collectInto(out)
    this.clearStack()
    this.tooLateForDoctype = false
    const sure = this.scan()
    this.close()
    return sure
  }

  private scan(): boolean {
    const { html, units } = this
    const end = html.length
    let at = 0
    let textStart = 0
    for (;;) {
      const lt = html.indexOf('<', at)
      if (lt < 0 || lt + 1 >= end) return this.finish(textStart, end)
      const next = units[lt + 1] as number
      if (isLetter(next)) {
        if (lt > textStart) this.text(textStart, lt)
        this.skipNewline = false
        at = this.startTag(lt + 1)
      } else if (next === SLASH) {
        if (lt + 2 >= end) return this.finish(textStart, end)
        if (lt > textStart) this.text(textStart, lt)
        // `</>` is not a token: a newline after it is still the first one of a <pre>.
        if ((units[lt + 2] as number) === GT) at = lt + 3
        else {
          this.skipNewline = false
          at = isLetter(units[lt + 2] as number) ? this.endTag(lt + 2) : this.after('>', lt + 2)
        }
      } else if (next === BANG || next === QUESTION) {
        if (lt > textStart) this.text(textStart, lt)
        this.skipNewline = false
        at = next === BANG ? this.declaration(lt + 2) : this.after('>', lt + 2)
      } else {
        at = lt + 1
        continue
      }
      if (this.unsure) return false
      if (at < 0) return this.finish(end, end)
      textStart = at
    }
  }

  private finish(textStart: number, end: number): boolean {
    if (end > textStart) this.text(textStart, end)
    if (this.mode < Mode.body) this.ensureBody()
    this.closeCaptures(0)
    this.endPageText()
    return !this.unsure
  }

  private after(mark: string, from: number): number {
    const found = this.html.indexOf(mark, from)
    return found < 0 ? -1 : found + mark.length
  }

  /** `<!` was read: a comment, the doctype, or something treated like a comment. */
  private declaration(from: number): number {
    const { html, units } = this
    if (html.startsWith('--', from)) {
      const body = from + 2
      if ((units[body] as number) === GT) return body + 1
      if (html.startsWith('->', body)) return body + 2
      for (let dash = html.indexOf('--', body); dash >= 0; dash = html.indexOf('--', dash + 1)) {
        const after = units[dash + 2] as number
        if (after === GT) return dash + 3
        if (after === BANG && (units[dash + 3] as number) === GT) return dash + 4
      }
      return -1
    }
    if (this.foreignFrom > 0 && html.startsWith('[CDATA[', from)) {
      this.unsure = true
      return from
    }
    const close = this.after('>', from)
    if (this.mode === Mode.beforeHtml && !this.tooLateForDoctype && /^doctype/i.test(html.slice(from, from + 7))) {
      this.tooLateForDoctype = true
      this.standardsDoctype = /^doctype[ \t\n\f\r]+html[ \t\n\f\r]*>/i.test(html.slice(from, from + 40))
    }
    return close
  }

  /** From the first letter of a name to the place after `>`; −1 when the page ends inside the tag. */
  private startTag(from: number): number {
    const nameEnd = this.nameEnd(from)
    const id = this.tagAt(from, nameEnd)
    const { readsAll } = this.program
    let at = this.attributes(nameEnd, readsAll[id < readsAll.length ? id : 0] === 1)
    if (at < 0) return -1
    this.classBits = -1
    if (this.foreignFrom > 0) {
      this.startInForeign(id)
      return at
    }
    const raw = this.start(id)
    if (this.unsure) return at
    if (raw !== Raw.none) at = this.rawText(id, raw, at)
    else if (id === T.template && this.templateOpened) {
      this.templateOpened = false
      at = this.skipTemplate(at)
    }
    if (this.borrowedHead) {
      this.borrowedHead = false
      this.top--
    }
    return at
  }

  private endTag(from: number): number {
    const nameEnd = this.nameEnd(from)
    const current = this.current()
    const { tags } = this.program
    const easy = this.first !== 0 && tags.first[current] === this.first && tags.second[current] === this.second
    const id = easy ? current : this.tagAt(from, nameEnd)
    const at = (this.units[nameEnd] as number) === GT ? nameEnd + 1 : this.attributes(nameEnd, false)
    if (at < 0) return -1
    // Nearly every end tag ends the current element; these kinds need more than that.
    if (easy && this.foreignFrom === 0 && this.mode >= Mode.body && !endsWithCare(kindOf(id))) {
      this.popTo(this.top - 1, true)
    } else if (this.foreignFrom > 0) {
      if (this.ids[this.top] === id && id !== T.p && id !== T.br) this.popForeign()
      else this.unsure = true
    } else {
      this.tooLateForDoctype = true
      this.end(id)
    }
    return at
  }

  private text(from: number, to: number): void {
    const mode = this.mode
    if (mode < Mode.body) this.textBeforeBody(from, to)
    else if (mode === Mode.table || mode === Mode.tableBody || mode === Mode.row || mode === Mode.columnGroup) {
      // Anything but white space would be moved in front of the table.
      if (this.spaceEnd(from, to) < to) this.unsure = true
      else if (this.listeners > 0) this.collect(from, to, true)
    } else if (this.listeners > 0) this.collect(from, to, true)
  }

  private textBeforeBody(from: number, to: number): void {
    const rest = this.spaceEnd(from, to)
    if (rest > from && this.mode >= Mode.inHead && this.listeners > 0) this.collect(from, rest, true)
    if (rest === to) return
    // A character reference may be encoded white space.
    if ((this.units[rest] as number) === AMPERSAND) this.unsure = true
    this.ensureBody()
    if (this.listeners > 0) this.collect(rest, to, true)
  }

  private spaceEnd(from: number, to: number): number {
    let at = from
    while (at < to && isSpace(this.units[at] as number)) at++
    return at
  }

  /** The element was pushed; everything up to its own end tag is its text. Leaves it popped again. */
  private rawText(id: number, raw: number, from: number): number {
    const { html, units } = this
    const name = this.program.tags.names[id] as string
    let close = html.indexOf('</', from)
    let tagEnd = -1
    for (; close >= 0; close = html.indexOf('</', close + 2)) {
      const nameEnd = close + 2 + name.length
      if (nameEnd >= html.length || !this.same(name, close + 2, nameEnd)) continue
      const code = units[nameEnd] as number
      if (code === GT) tagEnd = nameEnd + 1
      else if (code === SLASH || isSpace(code)) tagEnd = this.attributes(nameEnd, false)
      else continue
      break
    }
    const to = close < 0 ? html.length : close
    if (raw === Raw.script && this.hidesScriptEnd(from, to)) this.unsure = true
    if (this.listeners > 0 && to > from) this.collect(from, to, raw === Raw.withEntities)
    this.skipNewline = false
    this.popTo(this.top - 1, true)
    return tagEnd
  }

  /** After `<!--` inside a script, `<script` starts a second level whose end tag does not end the element. */
  private hidesScriptEnd(from: number, to: number): boolean {
    const script = this.html.slice(from, to)
    const comment = script.indexOf('<!--')
    return comment >= 0 && /<script/i.test(script.slice(comment))
  }

  /** Contents of a template are not part of the document: only its end is searched. */
  private skipTemplate(from: number): number {
    const { html, units } = this
    let at = from
    // A cell or object that stays open leaves its mark on the formatting elements outside of the template.
    let cell = 0
    for (let depth = 1; ; ) {
      const lt = html.indexOf('<', at)
      if (lt < 0 || lt + 2 >= html.length) return -1
      const next = units[lt + 1] as number
      if (isLetter(next)) {
        const nameEnd = this.nameEnd(lt + 1)
        const id = this.tagAt(lt + 1, nameEnd)
        at = this.attributes(nameEnd, false)
        if (at < 0) return -1
        if (id === T.template) depth++
        if (cell !== 0 && (id === T.template || id === T.table || isMarker(id))) this.unsure = true
        if (isMarker(id)) cell = id
        const raw = rawKind(kindOf(id))
        if (raw !== Raw.none) {
          at = this.skipRawText(id, raw, at)
          if (at < 0) return -1
        } else if (changesTokens(id)) this.unsure = true
      } else if (next === SLASH && isLetter(units[lt + 2] as number)) {
        const nameEnd = this.nameEnd(lt + 2)
        const id = this.tagAt(lt + 2, nameEnd)
        at = this.attributes(nameEnd, false)
        if (at < 0) return -1
        if (isMarker(id)) {
          if (id !== cell) this.unsure = true
          cell = 0
        }
        if (id === T.template) {
          if (cell !== 0) this.unsure = true
          if (--depth === 0) return at
        }
      } else if (next === SLASH || next === QUESTION) at = this.after('>', lt + 2)
      else if (next === BANG) at = this.declaration(lt + 2)
      else at = lt + 1
      if (at < 0 || this.unsure) return at
    }
  }

  private skipRawText(id: number, raw: number, from: number): number {
    const { listeners } = this
    this.listeners = 0
    if (this.top + 1 >= MAX_DEPTH) this.unsure = true
    this.top++
    this.ids[this.top] = id
    const at = this.rawText(id, raw, from)
    this.listeners = listeners
    return at
  }
}

/** Inside a template, these decide how what follows is cut into tokens. */
function changesTokens(id: number): boolean {
  const kind = kindOf(id)
  return kind === Kind.foreign || kind === Kind.select || kind === Kind.unsure || id === T.col || id === T.colgroup
}

function endsWithCare(kind: number): boolean {
  return kind === Kind.form || kind === Kind.html || kind === Kind.body || kind === Kind.template
}
