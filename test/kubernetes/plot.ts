/** What was seen in one second of the run. */
export interface Sample {
  readonly t: number
  readonly useful: number | null
  readonly wanted: number
  readonly running: number
  readonly left: number
  readonly pagesPerSecond: number
}

interface Line {
  readonly name: string
  readonly colour: string
  readonly of: (sample: Sample) => number | null
  readonly step: boolean
}

const WORKERS: readonly Line[] = [
  { name: 'useful workers (GET /scale)', colour: '#0b7285', of: ({ useful }) => useful, step: true },
  { name: 'replicas wanted by the autoscaler', colour: '#e67700', of: ({ wanted }) => wanted, step: true },
  { name: 'worker processes running', colour: '#5f3dc4', of: ({ running }) => running, step: true },
]
const LEFT: readonly Line[] = [{ name: 'pages left', colour: '#495057', of: ({ left }) => left, step: false }]
const RATE: readonly Line[] = [
  {
    name: 'pages/s, by the log of the site',
    colour: '#2b8a3e',
    of: ({ pagesPerSecond }) => pagesPerSecond,
    step: false,
  },
]

const WIDTH = 960
const LEFT_EDGE = 56
const RIGHT_EDGE = WIDTH - 16
const PANELS = [
  { top: 56, height: 190, lines: WORKERS },
  { top: 300, height: 110, lines: LEFT },
  { top: 464, height: 110, lines: RATE },
]

/** An SVG with three panels over the same time, and the events of the run as vertical lines. */
export function plot(samples: readonly Sample[], events: readonly { t: number; what: string }[]): string {
  const end = Math.max(1, ...samples.map(({ t }) => t))
  const x = (t: number) => LEFT_EDGE + (t / end) * (RIGHT_EDGE - LEFT_EDGE)
  const parts = PANELS.flatMap(({ top, height, lines }) => panel(samples, x, end, { top, height, lines }))
  const marks = events.map(
    ({ t, what }, index) =>
      `<line x1="${x(t).toFixed(1)}" x2="${x(t).toFixed(1)}" y1="40" y2="574" stroke="#adb5bd" stroke-dasharray="3 3"/>` +
      `<text x="${(x(t) + 3).toFixed(1)}" y="${11 + (index % 3) * 12}" fill="#495057">${escaped(what)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 610" font-family="sans-serif" font-size="12">
<title>Useful workers, replicas, pages left and pages per second over the run</title>
<rect width="100%" height="100%" fill="#fff"/>
${[...marks, ...parts].join('\n')}
<text x="${RIGHT_EDGE}" y="604" text-anchor="end" fill="#495057">seconds</text>
</svg>
`
}

function panel(
  samples: readonly Sample[],
  x: (t: number) => number,
  end: number,
  shape: (typeof PANELS)[number],
): string[] {
  const { top, height, lines } = shape
  const most = Math.max(1, ...lines.flatMap(({ of }) => samples.map((sample) => of(sample) ?? 0)))
  const y = (value: number) => top + height - (value / most) * height
  const frame = [
    `<line x1="${LEFT_EDGE}" x2="${RIGHT_EDGE}" y1="${top + height}" y2="${top + height}" stroke="#868e96"/>`,
    ...[0, 0.5, 1].map((share) => {
      const value = Math.round(most * share)
      return `<text x="${LEFT_EDGE - 6}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end" fill="#495057">${value}</text>`
    }),
    ...Array.from({ length: Math.floor(end / 60) + 1 }, (_, minute) => {
      return `<text x="${x(minute * 60).toFixed(1)}" y="${top + height + 15}" text-anchor="middle" fill="#495057">${minute * 60}</text>`
    }),
  ]
  const drawn = lines.flatMap((line, index) => [
    `<path d="${pathOf(samples, line, x, y)}" fill="none" stroke="${line.colour}" stroke-width="2"/>`,
    `<text x="${LEFT_EDGE + 8 + index * 240}" y="${top - 4}" fill="${line.colour}">${line.name}</text>`,
  ])
  return [...frame, ...drawn]
}

function pathOf(
  samples: readonly Sample[],
  { of, step }: Line,
  x: (t: number) => number,
  y: (v: number) => number,
): string {
  let path = ''
  for (const sample of samples) {
    const value = of(sample)
    if (value === null) continue
    const [at, height] = [x(sample.t).toFixed(1), y(value).toFixed(1)]
    if (path === '') path = `M${at} ${height}`
    else path += step ? `H${at}V${height}` : `L${at} ${height}`
  }
  return path
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
