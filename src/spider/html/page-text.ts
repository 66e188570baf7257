import type { ChildNode, Element } from 'domhandler'
import { flagsOf, HIDDEN, SEPARATES, tagId } from './tags.js'

/**
 * The text of a page as one line: what a reader sees, blocks separated by a space, at most `limit` characters. The scanner and the tree send it the
 * same texts and separations in the same order, so both get the same line.
 */
export class PageText {
  readonly #limit: number
  #text = ''
  #gap = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Nothing that follows can change the result. */
  get isFull(): boolean {
    return this.#text.length >= this.#limit
  }

  add(piece: string): void {
    const line = piece.replace(/\s+/g, ' ')
    const words = line.trim()
    if (words === '') {
      if (line !== '') this.#gap = true
      return
    }
    this.#text += (this.#gap || line.startsWith(' ')) && this.#text !== '' ? ` ${words}` : words
    this.#gap = line.endsWith(' ')
  }

  /** The last word of one block and the first of the next are two words. */
  separate(): void {
    this.#gap = true
  }

  /** Not cut inside a surrogate pair: half of one is no text. */
  toString(): string {
    if (this.#text.length <= this.#limit) return this.#text
    const code = this.#text.charCodeAt(this.#limit - 1)
    const splitsPair = code >= 0xd800 && code < 0xdc00
    return this.#text.slice(0, splitsPair ? this.#limit - 1 : this.#limit).trimEnd()
  }
}

/** The text of an element of the tree. Names mean nothing in XML: every element is a block, and the title of a feed's entry is text. */
export function textOfTree(element: Element, { limit, xml = false }: { limit: number; xml?: boolean }): string {
  const text = new PageText(limit)
  // Null: the block that was opened last ends here.
  const left: (ChildNode | null)[] = [...element.children].reverse()
  for (let node = left.pop(); node !== undefined && !text.isFull; node = left.pop()) {
    if (node === null) text.separate()
    else if (node.type === 'text') text.add(node.data)
    else if ('attribs' in node) {
      const flags = xml ? SEPARATES : flagsOf(tagId(node.name))
      if ((flags & SEPARATES) !== 0) {
        text.separate()
        left.push(null)
      }
      if ((flags & HIDDEN) === 0) left.push(...[...node.children].reverse())
    } else if (node.type === 'cdata') left.push(...[...node.children].reverse())
  }
  return String(text)
}
