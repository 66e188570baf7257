import { rate } from '../format.js'

const WIDTH = 120
const HEIGHT = 28

/** Points of the line, x from left to right, y from the bottom: pure, for the test. */
export function sparkPoints(values: readonly number[], width: number, height: number): string {
  const top = Math.max(...values, 1e-9)
  const step = width / Math.max(1, values.length - 1)
  return values.map((value, at) => `${round(at * step)},${round(height - 1 - (value / top) * (height - 2))}`).join(' ')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

export function Sparkline({ values, label }: { readonly values: readonly number[]; readonly label: string }) {
  if (values.length < 2) return <span class="spark none" aria-hidden="true" />
  const points = sparkPoints(values, WIDTH, HEIGHT)
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: now ${rate(values.at(-1) ?? 0)}, at most ${rate(Math.max(...values))}`}
    >
      <polygon points={`0,${HEIGHT} ${points} ${WIDTH},${HEIGHT}`} />
      <polyline points={points} vector-effect="non-scaling-stroke" />
    </svg>
  )
}
