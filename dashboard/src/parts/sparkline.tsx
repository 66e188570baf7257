import { rate } from '../format.js'
import { sparkPoints } from './spark-points.js'

const WIDTH = 120
const HEIGHT = 28

export function Sparkline({ values, label }: { readonly values: readonly number[]; readonly label: string }) {
  if (values.length < 2) return <span class="spark none" aria-hidden="true" />
  const points = sparkPoints(values, WIDTH, HEIGHT)
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: now ${rate(values.at(-1) ?? 0)}, maximum ${rate(Math.max(...values))}`}
    >
      <polygon points={`0,${HEIGHT} ${points} ${WIDTH},${HEIGHT}`} />
      <polyline points={points} vector-effect="non-scaling-stroke" />
    </svg>
  )
}
