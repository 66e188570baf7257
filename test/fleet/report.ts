import type { Invariant, Violation } from '../chaos/checker.js'
import type { ScenarioResult } from '../chaos/run-scenario.js'
import type { FleetScenario } from './scenarios.js'

/** What each column of zeros stands for. */
const COLUMNS: readonly { readonly name: string; readonly of: readonly Invariant[] }[] = [
  { name: 'lost', of: ['I1', 'I2', 'I3', 'I7', 'I10'] },
  { name: 'twice', of: ['I4', 'I5', 'I6', 'I8'] },
  { name: 'pace', of: ['I9'] },
  { name: 'recovery', of: ['I11'] },
  { name: 'untrue', of: ['I12'] },
]
const SHOWN = 5

export function countsOf(violations: readonly Violation[]): Record<string, number> {
  return Object.fromEntries(
    COLUMNS.map(({ name, of }) => [name, violations.filter(({ invariant }) => of.includes(invariant)).length]),
  )
}

type Row = readonly string[]

/** One line per scenario; every number between `pages` and `refetched` must be 0. */
export function showTable(results: readonly ScenarioResult[]): string {
  const head: Row = [
    'scenario',
    'pages',
    ...COLUMNS.map(({ name }) => name),
    'dead',
    'refetched',
    'silent',
    'back',
    's',
    '',
  ]
  const rows = results.map((result): Row => {
    const { fault, figures, violations, special, seconds, verdict } = result
    return [
      ...[fault, String(figures.pages), ...Object.values(countsOf(violations)).map(String)],
      ...[String(special['dead letters'] ?? ''), String(special.refetched ?? '')],
      ...[longest(special, 'silent'), longest(special, 'back'), String(seconds), verdict],
    ]
  })
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: Row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
  return [head, ...rows].map(line).join('\n')
}

/** In seconds, over all workers concerned. */
function longest(special: ScenarioResult['special'], what: 'silent' | 'back'): string {
  const values = Object.entries(special).flatMap(([name, value]) =>
    name.includes(` ${what} after`) ? [Number(value)] : [],
  )
  return values.length === 0 ? '' : `${(Math.max(...values) / 1000).toFixed(1)} s`
}

/** The evidence of a scenario that did not pass, and how to see it again. */
export function showFailure({ fault, verdict, invalid, violations, seed, dir }: ScenarioResult, again: Again): string {
  const lines = [`${fault}: ${verdict}`, ...invalid.map((reason) => `  proves nothing: ${reason}`)]
  const kinds = new Map<Invariant, string[]>()
  for (const { invariant, detail } of violations) kinds.set(invariant, [...(kinds.get(invariant) ?? []), detail])
  for (const [invariant, details] of kinds) {
    lines.push(`  ${invariant}: ${details.length} ${details.length === 1 ? 'violation' : 'violations'}`)
    for (const detail of details.slice(0, SHOWN)) lines.push(`    ${detail}`)
  }
  if (again.keep) lines.push(`  logs: ${dir}`)
  const product = again.product ? ' --product' : ''
  lines.push(`  again: npm run fleet -- --scenario ${fault} --seed ${seed} --workers ${again.workers}${product} --keep`)
  return lines.join('\n')
}

export interface Again {
  readonly workers: number
  readonly product: boolean
  readonly keep: boolean
}

/** Of one run: every figure that was taken. */
export function showFigures({ special }: ScenarioResult): string {
  return Object.entries(special)
    .map(([name, value]) => `  ${name.padEnd(34)}${value}`)
    .join('\n')
}

export function showList(scenarios: readonly FleetScenario[]): string {
  const width = Math.max(...scenarios.map(({ id }) => id.length))
  return scenarios
    .map(({ id, title, byDefault }) => `${byDefault ? '*' : ' '} ${id.padEnd(width)}  ${title}`)
    .join('\n')
}

/** 0: all passed; 1: something was violated; 2: a run proves nothing, or did not take place. */
export function exitCodeOf(results: readonly Pick<ScenarioResult, 'verdict'>[], notRun: number): number {
  if (results.some(({ verdict }) => verdict === 'violated')) return 1
  return notRun > 0 || results.some(({ verdict }) => verdict === 'invalid') ? 2 : 0
}
