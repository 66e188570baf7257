import { cleanLayout } from './clean.js'
import { cutEnd, widthOf } from './width.js'

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
const CLEAR_BELOW = '\x1b[J'

/** Lines at the bottom of a terminal that are redrawn in place. */
export interface Live {
  draw(lines: readonly string[]): void
  /** Prints a line that stays, above the live ones. */
  say(line: string): void
  /** Erases the live lines and shows the cursor again. */
  stop(): void
}

/** On the terminal now. */
let onScreen: Live | null = null

/** The live lines that are on the terminal now, above which everything else must be printed; null: there are none. */
export function liveOnScreen(): Live | null {
  return onScreen
}

export function liveLines(stream: NodeJS.WriteStream): Live {
  let shown: readonly string[] = []
  let hidden = false
  const erase = () => (shown.length === 0 ? '' : `\x1b[${shown.length}A\r${CLEAR_BELOW}`)
  const showCursor = () => {
    if (hidden) stream.write(SHOW_CURSOR)
    hidden = false
  }
  const render = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')
  const live: Live = {
    draw(lines) {
      const width = stream.columns || 80
      // A wrapped line would be counted as one and not be erased completely.
      const next = fitting(lines, stream.rows).map((line) => cutColoured(cleanLayout(line), width - 1))
      if (!hidden) {
        process.once('exit', showCursor)
        hidden = true
        stream.write(HIDE_CURSOR)
      }
      stream.write(erase() + render(next))
      shown = next
    },
    say(line) {
      stream.write(`${erase()}${cleanLayout(line)}\n${render(shown)}`)
    },
    stop() {
      stream.write(erase())
      shown = []
      if (onScreen === live) onScreen = null
      showCursor()
      process.removeListener('exit', showCursor)
    },
  }
  onScreen = live
  return live
}

/** What has scrolled out of the terminal cannot be erased. */
function fitting(lines: readonly string[], rows = Number.POSITIVE_INFINITY): readonly string[] {
  const room = rows - 1
  if (lines.length <= room) return lines
  const kept = lines.slice(0, Math.max(0, room - 1))
  return [...kept, `… ${lines.length - kept.length} more lines: the terminal has ${rows} rows`]
}

/** Cuts a line with colours: the codes take no room, and the cut line ends without a colour. */
export function cutColoured(line: string, width: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one
  const parts = line.split(/(\x1b\[[0-9;]*m)/)
  let room = width
  let out = ''
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 1) {
      out += part
      continue
    }
    const cut = cutEnd(part, room)
    out += room > 0 ? cut : ''
    room -= widthOf(cut)
  }
  return out
}
