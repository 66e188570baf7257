import { asciiDigits } from './digits.js'

/** A run of digits, a run of letters, or one other character. */
export interface Token {
  readonly kind: 'number' | 'word' | 'sign'
  readonly text: string
  /** White space before it. */
  readonly gap: boolean
}

const TOKEN = /(\s+)|([0-9]+)|([\p{L}\p{M}]+)|\S/gu

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let gap = false
  for (const [found, space, digits, letters] of asciiDigits(text).matchAll(TOKEN)) {
    const kind = digits !== undefined ? 'number' : letters !== undefined ? 'word' : 'sign'
    if (space === undefined) tokens.push({ kind, text: found, gap })
    gap = space !== undefined
  }
  return tokens
}

/** A place in a list of tokens. Each `take` moves it on if the next token is what it asks for. */
export class Tokens {
  readonly #all: readonly Token[]
  at: number

  constructor(all: readonly Token[], at: number) {
    this.#all = all
    this.at = at
  }

  get next(): Token | undefined {
    return this.#all[this.at]
  }

  get afterNext(): Token | undefined {
    return this.#all[this.at + 1]
  }

  /** A run of `least` to `most` digits. */
  number(least: number, most = least): number | null {
    const { next } = this
    if (next?.kind !== 'number' || next.text.length < least || next.text.length > most) return null
    this.at++
    return Number(next.text)
  }

  /** The digits themselves, where their number matters. */
  digits(): string | null {
    if (this.next?.kind !== 'number') return null
    return this.#all[this.at++]?.text ?? null
  }

  /** One of these signs or words; `tight`: only without white space before it. */
  take(wanted: ReadonlySet<string>, tight = false): string | null {
    const { next } = this
    const text = next?.text.toLowerCase() ?? ''
    if (next === undefined || !wanted.has(text) || (tight && next.gap)) return null
    this.at++
    return text
  }

  word(): string | null {
    if (this.next?.kind !== 'word') return null
    return this.#all[this.at++]?.text ?? null
  }

  /** At most `most` of these, in any order. */
  skip(wanted: ReadonlySet<string>, most: number): void {
    for (let nth = 0; nth < most && this.take(wanted) !== null; nth++);
  }
}
