import { decodeHTML, decodeHTMLAttribute } from 'entities/lib/decode.js'
import { ShoalError } from '../../errors.js'
import { CLASS_SLOT, classHint, type Program, REL_SLOT, type Step, TYPE_SLOT } from './program.js'
import {
  BREAKS_OUT,
  FLAGS,
  FORMATTING,
  IMPLIED_END,
  IMPLIED_END_THOROUGH,
  INTEGRATION_POINTS,
  KINDS_BY_ID,
  Kind,
  KNOWN,
  MODE,
  type NameTable,
  PACK,
  PACKED_HALF,
  PACKED_MAX,
  SCOPE,
  SPECIAL,
  slotOf,
  T,
} from './tags.js'

/** Kept for pages up to a million characters; larger ones get an array of their own. */
let scratch = new Uint16Array(65_536)
const MAX_SCRATCH = 1_048_576
const PADDING = 8

function unitsOf(html: string): Uint16Array {
  const needed = html.length + PADDING
  let units = scratch
  if (needed > units.length) {
    units = new Uint16Array(Math.max(needed, Math.min(needed * 2, MAX_SCRATCH)))
    if (units.length <= MAX_SCRATCH) scratch = units
  }
  Buffer.from(units.buffer).write(html, 'utf16le')
  units.fill(0, html.length, needed)
  return units
}

/** Deeper than any page people write; a deeper one goes to the tree, which has a limit of its own. */
const MAX_DEPTH = 256

/** Characters of text that one page may give, all rules together: nested matches repeat what is inside them. */
export const MAX_TEXT = 32 * 1024 * 1024

/** Insertion modes of the HTML standard; those below `body` come before the body exists. */
const Mode = {
  beforeHtml: 0,
  beforeHead: 1,
  inHead: 2,
  headNoscript: 3,
  afterHead: 4,
  body: 5,
  table: 6,
  tableBody: 7,
  row: 8,
  cell: 9,
  caption: 10,
  columnGroup: 11,
  select: 12,
} as const

/** End of a raw text element is looked for by name. */
const Raw = { none: 0, withEntities: 1, plain: 2, script: 3 } as const

const GT = 62
const SLASH = 47
const BANG = 33
const QUESTION = 63
const EQUALS = 61
const QUOTE = 34
const APOSTROPHE = 39
const AMPERSAND = 38
const LF = 10

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 12 || code === 13
}

function isLetter(code: number): boolean {
  const lower = code | 32
  return lower >= 97 && lower <= 122
}

function flagsOf(id: number): number {
  return id < KNOWN ? (FLAGS[id] ?? 0) : 0
}

function kindOf(id: number): number {
  return id < KNOWN ? (KINDS_BY_ID[id] ?? 0) : 0
}

export function tooComplex(what: string): ShoalError {
  return new ShoalError('html_too_complex', `the HTML ${what}`)
}

/**
 * Runs a program over a page in one pass over its tags, without building a tree. It keeps the stack of open elements
 * as the HTML standard does, implied elements included, and gives up (`false`) as soon as the standard would move or
 * clone elements (misnested formatting, foster parenting, …): there the tree is needed to be right.
 * One scanner serves one page after another; it is not reentrant.
 */
export class Scanner {
  private readonly program: Program
  private html = ''
  /** The same as UTF-16 code units, followed by zeros: reading a number from an array is faster than from a string. */
  private units: Uint16Array = scratch
  private hasCr = false
  private out: string[][] = []
  private unsure = false
  private mode: number = Mode.beforeHtml
  private doctypeSeen = false
  private standardsDoctype = false
  private skipNewline = false

  // Open elements; index 0 stands for the document. Bits: what the element matched, and what it or an ancestor matched.
  private readonly ids = new Int32Array(MAX_DEPTH)
  private readonly matched = new Int32Array(MAX_DEPTH)
  private readonly ancestors = new Int32Array(MAX_DEPTH)
  private top = 0
  private openP = 0
  private openA = 0
  private formOpen = false
  /** Index of the innermost svg or math root; everything above it is foreign too. 0: none. */
  private foreignFrom = 0
  private rootHasAttributes = false
  private bodyHasAttributes = false
  private headTextWanted = false
  private templateOpened = false
  /** The head was put back on the stack for one element that came after it. */
  private borrowedHead = false

  // The tag that was just read. A slot holds an attribute of this tag when its stamp is the tag's number.
  private tagNumber = 0
  private first = 0
  private second = 0
  private selfClosing = false
  private hasAttributes = false
  private readonly stamps: Int32Array
  private readonly starts: Int32Array
  private readonly ends: Int32Array
  private classBits = -1

  private readonly emitted: Int32Array
  private matchNumber = 0
  private strangers: Map<string, number> | null = null

  // Texts being collected.
  private readonly captureRules: number[] = []
  private readonly captureSlots: number[] = []
  private readonly captureDepths: number[] = []
  private readonly captureTexts: string[] = []
  private captures = 0
  private textLength = 0

  constructor(program: Program) {
    this.program = program
    const slots = program.attributes.names.length
    this.stamps = new Int32Array(slots)
    this.starts = new Int32Array(slots)
    this.ends = new Int32Array(slots)
    this.emitted = new Int32Array(program.rules.length)
  }

  /** Adds what every rule found to `out[rule]`; false when it cannot be sure (`out` is then worthless). */
  run(html: string, out: string[][]): boolean {
    if (html.includes('\0')) return false
    this.reset(html, out)
    const sure = this.scan()
    this.html = ''
    this.units = scratch
    this.out = []
    this.captureTexts.length = 0
    this.strangers = null
    return sure
  }

  private reset(html: string, out: string[][]): void {
    this.html = html
    this.units = unitsOf(html)
    this.hasCr = html.includes('\r')
    this.out = out
    this.unsure = false
    this.mode = Mode.beforeHtml
    this.doctypeSeen = false
    this.standardsDoctype = false
    this.templateOpened = false
    this.borrowedHead = false
    this.skipNewline = false
    this.top = 0
    this.openP = 0
    this.openA = 0
    this.formOpen = false
    this.foreignFrom = 0
    this.rootHasAttributes = false
    this.bodyHasAttributes = false
    this.headTextWanted = false
    this.captures = 0
    this.textLength = 0
    this.tagNumber = 0
    this.matchNumber = 0
    this.stamps.fill(0)
    this.emitted.fill(0)
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
        // `</>` is no token at all: a newline after it is still the first one of a <pre>.
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
    if (this.mode === Mode.beforeHtml && !this.doctypeSeen && /^doctype/i.test(html.slice(from, from + 7))) {
      this.doctypeSeen = true
      this.standardsDoctype = /^doctype[ \t\n\f\r]+html[ \t\n\f\r]*>/i.test(html.slice(from, from + 40))
    }
    return close
  }

  // ---------------------------------------------------------------- tags

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
    // Nearly every end tag ends the current element; these kinds want more than that.
    if (easy && this.foreignFrom === 0 && this.mode >= Mode.body && !endsWithCare(kindOf(id))) {
      this.popTo(this.top - 1, true)
    } else if (this.foreignFrom > 0) {
      if (this.ids[this.top] === id && id !== T.p && id !== T.br) this.popForeign()
      else this.unsure = true
    } else this.end(id)
    return at
  }

  /** Reads a tag name; `first` and `second` hold it packed, or 0 when it cannot be. */
  private nameEnd(from: number): number {
    const { html, units } = this
    const end = html.length
    let first = 0
    let second = 0
    let at = from
    const half = from + PACKED_HALF
    for (; at < end; at++) {
      const bits = PACK[units[at] as number] as number
      if (bits === 0) break
      if (at < half) first = (first << 6) | bits
      else second = (second << 6) | bits
    }
    if (at - from > PACKED_MAX) first = 0
    for (; at < end; at++) {
      const code = units[at] as number
      if (code === GT || code === SLASH || isSpace(code)) break
      first = 0
    }
    this.first = first
    this.second = second
    return at
  }

  private tagAt(from: number, to: number): number {
    return this.find(this.program.tags, this.first, this.second, from, to) || this.stranger(from, to)
  }

  /** A name neither HTML nor the program knows: it gets an id for this page only, so that its end tag finds it. */
  private stranger(from: number, to: number): number {
    const name = lowerCase(this.html.slice(from, to))
    this.strangers ??= new Map()
    const known = this.strangers.get(name)
    if (known !== undefined) return known
    const id = this.program.tags.names.length + this.strangers.size
    this.strangers.set(name, id)
    return id
  }

  private find(table: NameTable, first: number, second: number, from: number, to: number): number {
    if (first === 0) return table.odd.size === 0 ? 0 : (table.odd.get(lowerCase(this.html.slice(from, to))) ?? 0)
    const { slots, mask } = table
    let slot = slotOf(first, second) & mask
    for (;;) {
      const id = slots[slot] as number
      if (id === 0 || (table.first[id] === first && table.second[id] === second)) return id
      slot = (slot + 1) & mask
    }
  }

  private same(name: string, from: number, to: number): boolean {
    if (name.length !== to - from) return false
    const { units } = this
    for (let i = 0; i < name.length; i++) {
      let code = units[from + i] as number
      if (code >= 65 && code <= 90) code += 32
      if (code !== name.charCodeAt(i)) return false
    }
    return true
  }

  /** Reads attributes up to and including `>`, noting where those the program asks for are. */
  private attributes(from: number, all: boolean): number {
    const { html, units } = this
    const end = html.length
    const { attributes } = this.program
    const classCode = attributes.first[CLASS_SLOT]
    const tagNumber = ++this.tagNumber
    this.selfClosing = false
    this.hasAttributes = false
    let at = from
    while (at < end) {
      let code = units[at] as number
      if (code === GT) return at + 1
      if (isSpace(code)) {
        at++
        continue
      }
      if (code === SLASH) {
        at++
        if ((units[at] as number) === GT) {
          this.selfClosing = true
          return at + 1
        }
        continue
      }
      this.hasAttributes = true
      const nameStart = at
      let first = 0
      let second = 0
      const half = at + PACKED_HALF
      for (; at < end; at++) {
        const bits = PACK[units[at] as number] as number
        if (bits === 0) break
        if (at < half) first = (first << 6) | bits
        else second = (second << 6) | bits
      }
      if (at - nameStart > PACKED_MAX) first = 0
      let nameEnd = at
      let valueStart = at
      let valueEnd = at
      if (at > nameStart && units[at] === EQUALS && units[at + 1] === QUOTE) {
        // How nearly every attribute is written.
        valueStart = at + 2
        valueEnd = html.indexOf('"', valueStart)
        if (valueEnd < 0) return -1
        at = valueEnd + 1
      } else {
        for (; at < end; at++) {
          code = units[at] as number
          // `=` as the first character belongs to the name.
          if ((code === EQUALS && at > nameStart) || code === GT || code === SLASH || isSpace(code)) break
          first = 0
        }
        nameEnd = at
        while (at < end && isSpace(units[at] as number)) at++
        valueStart = at
        valueEnd = at
        if (at < end && (units[at] as number) === EQUALS) {
          at++
          while (at < end && isSpace(units[at] as number)) at++
          if (at >= end) return -1
          code = units[at] as number
          if (code === QUOTE || code === APOSTROPHE) {
            valueStart = at + 1
            valueEnd = html.indexOf(code === QUOTE ? '"' : "'", valueStart)
            if (valueEnd < 0) return -1
            at = valueEnd + 1
          } else {
            valueStart = at
            while (at < end && code !== GT && !isSpace(code)) code = units[++at] as number
            valueEnd = at
          }
        }
      }
      const slot = all
        ? this.find(attributes, first, second, nameStart, nameEnd)
        : first === classCode && second === 0
          ? CLASS_SLOT
          : 0
      if (slot !== 0 && this.stamps[slot] !== tagNumber) {
        this.stamps[slot] = tagNumber
        this.starts[slot] = valueStart
        this.ends[slot] = valueEnd
      }
    }
    return -1
  }

  private has(slot: number): boolean {
    return this.tagNumber !== 0 && this.stamps[slot] === this.tagNumber
  }

  private value(slot: number): string {
    const raw = this.html.slice(this.starts[slot], this.ends[slot])
    const value = this.hasCr ? raw.replace(/\r\n?/g, '\n') : raw
    return value.includes('&') ? decodeHTMLAttribute(value) : value
  }

  // ---------------------------------------------------------------- text

  private text(from: number, to: number): void {
    const mode = this.mode
    if (mode < Mode.body) this.textBeforeBody(from, to)
    else if (mode === Mode.table || mode === Mode.tableBody || mode === Mode.row || mode === Mode.columnGroup) {
      // Anything but white space would be moved in front of the table.
      if (this.spaceEnd(from, to) < to) this.unsure = true
      else if (this.captures > 0) this.collect(from, to, true)
    } else if (this.captures > 0) this.collect(from, to, true)
  }

  private textBeforeBody(from: number, to: number): void {
    const rest = this.spaceEnd(from, to)
    if (rest > from && this.mode >= Mode.inHead && this.captures > 0) this.collect(from, rest, true)
    if (rest === to) return
    // A character reference may be white space in disguise.
    if ((this.units[rest] as number) === AMPERSAND) this.unsure = true
    this.ensureBody()
    if (this.captures > 0) this.collect(rest, to, true)
  }

  private spaceEnd(from: number, to: number): number {
    let at = from
    while (at < to && isSpace(this.units[at] as number)) at++
    return at
  }

  private collect(from: number, to: number, entities: boolean): void {
    let text = this.html.slice(from, to)
    if (this.hasCr) text = text.replace(/\r\n?/g, '\n')
    if (entities && text.includes('&')) text = decodeHTML(text)
    if (this.skipNewline && text.charCodeAt(0) === LF) text = text.slice(1)
    this.skipNewline = false
    this.textLength += text.length * this.captures
    if (this.textLength > MAX_TEXT) throw tooComplex(`gives more than ${MAX_TEXT} characters of text`)
    for (let i = 0; i < this.captures; i++) this.captureTexts[i] += text
  }

  private closeCaptures(newTop: number): void {
    while (this.captures > 0 && (this.captureDepths[this.captures - 1] as number) > newTop) {
      const last = --this.captures
      const found = this.out[this.captureRules[last] as number] as string[]
      found[this.captureSlots[last] as number] = this.captureTexts[last] as string
    }
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
    if (this.captures > 0 && to > from) this.collect(from, to, raw === Raw.withEntities)
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

  /** Contents of a template are not part of the document: only its end is looked for. */
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
    const captures = this.captures
    this.captures = 0
    if (this.top + 1 >= MAX_DEPTH) this.unsure = true
    this.top++
    this.ids[this.top] = id
    const at = this.rawText(id, raw, from)
    this.captures = captures
    return at
  }

  // ---------------------------------------------------------------- matching

  /** Tries every step on the element that would become a child of `parent`; gives the bits it carries. */
  private match(id: number, parent: number): number {
    const { tagSteps, classSteps, otherSteps } = this.program
    this.matchNumber++
    let bits = 0
    if (id < tagSteps.length) {
      const steps = tagSteps[id] as readonly Step[]
      if (steps.length > 0) bits = this.tryAll(steps, id, parent)
    }
    if (classSteps.length > 0 && this.has(CLASS_SLOT)) {
      if (this.classBits < 0) this.classBits = this.readClasses()
      if (this.classBits !== 0) bits |= this.tryAll(classSteps, id, parent)
    }
    if (otherSteps.length > 0) bits |= this.tryAll(otherSteps, id, parent)
    return bits
  }

  private tryAll(steps: readonly Step[], id: number, parent: number): number {
    const above = this.ancestors[parent] as number
    const direct = this.matched[parent] as number
    let bits = 0
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i] as Step
      if (step.needs !== 0 && ((step.child ? direct : above) & step.needs) === 0) continue
      if (!this.fits(step)) continue
      if (step.rule < 0) bits |= step.gives
      else this.emit(step.rule, id, parent)
    }
    return bits
  }

  private fits(step: Step): boolean {
    if (step.classBits !== 0) {
      if (!this.has(CLASS_SLOT)) return false
      if (this.classBits < 0) this.classBits = this.readClasses()
      if ((this.classBits & step.classBits) !== step.classBits) return false
    }
    const tests = step.attributes
    for (let i = 0; i < tests.length; i++) {
      const { slot, test } = tests[i] as (typeof tests)[number]
      if (!this.has(slot)) return false
      if (test !== null && !test(this.value(slot))) return false
    }
    return true
  }

  private readClasses(): number {
    const { units } = this
    const to = this.ends[CLASS_SLOT] as number
    const { classHints } = this.program
    let bits = 0
    let start = this.starts[CLASS_SLOT] as number
    for (let at = start; ; at++) {
      const code = at < to ? (units[at] as number) : 32
      // Entities, and the white space of Unicode that css-select counts as a separator.
      if (code === AMPERSAND || code > 126 || (code < 32 && !isSpace(code))) return this.readOddClasses()
      if (code > 32) continue
      if (at > start && classHints[classHint(at - start, units[start] as number)] === 1)
        bits |= this.classBit(start, at)
      start = at + 1
      if (at >= to) return bits
    }
  }

  private classBit(from: number, to: number): number {
    const { classes } = this.program
    for (let i = 0; i < classes.length; i++) {
      const name = classes[i] as string
      if (name.length === to - from && this.html.startsWith(name, from)) return 1 << i
    }
    return 0
  }

  private readOddClasses(): number {
    const { classes } = this.program
    const words = this.value(CLASS_SLOT).split(/\s+/)
    let bits = 0
    for (let i = 0; i < classes.length; i++) if (words.includes(classes[i] as string)) bits |= 1 << i
    return bits
  }

  private emit(ruleIndex: number, id: number, parent: number): void {
    const rule = this.program.rules[ruleIndex] as Program['rules'][number]
    if (this.emitted[ruleIndex] === this.matchNumber) return
    const found = this.out[rule.index] as string[]
    if (rule.first && found.length > 0) return
    if (rule.slot !== 0 && !this.has(rule.slot)) return
    if (rule.skipNofollow && this.has(REL_SLOT) && saysNofollow(this.value(REL_SLOT))) return
    this.emitted[ruleIndex] = this.matchNumber
    if (rule.slot !== 0) {
      found.push(this.value(rule.slot))
      return
    }
    if (id === T.html || id === T.head) this.headTextWanted = true
    const capture = this.captures++
    this.captureRules[capture] = rule.index
    this.captureSlots[capture] = found.push('') - 1
    this.captureDepths[capture] = parent + 1
    this.captureTexts[capture] = ''
  }

  // ---------------------------------------------------------------- the stack of open elements

  private push(id: number): void {
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
  }

  /** An element the page does not write but the standard supplies; it has no attributes. */
  private pushImplied(id: number): void {
    const tag = this.tagNumber
    this.tagNumber = 0
    this.push(id)
    this.tagNumber = tag
  }

  /** An element without content. */
  private leaf(id: number): void {
    this.match(id, this.top)
    this.closeCaptures(this.top)
  }

  private impliedLeaf(id: number): void {
    const tag = this.tagNumber
    this.tagNumber = 0
    this.leaf(id)
    this.tagNumber = tag
  }

  /**
   * A formatting element that ends with something other than its own end tag would be opened again by the next text:
   * only the end of a cell, caption or object forgets them (`forgets`).
   */
  private popTo(newTop: number, forgets: boolean): void {
    let resets = false
    for (let i = this.top; i > newTop; i--) {
      const id = this.ids[i] as number
      if (id === T.p) this.openP--
      else if (id === T.a) this.openA--
      const flags = flagsOf(id)
      if ((flags & FORMATTING) !== 0 && !forgets) this.unsure = true
      if ((flags & MODE) !== 0) resets = true
    }
    this.top = newTop
    if (this.captures > 0) this.closeCaptures(newTop)
    if (resets) this.resetMode()
  }

  private popForeign(): void {
    if (this.ids[this.top] === T.a) this.openA--
    this.top--
    if (this.captures > 0) this.closeCaptures(this.top)
    if (this.top < this.foreignFrom) this.foreignFrom = 0
  }

  private resetMode(): void {
    for (let i = this.top; i > 0; i--) {
      const mode = modeOf(this.ids[i] as number)
      if (mode !== 0) {
        this.mode = mode
        return
      }
    }
    this.mode = Mode.body
  }

  private current(): number {
    return this.ids[this.top] as number
  }

  /** Index of the innermost open `id`, or 0 when there is none or a boundary of the scope lies above it. */
  private inScope(id: number, boundary = 0, boundary2 = 0): number {
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

  private inTableScope(id: number): number {
    for (let i = this.top; i > 0; i--) {
      const other = this.ids[i] as number
      if (other === id) return i
      if (other === T.table) return 0
    }
    return 0
  }

  private closeP(): void {
    if (this.openP === 0) return
    const p = this.inScope(T.p, T.button)
    if (p > 0) this.popTo(p - 1, false)
  }

  private closeCell(): void {
    let i = this.top
    while (i > 1 && this.ids[i] !== T.td && this.ids[i] !== T.th) i--
    this.popTo(i - 1, true)
  }

  // ---------------------------------------------------------------- start tags

  private start(id: number): number {
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

  private startBeforeBody(id: number): number {
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

  private ensureBody(): void {
    if (this.mode === Mode.beforeHtml) this.pushImplied(T.html)
    if (this.mode <= Mode.beforeHead) this.pushImplied(T.head)
    if (this.mode !== Mode.afterHead) this.popTo(1, true)
    this.pushImplied(T.body)
    this.mode = Mode.body
  }

  /** A second <html> or <body> adds its attributes to the first: harmless unless some rule can notice. */
  private mergeAttributes(id: number, hadAttributes: boolean): number {
    if (!this.hasAttributes) return Raw.none
    const { tagSteps, classSteps, otherSteps, rules } = this.program
    for (const step of [...(tagSteps[id] ?? []), ...classSteps, ...otherSteps]) {
      const tests = step.classBits !== 0 || step.attributes.length > 0
      const picks = step.rule >= 0 && rules[step.rule]?.slot !== 0
      if (hadAttributes || (tests ? this.fits(step) : picks)) this.unsure = true
    }
    return Raw.none
  }

  private startInHead(id: number): number {
    const kind = kindOf(id)
    if (kind === Kind.template) this.template(id)
    else if (kind === Kind.headVoid) this.leaf(id)
    else {
      this.push(id)
      return rawKind(kind)
    }
    return Raw.none
  }

  private template(id: number): void {
    this.leaf(id)
    this.templateOpened = true
  }

  private startInBody(id: number): number {
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

  private impliedEnds(id: number): void {
    const before = id === T.rb || id === T.rtc
    for (;;) {
      const current = this.current()
      const ends = flagsOf(current) & (before ? IMPLIED_END : IMPLIED_END_THOROUGH)
      if (ends === 0 || (!before && current === T.rtc)) return
      this.popTo(this.top - 1, false)
    }
  }

  /** A link inside a link ends the first one; easy only when nothing else is open between them. */
  private closeOpenA(): void {
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

  private closeListItem(id: number): void {
    for (let i = this.top; i > 0; i--) {
      const other = this.ids[i] as number
      if (id === T.li ? other === T.li : other === T.dd || other === T.dt) {
        this.popTo(i - 1, false)
        return
      }
      if ((flagsOf(other) & SPECIAL) !== 0 && other !== T.address && other !== T.div && other !== T.p) return
    }
  }

  private startInTable(id: number): number {
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

  private startInTableBody(id: number): number {
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

  private startInRow(id: number): number {
    if (id === T.td || id === T.th) {
      this.push(id)
      this.mode = Mode.cell
      return Raw.none
    }
    if (kindOf(id) !== Kind.tablePart) return this.startInTable(id)
    this.popTo(this.top - 1, true)
    return this.startInTableBody(id)
  }

  private startInColumnGroup(id: number): number {
    if (id === T.col) this.leaf(id)
    else if (id === T.template) this.template(id)
    else {
      this.popTo(this.top - 1, true)
      return this.startInTable(id)
    }
    return Raw.none
  }

  private startInSelect(id: number): number {
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
        // Parsers of different years disagree on what else a select may hold; the tree decides.
        this.unsure = true
        return Raw.none
    }
  }

  private startInForeign(id: number): void {
    if ((flagsOf(id) & BREAKS_OUT) !== 0 || INTEGRATION_POINTS.has(this.current())) {
      this.unsure = true
      return
    }
    this.push(id)
    if (this.selfClosing) this.popForeign()
  }

  // ---------------------------------------------------------------- end tags

  private end(id: number): void {
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

  private endBeforeBody(id: number): void {
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

  private endInBody(id: number): void {
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

  private endOther(id: number): void {
    for (let i = this.top; i > 1; i--) {
      const other = this.ids[i] as number
      if (other === id) {
        this.popTo(i - 1, false)
        return
      }
      if ((flagsOf(other) & SPECIAL) !== 0) return
    }
  }

  private endP(): void {
    if (this.openP > 0 && this.inScope(T.p, T.button) > 0) this.closeP()
    else this.impliedLeaf(T.p)
  }

  private endHeading(): void {
    for (let i = this.top; i > 0; i--) {
      const id = this.ids[i] as number
      if (kindOf(id) === Kind.heading) {
        this.popTo(i - 1, false)
        return
      }
      if ((flagsOf(id) & SCOPE) !== 0) return
    }
  }

  private endForm(): void {
    const wasOpen = this.formOpen
    this.formOpen = false
    if (!wasOpen) return
    const open = this.inScope(T.form)
    if (open === 0) return
    while ((flagsOf(this.current()) & IMPLIED_END) !== 0) this.popTo(this.top - 1, false)
    if (this.top === open) this.popTo(open - 1, false)
    else this.unsure = true
  }

  private endFormatting(id: number): void {
    for (let i = this.top; i > 0; i--) {
      const other = this.ids[i] as number
      if (other === id) {
        this.popTo(i, false)
        this.popTo(i - 1, true)
        return
      }
      if (isMarker(other)) return
      if ((flagsOf(other) & SPECIAL) !== 0) {
        // Ignored when no such element is open; otherwise the standard splits it in two.
        for (let j = i - 1; j > 0; j--) {
          if (this.ids[j] === id) this.unsure = true
          if (isMarker(this.ids[j] as number)) return
        }
        return
      }
    }
  }

  private endInCell(id: number): void {
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

  private endInCaption(id: number): void {
    if (id === T.caption || id === T.table) {
      this.popTo(this.inTableScope(T.caption) - 1, true)
      if (id === T.table) this.endInTable(id)
    } else if (kindOf(id) !== Kind.tablePart) this.endInBody(id)
  }

  /** In a table, a table body or a row: the current element is always one of these. */
  private endInTable(id: number): void {
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

  private endInSelect(id: number): void {
    const current = this.current()
    if (id === T.option) {
      if (current === T.option) this.popTo(this.top - 1, true)
    } else if (id === T.optgroup) {
      if (current === T.option && this.ids[this.top - 1] === T.optgroup) this.popTo(this.top - 1, true)
      if (this.current() === T.optgroup) this.popTo(this.top - 1, true)
    } else if (id === T.select) this.popTo(this.inTableScope(T.select) - 1, true)
    else if (id === T.table || kindOf(id) === Kind.tablePart) this.unsure = true
  }
}

/** ASCII only, as the standard says. */
function lowerCase(name: string): string {
  return name.replace(/[A-Z]+/g, (upper) => upper.toLowerCase())
}

function rawKind(kind: number): number {
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

/** Inside a template, these decide how what follows is cut into tokens. */
function changesTokens(id: number): boolean {
  const kind = kindOf(id)
  return kind === Kind.foreign || kind === Kind.select || kind === Kind.unsure || id === T.col || id === T.colgroup
}

function endsWithCare(kind: number): boolean {
  return kind === Kind.form || kind === Kind.html || kind === Kind.body || kind === Kind.template
}

function isMarker(id: number): boolean {
  return kindOf(id) === Kind.marker || id === T.td || id === T.th || id === T.caption
}

function modeOf(id: number): number {
  switch (id) {
    case T.select:
      return Mode.select
    case T.td:
    case T.th:
      return Mode.cell
    case T.tr:
      return Mode.row
    case T.tbody:
    case T.thead:
    case T.tfoot:
      return Mode.tableBody
    case T.caption:
      return Mode.caption
    case T.colgroup:
      return Mode.columnGroup
    case T.table:
      return Mode.table
    case T.body:
      return Mode.body
    default:
      return 0
  }
}

export function saysNofollow(rel: string): boolean {
  return /(?:^|[\s,])nofollow(?:$|[\s,])/i.test(rel)
}
