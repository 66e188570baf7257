import type { Sample, Span } from '../../src/observe/series/series.js'

const SPAN_MS: Readonly<Record<Span, number>> = { '30m': 30 * 60_000, '24h': 24 * 3_600_000 }
/** Samples missing for this many steps leave a gap in the line. */
const GAP_STEPS = 4

/** Appends the newest sample once it is a step after the last, and drops samples older than the span. */
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

/** Samples as columns, the seconds first; null in gaps. */
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

/** Each column is added to those before it. */
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
