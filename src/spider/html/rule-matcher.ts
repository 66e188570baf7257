import { decodeHTML } from 'entities/lib/decode.js'
import * as characters from './characters.js'
import { MAX_TEXT, tooComplex } from './limits.js'
import { PageText } from './page-text.js'
import type { Program, Step } from './program.js'
import * as program from './program.js'
import { TagReader } from './tag-reader.js'
import * as tags from './tags.js'

// Imported names are looked up at every use; constants of this file become part of the compiled code.
const { AMPERSAND, isSpace, LF } = characters
const { CLASS_SLOT, classHint, REL_SLOT, saysNofollow } = program
const { T } = tags

/** Deeper than any page people write; a deeper one goes to the tree, which has its own limit. */
export const MAX_DEPTH = 256

/** Tries the steps of the program on each element and collects what the rules pick. */
export class RuleMatcher extends TagReader {
  private out: string[][] = []
  /** By depth: what the open element matched, and what it or an ancestor matched. */
  protected readonly matched = new Int32Array(MAX_DEPTH)
  protected readonly ancestors = new Int32Array(MAX_DEPTH)
  protected classBits = -1
  /** Index of the innermost svg or math root; everything above it is foreign too. 0: none. */
  protected foreignFrom = 0
  private readonly emitted: Int32Array
  private matchNumber = 0
  protected headTextWanted = false
  /** A newline that comes first in a <pre> is not part of its text. */
  protected skipNewline = false

  // Texts being collected.
  private readonly captureRules: number[] = []
  private readonly captureSlots: number[] = []
  private readonly captureDepths: number[] = []
  private readonly captureTexts: string[] = []
  private captures = 0
  private textLength = 0
  /** How many want the text that comes next: the open captures, and the text of the page. */
  protected listeners = 0

  /** The text of the page, from the body until it is full; and the depth from which on a reader does not see the text, 0: nothing hides it. */
  protected pageText: PageText | null = null
  private pageTextRule = 0
  protected hiddenFrom = 0

  constructor(program: Program) {
    super(program)
    this.emitted = new Int32Array(program.rules.length)
  }

  protected collectInto(out: string[][]): void {
    this.out = out
    this.captures = 0
    this.textLength = 0
    this.listeners = 0
    this.pageText = null
    this.hiddenFrom = 0
    this.matchNumber = 0
    this.headTextWanted = false
    this.skipNewline = false
    this.emitted.fill(0)
  }

  protected override close(): void {
    super.close()
    this.out = []
    this.captureTexts.length = 0
  }

  /** Tries every step on the element that would become a child of `parent`; returns its bits. */
  protected match(id: number, parent: number): number {
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

  protected tryAll(steps: readonly Step[], id: number, parent: number): number {
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

  protected fits(step: Step): boolean {
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

  protected readClasses(): number {
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

  protected classBit(from: number, to: number): number {
    const { classes } = this.program
    for (let i = 0; i < classes.length; i++) {
      const name = classes[i] as string
      if (name.length === to - from && this.html.startsWith(name, from)) return 1 << i
    }
    return 0
  }

  protected readOddClasses(): number {
    const { classes } = this.program
    const words = this.value(CLASS_SLOT).split(/\s+/)
    let bits = 0
    for (let i = 0; i < classes.length; i++) if (words.includes(classes[i] as string)) bits |= 1 << i
    return bits
  }

  protected emit(ruleIndex: number, id: number, parent: number): void {
    const rule = this.program.rules[ruleIndex] as Program['rules'][number]
    if (this.emitted[ruleIndex] === this.matchNumber) return
    const found = this.out[rule.index] as string[]
    if (rule.first && found.length > 0) return
    if (rule.slot !== 0 && !this.has(rule.slot)) return
    if (rule.htmlOnly && this.foreignFrom > 0) return
    if (rule.skipNofollow && this.has(REL_SLOT) && saysNofollow(this.value(REL_SLOT))) return
    this.emitted[ruleIndex] = this.matchNumber
    if (rule.slot !== 0) {
      found.push(this.value(rule.slot))
      return
    }
    if (rule.pageText > 0) {
      this.pageText = new PageText(rule.pageText)
      this.pageTextRule = rule.index
      this.listeners++
      return
    }
    if (id === T.html || id === T.head) this.headTextWanted = true
    this.listeners++
    const capture = this.captures++
    this.captureRules[capture] = rule.index
    this.captureSlots[capture] = found.push('') - 1
    this.captureDepths[capture] = parent + 1
    this.captureTexts[capture] = ''
  }

  protected collect(from: number, to: number, entities: boolean): void {
    let text = this.html.slice(from, to)
    if (this.hasCr) text = text.replace(/\r\n?/g, '\n')
    if (entities && text.includes('&')) text = decodeHTML(text)
    if (this.skipNewline && text.charCodeAt(0) === LF) text = text.slice(1)
    this.skipNewline = false
    this.textLength += text.length * this.captures
    if (this.textLength > MAX_TEXT) throw tooComplex(`produces more than ${MAX_TEXT} characters of text`)
    for (let i = 0; i < this.captures; i++) this.captureTexts[i] += text
    if (this.pageText === null || this.hiddenFrom > 0) return
    this.pageText.add(text)
    if (this.pageText.isFull) this.endPageText()
  }

  protected endPageText(): void {
    if (this.pageText === null) return
    this.out[this.pageTextRule] = [String(this.pageText)]
    this.pageText = null
    this.listeners--
  }

  protected closeCaptures(newTop: number): void {
    while (this.captures > 0 && (this.captureDepths[this.captures - 1] as number) > newTop) {
      const last = --this.captures
      this.listeners--
      const found = this.out[this.captureRules[last] as number] as string[]
      found[this.captureSlots[last] as number] = this.captureTexts[last] as string
    }
  }
}
