import stringWidth from 'string-width'

/** Columns that a text takes on a terminal, without its colours. */
export const widthOf = stringWidth

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

/** Text without colours, cut to `width` columns in the middle, because the end of a URL says more than its middle. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  const room = Math.max(0, width - 1)
  const tail = Math.floor(room / 2)
  const parts = charactersOf(text)
  return `${take(parts, room - tail).join('')}…${take(parts.toReversed(), tail).reverse().join('')}`
}

/** Text without colours, cut to `width` columns. */
export function cutEnd(text: string, width: number): string {
  return widthOf(text) <= width ? text : `${take(charactersOf(text), Math.max(0, width - 1)).join('')}…`
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

function charactersOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Never wider than `width`: packages that truncate may exceed it by a column after a wide character, and a live line would wrap. */
function take(characters: readonly string[], width: number): string[] {
  let used = 0
  const end = characters.findIndex((character) => {
    used += widthOf(character)
    return used > width
  })
  return end < 0 ? [...characters] : characters.slice(0, end)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one
const COLOUR = /\x1b\[[0-9;]*m/g
const ENDS: ReadonlySet<string> = new Set(['\x1b[0m', '\x1b[22m', '\x1b[27m', '\x1b[39m'])

/**
 * Wrapped between words, the following lines two columns further in than the first; a colour is ended at each break and resumed after it. A word that is
 * wider than the terminal, as a URL may be, is left to the terminal: it stays one word when it is copied.
 */
export function wrap(line: string, width: number): string[] {
  if (widthOf(line) <= width) return [line]
  const text = line.trimStart()
  const lead = ' '.repeat(line.length - text.length)
  const lines: string[] = []
  let current = ''
  for (const word of text.split(' ')) {
    if (current === '') current = lead + word
    else if (widthOf(current) + 1 + widthOf(word) <= width) current += ` ${word}`
    else {
      lines.push(current)
      current = `${lead}  ${word}`
    }
  }
  return painted([...lines, current])
}

/** Ends each line without a colour and starts the next with those that were on. */
function painted(lines: readonly string[]): string[] {
  const on: string[] = []
  return lines.map((line) => {
    const before = on.join('')
    for (const [code] of line.matchAll(COLOUR)) {
      if (ENDS.has(code)) on.length = 0
      else on.push(code)
    }
    return `${before}${line}${on.length > 0 ? '\x1b[0m' : ''}`
  })
}
