/** Reads the text format of Prometheus strictly, as `promtool check metrics` does, and says what is wrong with it. */

interface MetricLine {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface CheckedMetrics {
  /** In the order of the text. */
  readonly types: ReadonlyMap<string, string>
  readonly help: ReadonlyMap<string, string>
  readonly lines: readonly MetricLine[]
  readonly problems: readonly string[]
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/
const TYPES = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped'])
const NUMBER = /^(?:[+-]?Inf|NaN|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/
const SECONDS_OR_BYTES = /_(milliseconds|ms|kilobytes|kb|mb|minutes|hours)(_|$)/

export function checkMetrics(text: string): CheckedMetrics {
  const types = new Map<string, string>()
  const help = new Map<string, string>()
  const lines: MetricLine[] = []
  const problems: string[] = []
  const seen = new Set<string>()
  const begun = new Set<string>()
  let current = ''
  if (text !== '' && !text.endsWith('\n')) problems.push('the last line does not end')
  for (const [index, row] of text.split('\n').slice(0, -1).entries()) {
    const at = `line ${index + 1}`
    if (row === '') problems.push(`${at}: empty`)
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(row)
    if (comment !== null) {
      const [, kind, name = '', rest = ''] = comment
      if (!NAME.test(name)) problems.push(`${at}: bad name ${name}`)
      const known = kind === 'HELP' ? help : types
      if (known.has(name)) problems.push(`${at}: second ${kind} of ${name}`)
      if (kind === 'TYPE' && !TYPES.has(rest)) problems.push(`${at}: bad type ${rest}`)
      if (begun.has(name)) problems.push(`${at}: ${kind} of ${name} after its first value`)
      if (kind === 'HELP' && rest.replace(/\\[\\n]/g, '').includes('\\')) problems.push(`${at}: bad escape`)
      known.set(name, rest)
      continue
    }
    if (row.startsWith('#')) continue
    const line = parseLine(row)
    if (typeof line === 'string') {
      problems.push(`${at}: ${line}`)
      continue
    }
    lines.push(line)
    const family = familyOf(line.name, types)
    if (family === null) {
      problems.push(`${at}: ${line.name} has no type`)
      continue
    }
    if (!help.has(family)) problems.push(`${at}: ${family} has no help`)
    if (family !== current && begun.has(family)) problems.push(`${at}: values of ${family} stand apart`)
    current = family
    begun.add(family)
    const id = `${line.name}${JSON.stringify(Object.entries(line.labels).sort())}`
    if (seen.has(id)) problems.push(`${at}: ${id} a second time`)
    seen.add(id)
    if (types.get(family) === 'counter' && !family.endsWith('_total'))
      problems.push(`${at}: the counter ${family} is no _total`)
    if (types.get(family) !== 'counter' && family.endsWith('_total'))
      problems.push(`${at}: ${family} is a _total and no counter`)
    if (types.get(family) === 'counter' && !(line.value >= 0)) problems.push(`${at}: a counter of ${line.value}`)
    if (SECONDS_OR_BYTES.test(family)) problems.push(`${at}: ${family} is not in base units`)
  }
  for (const [name, type] of types) {
    if (!begun.has(name)) problems.push(`${name} has no value`)
    if (type === 'histogram') problems.push(...histogramProblems(name, lines))
  }
  return { types, help, lines, problems: [...new Set(problems)] }
}

/** One line: a name, labels, a value. Answers what is wrong with it where something is. */
function parseLine(row: string): MetricLine | string {
  const name = /^[^{ ]+/.exec(row)?.[0] ?? ''
  if (!NAME.test(name)) return `bad name ${name}`
  const labels: Record<string, string> = {}
  let at = name.length
  if (row[at] === '{') {
    at++
    while (row[at] !== '}') {
      const pair = /^([^=]+)="((?:[^"\\\n]|\\[\\"n])*)"(,(?=[^}])|(?=\}))/.exec(row.slice(at))
      if (pair === null) return `bad labels in ${row}`
      const [whole, label = '', value = ''] = pair
      if (!LABEL.test(label) || label.startsWith('__')) return `bad label ${label}`
      if (label in labels) return `the label ${label} a second time`
      labels[label] = value.replace(/\\([\\"n])/g, (_, char: string) => (char === 'n' ? '\n' : char))
      at += whole.length
    }
    at++
  }
  const value = row.slice(at)
  if (!value.startsWith(' ') || !NUMBER.test(value.slice(1))) return `bad value in ${row}`
  return { name, labels, value: Number(value.slice(1).replace('Inf', 'Infinity')) }
}

function familyOf(name: string, types: ReadonlyMap<string, string>): string | null {
  if (types.has(name)) return name
  const base = name.replace(/_(bucket|sum|count)$/, '')
  return types.get(base) === 'histogram' ? base : null
}

function histogramProblems(name: string, lines: readonly MetricLine[]): string[] {
  const problems: string[] = []
  const series = new Map<string, { ends: number[]; counts: number[]; sum: number | null; count: number | null }>()
  for (const { name: full, labels, value } of lines) {
    if (!full.startsWith(name)) continue
    const part = full.slice(name.length)
    if (!['_bucket', '_sum', '_count', ''].includes(part)) continue
    const { le, ...rest } = labels
    const key = JSON.stringify(Object.entries(rest).sort())
    const one = series.get(key) ?? { ends: [], counts: [], sum: null, count: null }
    series.set(key, one)
    if (part === '') problems.push(`${name} has a value of its own`)
    if (part === '_sum') one.sum = value
    if (part === '_count') one.count = value
    if (part !== '_bucket') continue
    if (le === undefined) problems.push(`${name}${key}: a bucket without an end`)
    one.ends.push(Number((le ?? '').replace('Inf', 'Infinity')))
    one.counts.push(value)
  }
  for (const [key, { ends, counts, sum, count }] of series) {
    const grows = (numbers: readonly number[], strictly: boolean) =>
      numbers.every((value, i) => i === 0 || value > (numbers[i - 1] ?? 0) || (!strictly && value === numbers[i - 1]))
    if (!grows(ends, true)) problems.push(`${name}${key}: ends do not grow`)
    if (!grows(counts, false)) problems.push(`${name}${key}: counts are not cumulative`)
    if (ends.at(-1) !== Number.POSITIVE_INFINITY) problems.push(`${name}${key}: no +Inf`)
    if (sum === null) problems.push(`${name}${key}: no sum`)
    if (count === null || count !== counts.at(-1)) problems.push(`${name}${key}: the count is not that of +Inf`)
  }
  return problems
}
