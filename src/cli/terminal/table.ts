import { cutMiddle, padEnd, padStart, widthOf, wrap } from './width.js'

/** Its title alone is a column of plain text. */
export type Column = string | Shape

interface Shape {
  readonly title: string
  /** Right-aligned, for numbers. */
  readonly right?: boolean
  /** The column that shrinks on a narrow terminal. */
  readonly shrinks?: boolean
  /** It does not shrink by being cut: a name that is too long is on a line of its own. */
  readonly whole?: boolean
  /** Moved below the row when the terminal is too narrow. */
  readonly below?: boolean
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

/** What a row is about. It is never cut, because people copy it. */
export function naming(title: string): Column {
  return { title, shrinks: true, whole: true }
}

/** A sentence about the row, below it on a narrow terminal. */
export function remark(title: string): Column {
  return { title, below: true }
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
  const [head = [], ...body] = layOut(columns, [columns.map((column) => column.title), ...rows], width)
  return [...head.map(title), ...body.flat()]
}

/** The lines of each row, of which the first is the titles. */
function layOut(columns: readonly Shape[], rows: readonly (readonly string[])[], width: number): string[][] {
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => widthOf(row[index] ?? ''))))
  const total = widths.reduce((sum, one) => sum + one, 0) + GAP * (columns.length - 1)
  const narrowed = columns.findIndex((column) => column.shrinks)
  const own = widths[narrowed] ?? 0
  const least = Math.min(MIN_SHRUNK, own)
  const isWhole = columns[narrowed]?.whole === true
  if (total - own + (isWhole ? own : least) > width) {
    const given = columns.reduce((most, { yields = 0 }, index) => {
      return yields > (columns[most]?.yields ?? 0) ? index : most
    }, -1)
    const without = <Item>(items: readonly Item[]) => items.filter((_, index) => index !== given)
    if (given >= 0) return layOut(without(columns), rows.map(without), width)
    if (columns.some(({ below }) => below)) return remarksBelow(columns, rows, width)
  }
  const room = narrowed >= 0 && total > width ? Math.max(least, own - (total - width)) : own
  const line = (cells: readonly string[]) =>
    columns
      .map(({ right }, index) => {
        const cell = cells[index] ?? ''
        if (index === narrowed) return padEnd(isWhole ? cell : cutMiddle(cell, room), room)
        return right ? padStart(cell, widths[index] ?? 0) : padEnd(cell, widths[index] ?? 0)
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  return rows.map((cells) => {
    const name = cells[narrowed] ?? ''
    return isWhole && widthOf(name) > room ? [name, line(cells.with(narrowed, ''))] : [line(cells)]
  })
}

function remarksBelow(columns: readonly Shape[], rows: readonly (readonly string[])[], width: number): string[][] {
  const kept = <Item>(items: readonly Item[]) => items.filter((_, index) => columns[index]?.below !== true)
  return layOut(kept(columns), rows.map(kept), width).map((lines, nth) => {
    const remarks = columns.flatMap(({ title, below }, index) => {
      const cell = rows[nth]?.[index] ?? ''
      return below === true && cell !== '' ? [`${title}: ${cell}`] : []
    })
    // The titles are in the remarks themselves.
    return nth === 0 || remarks.length === 0 ? lines : [...lines, ...wrap(`  ${remarks.join('; ')}`, width)]
  })
}
