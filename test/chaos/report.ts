import type { RunOptions, ScenarioResult } from './run-scenario.js'

const SHOWN = 5

/** One run, with every figure that the matrix asks for. */
export function showResult(result: ScenarioResult, options: RunOptions): string {
  const { figures, injected, special, violations, invalid } = result
  const again = figures.releasedAgainMs
  const lines: [string, string | number][] = [
    ['fault', `${result.fault}: ${result.title}`],
    [
      'injected',
      Object.entries(injected)
        .map(([name, times]) => `${times} × ${name}`)
        .join(', '),
    ],
    ['pages, requests', `${figures.pages}, ${figures.requests} in ${result.seconds} s`],
    ['lost', figures.lost],
    ['overlapping leases', figures.overlaps],
    ['stale writes accepted', `${figures.staleAccepted} (${figures.staleRefused} refused)`],
    [
      'gap and concurrency violations',
      `${figures.gapViolations} (shortest gap ${figures.minGapMs.toFixed(1)} of ${options.delayMs} ms, most at once ${figures.maxConcurrent})`,
    ],
    [
      'duplicate fetches',
      `${figures.extraFetches} (${figures.extraPer100k} per 100,000; ${figures.unsettledLeases} leases taken away, ${figures.unknownReplies} replies unknown)`,
    ],
  ]
  if (again !== null)
    lines.push(['kill to leased again', `p50 ${again.p50} ms, max ${again.max} ms, of ${again.count}`])
  if (figures.resumeMs !== null) lines.push(['heal to first settle', `${Math.round(figures.resumeMs)} ms at most`])
  for (const [name, value] of Object.entries(special)) lines.push([name, value])
  lines.push(['verdict', result.verdict])
  const text = lines.map(([name, value]) => `  ${name.padEnd(46)}${value}`)
  for (const reason of invalid) text.push(`  invalid: ${reason}`)
  const kinds = new Map<string, string[]>()
  for (const { invariant, detail } of violations) kinds.set(invariant, [...(kinds.get(invariant) ?? []), detail])
  for (const [invariant, details] of kinds) {
    text.push(`  ${invariant}: ${details.length} violations`)
    for (const detail of details.slice(0, SHOWN)) text.push(`    ${detail}`)
  }
  if (result.verdict !== 'passed') text.push(`  again: ${command(result, options)}`)
  return `${text.join('\n')}\n`
}

function command({ fault, seed }: ScenarioResult, { queue, store, workers, pages }: RunOptions): string {
  const what = fault === 'standard' || fault === 'results' ? `--${fault}` : `--fault ${fault}`
  return `npm run chaos -- ${what} --seed ${seed} --queue ${queue} --store ${store} --workers ${workers}${pages === null ? '' : ` --pages ${pages}`} --keep`
}

export function showTable(results: readonly ScenarioResult[]): string {
  const rows = results.map(({ fault, title, injected, figures, special, verdict }) => [
    fault,
    title,
    Object.values(injected).join('+'),
    String(figures.lost),
    String(figures.staleRefused),
    String(figures.gapViolations),
    String(figures.extraPer100k),
    figures.releasedAgainMs === null ? '' : `${figures.releasedAgainMs.p50}/${figures.releasedAgainMs.max}`,
    Object.entries(special)
      .map(([name, value]) => `${name}: ${value}`)
      .join('; '),
    verdict,
  ])
  const head = [
    '',
    'fault',
    'injected',
    'lost',
    'stale refused',
    'gaps',
    'dup/100k',
    're-leased ms',
    'special',
    'verdict',
  ]
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)))
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
