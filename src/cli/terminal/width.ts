// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one
const COLOUR = /\x1b\[[0-9;]*m/g
const ENDS: ReadonlySet<string> = new Set(['\x1b[0m', '\x1b[22m', '\x1b[27m', '\x1b[39m'])
const NOTHING = /[\p{Mn}\p{Me}\p{Cf}]/u
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const ASCII = /^[\x20-\x7e]*$/

/** Columns that a text takes on a terminal, colours aside. */
export function widthOf(text: string): number {
  const bare = text.replace(COLOUR, '')
  if (ASCII.test(bare)) return bare.length
  let width = 0
  for (const char of bare) width += NOTHING.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return width
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

/** Text without colours, cut to `width` columns; the middle goes, because the end of a URL tells more than its middle. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  const room = Math.max(0, width - 1)
  const tail = Math.floor(room / 2)
  return `${take([...text], room - tail).join('')}…${take([...text].reverse(), tail)
    .reverse()
    .join('')}`
}

export function cutEnd(text: string, width: number): string {
  return widthOf(text) <= width ? text : `${take([...text], Math.max(0, width - 1)).join('')}…`
}

function take(chars: readonly string[], width: number): string[] {
  const taken: string[] = []
  let used = 0
  for (const char of chars) {
    used += widthOf(char)
    if (used > width) break
    taken.push(char)
  }
  return taken
}

/** Broken between words; a colour that begins and ends on the line goes on over its parts. */
export function wrapColoured(line: string, width: number): string[] {
  if (widthOf(line) <= width) return [line]
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    if (current !== '' && widthOf(current) + 1 + widthOf(word) > width) {
      lines.push(current)
      current = `  ${word}`
    } else current = current === '' ? word : `${current} ${word}`
  }
  return painted([...lines, current])
}

/** Each line ends without a colour, and the next begins with those that were on. */
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
