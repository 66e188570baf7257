import type { Sample, Span } from '../../src/observe/series/series.js'

const SPAN_MS: Readonly<Record<Span, number>> = { '30m': 30 * 60_000, '24h': 24 * 3_600_000 }
/** Missing for this many steps: a gap, not a line. */
const GAP_STEPS = 4

/** The newest sample at the end, once it is a step away from the last; what is older than the span goes. */
export function withLatest(
  samples: readonly Sample[],
  latest: Sample | null,
  everyMs: number,
  span: Span,
): readonly Sample[] {
  const last = samples.at(-1)
  if (latest === null || (last !== undefined && latest.at - last.at < everyMs * 0.9)) return samples
  const from = latest.at - SPAN_MS[span]
  return [...samples.filter(({ at }) => at >= from), latest]
}

export type Values = readonly (number | null)[]

/** Samples as columns, first the seconds; null where nobody sampled. */
export function columnsOf(
  samples: readonly Sample[],
  everyMs: number,
  values: readonly ((sample: Sample) => number | null)[],
): [number[], ...Values[]] {
  const seconds: number[] = []
  const columns: (number | null)[][] = values.map(() => [])
  let before: number | null = null
  for (const sample of samples) {
    if (before !== null && sample.at - before > everyMs * GAP_STEPS) {
      seconds.push((before + everyMs) / 1000)
      for (const column of columns) column.push(null)
    }
    before = sample.at
    seconds.push(sample.at / 1000)
    for (const [at, value] of values.entries()) columns[at]?.push(value(sample))
  }
  return [seconds, ...columns]
}

/** Each column on top of those before it. */
export function stacked(columns: readonly Values[]): Values[] {
  const sums: (number | null)[] = []
  return columns.map((column) =>
    column.map((value, at) => {
      if (value === null) return null
      const sum = (sums[at] ?? 0) + value
      sums[at] = sum
      return sum
    }),
  )
}
