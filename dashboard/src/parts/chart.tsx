import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { clockTime } from '../format.js'
import { stacked, type Values } from '../samples.js'
import { useStore } from '../store.js'
import { theme } from '../theme.js'
import './chart.css'
import { Empty } from './empty.js'
import { useMedia } from './table.js'

export interface Line {
  readonly name: string
  /** A colour of the theme: `--state-done`. */
  readonly colour: string
  readonly values: Values
  /** So that lines can be values apart without colour. */
  readonly dash?: readonly number[]
}

export interface ChartProps {
  readonly title: string
  readonly seconds: readonly number[]
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
  /** Stacked, the first at the bottom. */
  readonly stack?: boolean
  /** For the time of day. */
  readonly now: number
}

const HEIGHT = 190
/** Rows of the table view. */
const ROWS = 12

export function Chart(props: ChartProps) {
  const { title, seconds, lines, format, stack = false, now } = props
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const [at, setAt] = useState<number | null>(null)
  const [asTable, setAsTable] = useState(false)
  const colours = useColours(lines.map(({ colour }) => colour))
  const names = lines.map(({ name }) => name).join()
  const data = useMemo((): uPlot.AlignedData => {
    const columns = lines.map(({ values }) => values)
    return [[...seconds], ...(stack ? stacked(columns) : columns).map((column) => [...column])]
  }, [seconds, lines, stack])
  const empty = seconds.length < 2

  // biome-ignore lint/correctness/useExhaustiveDependencies: recreated only for other lines and colours; the data is updated below
  useEffect(() => {
    const box = place.current
    if (box === null || empty || asTable) return
    const options = optionsFor(props, colours, box.clientWidth, setAt)
    const made = new uPlot(options, data, box)
    plot.current = made
    const watch = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: HEIGHT }))
    watch.observe(box)
    return () => {
      watch.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [names, colours, empty, asTable])
  useEffect(() => plot.current?.setData(data), [data])

  const shown = at ?? seconds.length - 1
  const values = lines.map((line) => `${line.name} ${valueAt(line, shown, format)}`).join(', ')
  return (
    <figure class="panel chart">
      <figcaption>
        <h3>{title}</h3>
        {empty ? null : (
          <button type="button" class="button quiet small" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            Table<span class="unseen"> of {title}</span>
          </button>
        )}
        <ul class="chart-legend" aria-hidden="true">
          {lines.map((line, index) => (
            <li key={line.name}>
              <svg width="16" height="8" viewBox="0 0 16 8" aria-hidden="true">
                {stack ? (
                  <rect width="16" height="8" rx="2" fill={colours[index]} />
                ) : (
                  <path
                    d="M0 4h16"
                    stroke={colours[index]}
                    stroke-width="2.5"
                    stroke-dasharray={line.dash?.join(' ')}
                  />
                )}
              </svg>
              {line.name} <b>{valueAt(line, shown, format)}</b>
            </li>
          ))}
          <li class="chart-time">{at === null ? '' : clockTime((seconds[at] ?? 0) * 1000, now)}</li>
        </ul>
      </figcaption>
      {empty ? (
        <Empty title="No samples yet">
          Samples are taken every five seconds while a worker or the dashboard is running.
        </Empty>
      ) : asTable ? (
        <ChartTable {...props} />
      ) : (
        <div ref={place} class="chart-place" role="img" aria-label={`${title} over time. Now: ${values}`} />
      )}
    </figure>
  )
}

function valueAt({ values }: Line, at: number, format: (value: number) => string): string {
  const value = values[at]
  return value === null || value === undefined ? '–' : format(value)
}

function ChartTable({ title, seconds, lines, format, now }: ChartProps) {
  const step = Math.max(1, Math.floor(seconds.length / ROWS))
  const rows = seconds.map((_, at) => at).filter((at) => (seconds.length - 1 - at) % step === 0)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
    <section class="chart-table" tabIndex={0} aria-label={`${title}, newest first`}>
      <table>
        <caption class="unseen">{title}, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.reverse().map((at) => (
            <tr key={at}>
              <th scope="row">{clockTime((seconds[at] ?? 0) * 1000, now)}</th>
              {lines.map((line) => (
                <td key={line.name}>{valueAt(line, at, format)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** A canvas cannot use CSS variables: they are read from the page, again whenever the theme changes. */
function useColours(names: readonly string[]): readonly string[] {
  const chosen = useStore(theme)
  const dark = useMedia('(prefers-color-scheme: dark)')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme decides what the names mean
  return useMemo(() => names.map(colourOf), [names.join(), chosen, dark])
}

function colourOf(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Approximate width of a digit in the font below. */
const LABEL_PX = 7

/** Steps below a minute need seconds. */
function timeMark(seconds: number, step: number): string {
  const date = new Date(seconds * 1000)
  const parts = [date.getHours(), date.getMinutes(), ...(step < 60 ? [date.getSeconds()] : [])]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}

function optionsFor(
  { lines, format, stack = false }: ChartProps,
  colours: readonly string[],
  width: number,
  onCursor: (at: number | null) => void,
): uPlot.Options {
  const [ink, grid] = [colourOf('--muted'), colourOf('--line')]
  const font = `12px ${getComputedStyle(document.body).fontFamily}`
  const axis = { stroke: ink, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } }
  const series = lines.map((line, at): uPlot.Series => {
    const stroke = colours[at] ?? ink
    return {
      label: line.name,
      stroke,
      width: stack ? 1 : 1.75,
      points: { show: false },
      ...(line.dash === undefined ? {} : { dash: [...line.dash] }),
      ...(stack ? { fill: stroke, alpha: 0.85 } : {}),
    }
  })
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 24, 0, 0],
    cursor: { sync: { key: 'crawl' }, points: { show: !stack }, drag: { x: false, y: false }, y: false },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 70,
        values: (_, marks, __, ___, step) => marks.map((mark) => timeMark(mark, step)),
      },
      {
        ...axis,
        size: (_, labels) => LABEL_PX * Math.max(2, ...(labels ?? []).map(({ length }) => length)) + 16,
        space: 34,
        values: (_, marks) => marks.map(format),
      },
    ],
    series: [{}, ...series],
    // Each area is filled down to the one below it.
    ...(stack ? { bands: lines.slice(1).map((_, at): uPlot.Band => ({ series: [at + 2, at + 1] })) } : {}),
    hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)] },
  }
}
