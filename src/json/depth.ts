/**
 * The one limit for nesting, for everything that Shoal stores or hands on: records, the data of links, entries of feeds and of seed files. What is
 * nested deeper than some thousand levels ends a recursive reader with a stack overflow, and there is always one: JSON.stringify at about 5,000, the
 * JSON functions of SQLite at 1,000, Python's parser at 1,000. Half of that leaves room for what others wrap around it.
 */
export const MAX_JSON_DEPTH = 500

/** Of JSON text, before it is parsed: counts brackets outside strings. In text that is not JSON the answer may be wrong; the parser finds out. */
export function isTextDeeperThan(text: string, levels: number): boolean {
  // Most texts are too short to be that deep.
  if (text.length <= levels) return false
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (quoted) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) quoted = false
    } else if (code === QUOTE) quoted = true
    else if (code === BRACE || code === BRACKET) {
      if (++depth > levels) return true
    } else if (code === END_BRACE || code === END_BRACKET) depth--
  }
  return false
}

/** With a stack of its own: what is too deep for a program's stack must not be walked by one. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; ; depth++) {
    const below = level.filter((item) => typeof item === 'object' && item !== null)
    if (below.length === 0) return false
    if (depth === levels) return true
    level = below.flatMap((item) => Object.values(item as object))
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACE = 0x7b
const END_BRACE = 0x7d
const BRACKET = 0x5b
const END_BRACKET = 0x5d
