import * as tags from './tags.js'

// Imported names are looked up at every use; constants of this file become part of the compiled code.
const { T } = tags

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

/** The end of a raw text element is searched by name. */
export const Raw = { none: 0, withEntities: 1, plain: 2, script: 3 } as const
