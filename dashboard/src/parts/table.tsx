import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { count } from '../format.js'
import { Button } from './button.js'
import { type RowWindow, rowsInSight } from './window.js'

export interface Column<Row> {
  readonly key: string
  readonly head: string
  /** A track of a CSS grid: `minmax(0, 2fr)`, `6rem`. */
  readonly width: string
  readonly cell: (row: Row) => ComponentChildren
  readonly align?: 'end'
  /** Shown only if the page is at least this wide; a phone shows all columns as cards. */
  readonly from?: 'medium' | 'wide'
  /** Spans the whole width of the card on a phone. */
  readonly whole?: boolean
}

export interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** Loads more; called when the end comes into view. null: there is no more. */
  readonly more?: (() => void) | null
  readonly loading?: boolean
  readonly rowClass?: (row: Row) => string
  /** Called with the rows that are rendered, so that they can be refreshed. */
  readonly onSight?: (from: number, to: number) => void
}

const ROW_PX = 44
/** On a phone: the first cell as a heading, the others in pairs, each with its name above. */
const CARD_HEAD_PX = 44
const CARD_LINE_PX = 46
const CARD_PAD_PX = 20
const PHONE = '(max-width: 699px)'
const MEDIUM = '(min-width: 980px)'
const WIDE = '(min-width: 1280px)'

/** Only visible rows are rendered, so ten thousand hosts scroll like ten. It scrolls with the page. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, rows, rowKey, more = null, loading = false, rowClass, onSight } = props
  const [phone, medium, wide] = [useMedia(PHONE), useMedia(MEDIUM), useMedia(WIDE)]
  const columns = props.columns.filter(({ from }) => phone || from === undefined || (from === 'medium' ? medium : wide))
  const rowHeight = phone ? cardHeight(columns) : ROW_PX
  const body = useRef<HTMLDivElement>(null)
  const sight = useSight(body, rows.length, rowHeight)
  const tracks = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') }

  useEffect(() => onSight?.(sight.from, sight.to), [onSight, sight.from, sight.to])
  const nearEnd = sight.to >= rows.length
  useEffect(() => {
    if (nearEnd && rows.length > 0 && more !== null) more()
  }, [nearEnd, rows.length, more])

  return (
    <div class="table-box">
      {/* biome-ignore lint/a11y/useSemanticElements: rows out of view are not rendered, which a table element cannot express */}
      <div
        class={phone ? 'table cards' : 'table'}
        role="table"
        aria-label={label}
        aria-rowcount={more === null ? rows.length + 1 : -1}
        aria-colcount={columns.length}
      >
        {/* biome-ignore lint/a11y/useSemanticElements: part of the above */}
        <div class="thead" role="rowgroup">
          {/* biome-ignore lint/a11y/useSemanticElements: part of the above */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: a row of headings is nothing to act on */}
          <div class="tr" role="row" aria-rowindex={1} style={phone ? undefined : tracks}>
            {columns.map((column) => (
              // biome-ignore lint/a11y/useSemanticElements: part of the above
              // biome-ignore lint/a11y/useFocusableInteractive: nothing to act on
              <div key={column.key} class={column.align === 'end' ? 'th end' : 'th'} role="columnheader">
                {column.head}
              </div>
            ))}
          </div>
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: part of the above */}
        <div ref={body} class="tbody" role="rowgroup" style={{ height: `${rows.length * rowHeight}px` }}>
          {rows.slice(sight.from, sight.to).map((row, at) => (
            // biome-ignore lint/a11y/useSemanticElements: part of the above
            // biome-ignore lint/a11y/useFocusableInteractive: its cells hold what can be acted on
            <div
              key={rowKey(row)}
              class={`tr ${rowClass?.(row) ?? ''}`}
              role="row"
              aria-rowindex={sight.from + at + 2}
              style={{ ...(phone ? {} : tracks), height: `${rowHeight}px`, top: `${(sight.from + at) * rowHeight}px` }}
            >
              {columns.map((column) => (
                // biome-ignore lint/a11y/useSemanticElements: part of the above
                <div key={column.key} class={cellClass(column)} role="cell">
                  {phone && column.head !== '' ? (
                    <span class="td-name" aria-hidden="true">
                      {column.head}
                    </span>
                  ) : null}
                  <div class="td-value">{column.cell(row)}</div>
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
      <p class="table-end" role="status">
        {loading ? 'Loading…' : more === null ? '' : `${count(rows.length)} shown`}
        {more === null || loading ? null : (
          <Button small onClick={more}>
            Show more
          </Button>
        )}
      </p>
    </div>
  )
}

function cellClass<Row>({ align, whole }: Column<Row>): string {
  return `td${align === 'end' ? ' end' : ''}${whole === true ? ' whole' : ''}`
}

function cardHeight<Row>(columns: readonly Column<Row>[]): number {
  const cells = columns.slice(1)
  const halves = cells.filter((column) => column.whole !== true).length
  const lines = Math.ceil(halves / 2) + (cells.length - halves)
  return CARD_HEAD_PX + lines * CARD_LINE_PX + CARD_PAD_PX
}

function useSight(body: { current: HTMLDivElement | null }, rows: number, rowHeight: number): RowWindow {
  const [sight, setSight] = useState<RowWindow>({ from: 0, to: Math.min(rows, 40) })
  useLayoutEffect(() => {
    const update = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0
      const next = rowsInSight({ top, height: window.innerHeight, rowHeight, rows })
      setSight((before) => (before.from === next.from && before.to === next.to ? before : next))
    }
    update()
    window.addEventListener('scroll', update, { passive: true })
    window.addEventListener('resize', update)
    return () => {
      window.removeEventListener('scroll', update)
      window.removeEventListener('resize', update)
    }
  }, [body, rows, rowHeight])
  return { from: Math.min(sight.from, rows), to: Math.min(sight.to, rows) }
}

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches)
  useEffect(() => {
    const media = window.matchMedia(query)
    const update = () => setMatches(media.matches)
    update()
    media.addEventListener('change', update)
    return () => media.removeEventListener('change', update)
  }, [query])
  return matches
}
