import { T } from './tags.js'

/** Insertion modes of the HTML standard; those below `body` come before the body exists. */
export const Mode = {
  beforeHtml: 0,
  beforeHead: 1,
  inHead: 2,
  headNoscript: 3,
  afterHead: 4,
  body: 5,
  table: 6,
  tableBody: 7,
  row: 8,
  cell: 9,
  caption: 10,
  columnGroup: 11,
  select: 12,
} as const

export function modeOf(id: number): number {
  switch (id) {
    case T.select:
      return Mode.select
    case T.td:
    case T.th:
      return Mode.cell
    case T.tr:
      return Mode.row
    case T.tbody:
    case T.thead:
    case T.tfoot:
      return Mode.tableBody
    case T.caption:
      return Mode.caption
    case T.colgroup:
      return Mode.columnGroup
    case T.table:
      return Mode.table
    case T.body:
      return Mode.body
    default:
      return 0
  }
}
