/** Which rows of a long list are rendered: those in view and a few more. */
export interface RowWindow {
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

const EXTRA_ROWS = 12

export function rowsInSight(list: {
  /** Position of the list's first row from the top of the viewport; negative when scrolled past. */
  readonly top: number
  readonly height: number
  readonly rowHeight: number
  readonly rows: number
}): RowWindow {
  const first = Math.floor(-list.top / list.rowHeight)
  const last = Math.ceil((list.height - list.top) / list.rowHeight)
  const from = Math.max(0, Math.min(list.rows, first - EXTRA_ROWS))
  return { from, to: Math.max(from, Math.min(list.rows, last + EXTRA_ROWS)) }
}
