import { decodeHTMLAttribute } from 'entities/lib/decode.js'
import * as characters from './characters.js'
import type { Program } from './program.js'
import * as program from './program.js'
import type { NameTable } from './tags.js'
import * as tags from './tags.js'

// Imported names are looked up at every use; constants of this file become part of the compiled code.
const { APOSTROPHE, EQUALS, GT, isSpace, QUOTE, SLASH } = characters
const { CLASS_SLOT } = program
const { PACK, PACKED_HALF, PACKED_MAX, slotOf } = tags

/** Reused for pages up to a million characters; larger ones get their own array. */
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

/** The lowest layer of the scanner: cuts a tag into its name and the attributes that the program needs. */
export class TagReader {
  protected readonly program: Program
  protected html = ''
  /** The same as UTF-16 code units, followed by zeros: reading a number from an array is faster than from a string. */
  protected units: Uint16Array = scratch
  protected hasCr = false

  // The tag that was just read. A slot holds an attribute of this tag when its stamp is the tag's number.
  protected tagNumber = 0
  protected first = 0
  protected second = 0
  protected selfClosing = false
  protected hasAttributes = false
  private readonly stamps: Int32Array
  protected readonly starts: Int32Array
  protected readonly ends: Int32Array
  private strangers: Map<string, number> | null = null

  constructor(program: Program) {
    this.program = program
    const slots = program.attributes.names.length
    this.stamps = new Int32Array(slots)
    this.starts = new Int32Array(slots)
    this.ends = new Int32Array(slots)
  }

  protected open(html: string): void {
    this.html = html
    this.units = unitsOf(html)
    this.hasCr = html.includes('\r')
    this.tagNumber = 0
    this.stamps.fill(0)
  }

  protected close(): void {
    this.html = ''
    this.units = scratch
    this.strangers = null
  }

  /** Reads a tag name; `first` and `second` hold it packed, or 0 when it cannot be. */
  protected nameEnd(from: number): number {
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

  protected tagAt(from: number, to: number): number {
    return this.find(this.program.tags, this.first, this.second, from, to) || this.stranger(from, to)
  }

  /** A name neither HTML nor the program knows: it gets an id for this page only, so that its end tag finds it. */
  protected stranger(from: number, to: number): number {
    const name = lowerCase(this.html.slice(from, to))
    this.strangers ??= new Map()
    const known = this.strangers.get(name)
    if (known !== undefined) return known
    const id = this.program.tags.names.length + this.strangers.size
    this.strangers.set(name, id)
    return id
  }

  protected find(table: NameTable, first: number, second: number, from: number, to: number): number {
    if (first === 0) return table.odd.size === 0 ? 0 : (table.odd.get(lowerCase(this.html.slice(from, to))) ?? 0)
    const { slots, mask } = table
    let slot = slotOf(first, second) & mask
    for (;;) {
      const id = slots[slot] as number
      if (id === 0 || (table.first[id] === first && table.second[id] === second)) return id
      slot = (slot + 1) & mask
    }
  }

  protected same(name: string, from: number, to: number): boolean {
    if (name.length !== to - from) return false
    const { units } = this
    for (let i = 0; i < name.length; i++) {
      let code = units[from + i] as number
      if (code >= 65 && code <= 90) code += 32
      if (code !== name.charCodeAt(i)) return false
    }
    return true
  }

  /** Reads attributes up to and including `>`, and records where those that the program needs are. */
  protected attributes(from: number, all: boolean): number {
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

  protected has(slot: number): boolean {
    return this.tagNumber !== 0 && this.stamps[slot] === this.tagNumber
  }

  protected value(slot: number): string {
    const raw = this.html.slice(this.starts[slot], this.ends[slot])
    const value = this.hasCr ? raw.replace(/\r\n?/g, '\n') : raw
    return value.includes('&') ? decodeHTMLAttribute(value) : value
  }
}

/** ASCII only, as the standard says. */
function lowerCase(name: string): string {
  return name.replace(/[A-Z]+/g, (upper) => upper.toLowerCase())
}
