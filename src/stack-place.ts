export interface Place {
  readonly file: string
  /** `:3` or `:3:14`. */
  readonly position: string
}

const POSITION = /:\d+(?::\d+)?$/
const START = /\/|[A-Za-z]:\\/

/**
 * The file that a line of a stack trace names, as in `at read (file:///spiders/books.ts:3:14)` or `/spiders/books.ts:3`; null if there is none. The
 * message of an error is part of its stack and may be a whole page, so this takes linear time.
 */
export function placeIn(line: string): Place | null {
  const text = line.trimEnd()
  const inside = text.endsWith(')') ? text.slice(text.lastIndexOf('(') + 1, -1) : text
  const position = POSITION.exec(inside)
  if (position === null) return null
  const named = inside.slice(0, position.index)
  const url = named.indexOf('file:///')
  const start = url === -1 ? named.search(START) : url + 'file://'.length
  return start === -1 ? null : { file: named.slice(start), position: position[0] }
}
