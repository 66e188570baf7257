/** Which rows of a long list are drawn: those in sight and a few beyond. */
export interface RowWindow {
  readonly from: number
  /** Not this one any more. */
  readonly to: number
}

const BEYOND = 12

export function rowsInSight(list: {
  /** Of the list's first row, from the top of what is seen; negative when scrolled past. */
  readonly top: number
  readonly height: number
  readonly rowHeight: number
  readonly rows: number
}): RowWindow {
  const first = Math.floor(-list.top / list.rowHeight)
  const last = Math.ceil((list.height - list.top) / list.rowHeight)
  const from = Math.max(0, Math.min(list.rows, first - BEYOND))
  return { from, to: Math.max(from, Math.min(list.rows, last + BEYOND)) }
}
