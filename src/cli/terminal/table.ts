import { cutMiddle, padEnd, padStart, widthOf } from './width.js'

export interface Column {
  readonly title: string
  /** Right-aligned, for numbers. */
  readonly right?: boolean
  /** The column that shrinks on a narrow terminal. */
  readonly shrinks?: boolean
  /** Dropped when the terminal is too narrow, highest number first. */
  readonly yields?: number
}

const GAP = 2
/** A column does not shrink below this. */
const MIN_SHRUNK = 16

/** Aligned lines, title first. With `width` Infinity (a pipe) nothing is cut. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  title: (text: string) => string,
): string[] {
  const widths = columns.map((column, index) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[index] ?? ''))),
  )
  const total = widths.reduce((sum, one) => sum + one, 0) + GAP * (columns.length - 1)
  const shrinking = columns.findIndex((column) => column.shrinks)
  const own = widths[shrinking] ?? 0
  const least = Math.min(MIN_SHRUNK, own)
  if (total - own + least > width) {
    const given = columns.reduce((most, { yields = 0 }, index) => {
      return yields > (columns[most]?.yields ?? 0) ? index : most
    }, -1)
    const kept = <Item>(items: readonly Item[]) => items.filter((_, index) => index !== given)
    if (given >= 0) return table(kept(columns), rows.map(kept), width, title)
  }
  if (shrinking >= 0 && total > width) widths[shrinking] = Math.max(least, own - (total - width))
  const line = (cells: readonly string[]) =>
    columns
      .map((column, index) => {
        const room = widths[index] ?? 0
        const cell = index === shrinking ? cutMiddle(cells[index] ?? '', room) : (cells[index] ?? '')
        return column.right ? padStart(cell, room) : padEnd(cell, room)
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  return [title(line(columns.map((column) => column.title))), ...rows.map(line)]
}
