/** The Prometheus text format 0.0.4. All of it is pure. */

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly points: readonly Point[]
}

export interface Point {
  readonly labels: Labels
  readonly value: number | Distribution
}

export type Labels = Readonly<Record<string, string>>

/** `counts`: not cumulative, one more than `ends`. */
export interface Distribution {
  readonly ends: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Families without points are left out. */
export function exposition(families: readonly Family[]): string {
  return families
    .filter(({ points }) => points.length > 0)
    .map(familyText)
    .join('')
}

function familyText({ name, help, type, points }: Family): string {
  const lines = points.flatMap(({ labels, value }) =>
    typeof value === 'number' ? [line(name, labels, value)] : histogramLines(name, labels, value),
  )
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
}

function histogramLines(name: string, labels: Labels, { ends, counts, sum }: Distribution): string[] {
  let total = 0
  const buckets = counts.map((count, index) => {
    total += count
    const end = ends[index]
    return line(`${name}_bucket`, { ...labels, le: end === undefined ? '+Inf' : numberText(end) }, total)
  })
  return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)]
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  return String(value)
}
