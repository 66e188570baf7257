import { decodeHTMLAttribute } from 'entities/lib/decode.js'
import { encodingNamed } from './encodings.js'

/**
 * The encoding that a document declares in its own bytes. The bytes are read as ASCII, which every encoding that can be declared this way contains.
 * One pass, and no more of the page than browsers search.
 */

/** A meta element, otherwise an XML declaration; null if there is neither. */
export function encodingInHtml(bytes: Buffer): string | null {
  return utf16InXml(bytes) ?? encodingInMeta(bytes) ?? xmlDeclared(bytes)
}

export function encodingInXml(bytes: Buffer): string | null {
  return utf16InXml(bytes) ?? xmlDeclared(bytes)
}

/** An XML declaration in UTF-16 declares it by its zeros. */
function utf16InXml(bytes: Buffer): string | null {
  if (bytes.toString('latin1', 0, 6) === '<\0?\0x\0') return 'UTF-16LE'
  if (bytes.toString('latin1', 0, 6) === '\0<\0?\0x') return 'UTF-16BE'
  return null
}

const XML_START = '<?xml'
const ENCODING = 'encoding'
/** A longer declaration is none. */
const MOST_XML_BYTES = 1024
const QUOTED_LABEL = /^\s*=\s*(?:"([^"\s]*)"|'([^'\s]*)')/

function xmlDeclared(bytes: Buffer): string | null {
  const start = bytes.toString('latin1', 0, MOST_XML_BYTES)
  if (!start.startsWith(XML_START)) return null
  const declaration = start.slice(0, start.indexOf('>') + 1)
  const at = declaration.indexOf(ENCODING)
  if (at === -1) return null
  const label = QUOTED_LABEL.exec(declaration.slice(at + ENCODING.length))
  const name = encodingNamed(label?.[1] ?? label?.[2] ?? '')
  return name === null ? null : withoutUtf16(name)
}

/** A declaration that could be read as ASCII was not written in UTF-16. */
function withoutUtf16(name: string): string {
  return name.startsWith('UTF-16') ? 'UTF-8' : name
}

/** Browsers search this many bytes, whatever they contain, and more as long as there are only elements that belong into the head. */
const SEARCHED_ANYWAY = 1024
const IN_HEAD: ReadonlySet<string> = new Set('base link meta noscript object script style title'.split(' '))
const OPENS_HEAD: ReadonlySet<string> = new Set(['html', 'head'])
/** Their content is text, up to their end tag. */
const RAW_TEXT: ReadonlySet<string> = new Set('iframe noembed noframes script style textarea title xmp'.split(' '))

const LESS = 0x3c
const GREATER = 0x3e
const SLASH = 0x2f
const EQUALS = 0x3d
const BANG = 0x21
const QUESTION = 0x3f
const DASH = 0x2d
const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27

function encodingInMeta(bytes: Buffer): string | null {
  let onlyHead = true
  let at = bytes.indexOf(LESS)
  while (at !== -1 && (onlyHead || at < SEARCHED_ANYWAY)) {
    const next = bytes[at + 1] ?? 0
    const isEnd = next === SLASH
    if (isLetter(isEnd ? (bytes[at + 2] ?? 0) : next)) {
      const tag = readTag(bytes, at + (isEnd ? 2 : 1))
      if (tag === null) return null
      const { name } = tag
      if (name === 'meta' && !isEnd) {
        const encoding = declaredBy(tag)
        if (encoding !== null) return encoding
      }
      if (!IN_HEAD.has(name) && (isEnd || !OPENS_HEAD.has(name))) onlyHead = false
      if (name === 'plaintext' && !isEnd) return null
      at = RAW_TEXT.has(name) && !isEnd ? endTagOf(bytes, name, tag.end) : tag.end
    } else if (next === BANG || next === QUESTION || isEnd) at = endOfMarkup(bytes, at)
    else at++
    if (at !== -1) at = bytes.indexOf(LESS, at)
  }
  return null
}

/** Comment, doctype, processing instruction; -1 if it never ends. */
function endOfMarkup(bytes: Buffer, at: number): number {
  const isComment = bytes[at + 1] === BANG && bytes[at + 2] === DASH && bytes[at + 3] === DASH
  // `<!-->` is a comment: its dashes open and close it.
  return isComment ? bytes.indexOf('-->', at + 2, 'latin1') : bytes.indexOf(GREATER, at + 2)
}

/** Where `</name` is; -1 if there is none. */
function endTagOf(bytes: Buffer, name: string, from: number): number {
  for (let at = bytes.indexOf('</', from, 'latin1'); at !== -1; at = bytes.indexOf('</', at + 2, 'latin1')) {
    const end = at + 2 + name.length
    if (bytes.toString('latin1', at + 2, end).toLowerCase() === name && endsName(bytes[end] ?? 0)) return at
  }
  return -1
}

interface Tag {
  readonly name: string
  /** Those of a meta element; the first of a name counts. */
  readonly attributes: ReadonlyMap<string, string>
  /** The byte after it. */
  readonly end: number
}

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map()
/** `meta` has at most three that matter; a page with 100,000 of them on one element is no reason to keep them all. */
const MOST_ATTRIBUTES = 100

/** Null if the page ends before the tag does. */
function readTag(bytes: Buffer, start: number): Tag | null {
  let at = start
  while (at < bytes.length && !endsName(bytes[at] ?? 0)) at++
  // No name that matters is longer.
  const name = bytes.toString('latin1', start, Math.min(at, start + 10)).toLowerCase()
  const attributes = name === 'meta' ? new Map<string, string>() : null
  for (;;) {
    while (isSpace(bytes[at] ?? 0) || bytes[at] === SLASH) at++
    if (at >= bytes.length) return null
    if (bytes[at] === GREATER) return { name, attributes: attributes ?? NO_ATTRIBUTES, end: at + 1 }
    const nameStart = at
    // An equals sign at the start belongs to the name.
    for (at++; at < bytes.length && bytes[at] !== EQUALS && !endsName(bytes[at] ?? 0); at++);
    const nameEnd = at
    while (isSpace(bytes[at] ?? 0)) at++
    let valueStart = at
    let valueEnd = at
    if (bytes[at] === EQUALS) {
      for (at++; isSpace(bytes[at] ?? 0); at++);
      const quote = bytes[at] ?? 0
      if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
        valueStart = at + 1
        valueEnd = bytes.indexOf(quote, valueStart)
        if (valueEnd === -1) return null
        at = valueEnd + 1
      } else {
        valueStart = at
        while (at < bytes.length && bytes[at] !== GREATER && !isSpace(bytes[at] ?? 0)) at++
        valueEnd = at
      }
    }
    if (attributes === null || attributes.size >= MOST_ATTRIBUTES) continue
    const attribute = bytes.toString('latin1', nameStart, nameEnd).toLowerCase()
    if (!attributes.has(attribute)) attributes.set(attribute, bytes.toString('latin1', valueStart, valueEnd))
  }
}

function declaredBy({ attributes }: Tag): string | null {
  const charset = attributes.get('charset')
  let name: string | null = null
  if (charset !== undefined) name = encodingNamed(decodeHTMLAttribute(charset))
  else if (attributes.get('http-equiv')?.toLowerCase() === 'content-type')
    name = encodingNamed(charsetIn(decodeHTMLAttribute(attributes.get('content') ?? '')))
  if (name === null) return null
  // Who writes it means the bytes as they are; browsers agreed on this.
  return name === 'x-user-defined' ? 'windows-1252' : withoutUtf16(name)
}

const CHARSET = 'charset'
const WHITE_SPACE = /[\t\n\f\r ]/
const LABEL_END = /[\t\n\f\r ;]/

/** The label in `text/html; charset=koi8-r`; empty if there is none. */
function charsetIn(content: string): string {
  const lower = content.toLowerCase()
  for (let found = lower.indexOf(CHARSET); found !== -1; found = lower.indexOf(CHARSET, found + 1)) {
    let at = found + CHARSET.length
    while (WHITE_SPACE.test(lower[at] ?? '')) at++
    if (lower[at] !== '=') continue
    for (at++; WHITE_SPACE.test(lower[at] ?? ''); at++);
    const quote = lower[at] ?? ''
    if (quote === '"' || quote === "'") {
      const end = lower.indexOf(quote, at + 1)
      return end === -1 ? '' : lower.slice(at + 1, end)
    }
    const rest = lower.slice(at)
    const end = rest.search(LABEL_END)
    return end === -1 ? rest : rest.slice(0, end)
  }
  return ''
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0c || byte === 0x0d
}

function endsName(byte: number): boolean {
  return isSpace(byte) || byte === SLASH || byte === GREATER
}
