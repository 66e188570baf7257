import { cutMiddle, padEnd, padStart, widthOf } from './width.js'

/** Its title alone is a column of plain text. */
export type Column = string | Shape

interface Shape {
  readonly title: string
  /** Right-aligned, for numbers. */
  readonly right?: boolean
  /** The column that shrinks on a narrow terminal. */
  readonly shrinks?: boolean
  /** Dropped when the terminal is too narrow, highest number first. */
  readonly yields?: number
}

/** A column of numbers. */
export function figure(title: string, yields = 0): Column {
  return { title, right: true, yields }
}

export function figures(...titles: string[]): Column[] {
  return titles.map((title) => figure(title))
}

export function shrinking(title: string): Column {
  return { title, shrinks: true }
}

const GAP = 2
/** A column does not shrink below this. */
const MIN_SHRUNK = 16

/** Aligned lines, title first. With `width` Infinity (a pipe) nothing is cut. */
export function table(
  titles: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  title: (text: string) => string,
): string[] {
  const columns = titles.map((one): Shape => (typeof one === 'string' ? { title: one } : one))
  const widths = columns.map((column, index) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[index] ?? ''))),
  )
  const total = widths.reduce((sum, one) => sum + one, 0) + GAP * (columns.length - 1)
  const narrowed = columns.findIndex((column) => column.shrinks)
  const own = widths[narrowed] ?? 0
  const least = Math.min(MIN_SHRUNK, own)
  if (total - own + least > width) {
    const given = columns.reduce((most, { yields = 0 }, index) => {
      return yields > (columns[most]?.yields ?? 0) ? index : most
    }, -1)
    const kept = <Item>(items: readonly Item[]) => items.filter((_, index) => index !== given)
    if (given >= 0) return table(kept(columns), rows.map(kept), width, title)
  }
  if (narrowed >= 0 && total > width) widths[narrowed] = Math.max(least, own - (total - width))
  const line = (cells: readonly string[]) =>
    columns
      .map((column, index) => {
        const room = widths[index] ?? 0
        const cell = index === narrowed ? cutMiddle(cells[index] ?? '', room) : (cells[index] ?? '')
        return column.right ? padStart(cell, room) : padEnd(cell, room)
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  return [title(line(columns.map((column) => column.title))), ...rows.map(line)]
}
