import { fileURLToPath } from 'node:url'

/** A position in a file; lines and columns count from 1, as everybody writes them. */
export interface Place {
  readonly file: string
  readonly line: number
  /** Null: only the line is known. */
  readonly column: number | null
}

const POSITION = /:(\d+)(?::(\d+))?$/
/** An absolute path, and neither `node:internal/fs` nor the path of a URL. */
const START = /(?<=^|\s)(?:\/|[A-Za-z]:\\)/

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
  const start = url === -1 ? named.search(START) : url
  // The second is `eval at read (/spiders/books.ts:3:14), <anonymous>`.
  if (start === -1 || named.endsWith('<anonymous>')) return null
  const file = url === -1 ? named.slice(start) : pathOf(named.slice(start))
  return { file, line: Number(position[1]), column: position[2] === undefined ? null : Number(position[2]) }
}

/** `books.ts:3:14`. */
export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}${column === null ? '' : `:${column}`}`
}

/** A folder with a space in its name is `my%20spiders` in the URL of a module. */
function pathOf(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    return url.slice('file://'.length)
  }
}
