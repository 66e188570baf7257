import type { ReparseSummary } from '../../run/reparse/reparse.js'
import type { FieldTally, KindTally, Listed, ReparseReport } from '../../run/reparse/reparse-report.js'
import type { Output } from '../output.js'
import { clean } from '../terminal/clean.js'
import { count, duration, plural, rate } from '../terminal/format.js'
import { figures } from '../terminal/table.js'
import { cutEnd } from '../terminal/width.js'

/** Items printed of each list; --json has the others. */
const SHOWN = 3
const VALUE_WIDTH = 40

export function showReparse(output: Output, { spider, dryRun, report, seconds, interrupted }: ReparseSummary): void {
  const { print, style } = output
  const how = `${duration(seconds * 1000)}, ${rate(seconds === 0 ? 0 : report.pages / seconds)}`
  const what = `${plural(report.pages, 'page')} of ${clean(spider)} in ${how}`
  if (dryRun) print(style.bold(`Dry run over ${what}: nothing was written`))
  else print(style.bold(`Reparsed ${what}`))
  if (interrupted) print(style.yellow('Stopped early; run it again for the rest.'))
  if (report.kinds.size > 0) {
    print()
    showKinds(output, report, dryRun)
  }
  showRejections(output, report)
  if (dryRun) showFields(output, report)
  showPages(output, report)
}

type Counted = readonly [title: string, of: (tally: KindTally) => number]

const WRITTEN: readonly Counted[] = [['written', (tally) => tally.written]]
const WOULD_BE_WRITTEN: readonly Counted[] = [
  ['new', (tally) => tally.added],
  ['changed', (tally) => tally.written - tally.added],
]
const NOT_WRITTEN: readonly Counted[] = [
  ['unchanged', (tally) => tally.unchanged],
  ['fenced', (tally) => tally.fenced],
  ['rejected', (tally) => tally.rejected],
  ['no longer found', (tally) => tally.gone],
]

function showKinds(output: Output, { kinds, gone }: ReparseReport, dryRun: boolean): void {
  const columns = [...(dryRun ? WOULD_BE_WRITTEN : WRITTEN), ...NOT_WRITTEN]
  output.table(
    ['kind', ...columns.map(([title]) => ({ title, right: true }))],
    [...kinds].sort(byName).map(([kind, tally]) => [clean(kind), ...columns.map(([, of]) => count(of(tally)))]),
  )
  const { print, style } = output
  const fenced = [...kinds.values()].reduce((sum, tally) => sum + tally.fenced, 0)
  if (fenced > 0) print(style.dim('fenced: a newer page has written the record, so it is left as it is'))
  if (gone.count > 0) {
    print(
      style.dim('no longer found: the page does not produce these stored records any more; they are left as they are'),
    )
    for (const { kind, key, url } of gone.examples.slice(0, SHOWN))
      print(`  ${clean(kind)} ${cutEnd(clean(key), VALUE_WIDTH)}  ${style.dim(clean(url))}`)
    more(output, gone.count)
  }
}

/** Why records are rejected, the most frequent reason first. */
function showRejections({ print, style }: Output, { rejections }: ReparseReport): void {
  const all = [...rejections.values()].sort((a, b) => b.count - a.count)
  if (all.length === 0) return
  print()
  for (const { kind, field, message, count: times, key, url } of all.slice(0, SHOWN)) {
    const what = field === '' ? clean(kind) : `${clean(kind)}.${clean(field)}`
    print(`${style.yellow('rejected')} ${style.bold(what)}: ${clean(message)} × ${count(times)}`)
    const named = key === '' ? '' : `${cutEnd(clean(key), VALUE_WIDTH)}  `
    print(`  ${named}${style.dim(clean(url))}`)
  }
  if (all.length > SHOWN) print(style.dim(`  and ${plural(all.length - SHOWN, 'other reason')}; see --json`))
}

function showFields(output: Output, { fields }: ReparseReport): void {
  const { print, style } = output
  const rows = [...fields]
    .sort(byName)
    .flatMap(([kind, tallies]) =>
      [...tallies]
        .sort((a, b) => b[1].records - a[1].records || byName(a, b))
        .map(([field, tally]) => ({ kind, field, tally })),
    )
  print()
  if (rows.length === 0) {
    print('no field of a stored record would change')
    return
  }
  output.table(
    ['kind', 'field', ...figures('records', 'filled → empty', 'empty → filled', 'other type', 'other value')],
    rows.map(({ kind, field, tally }) => [clean(kind), fieldName(field), ...fieldCounts(tally)]),
  )
  for (const { kind, field, tally } of rows) {
    print()
    print(`${clean(kind)} ${style.bold(fieldName(field))}`)
    for (const { key, before, after } of tally.examples)
      print(`  ${style.dim(cutEnd(clean(key), VALUE_WIDTH))}  ${valueText(before)} → ${valueText(after)}`)
  }
}

function fieldCounts({ records, emptied, filled, retyped, changed }: FieldTally): string[] {
  return [records, emptied, filled, retyped, changed].map(count)
}

function fieldName(field: string): string {
  return field === '' ? '(whole value)' : clean(field)
}

function valueText(value: string | null): string {
  return value === null ? '(none)' : cutEnd(clean(value), VALUE_WIDTH)
}

function showPages(output: Output, report: ReparseReport): void {
  const { print, style } = output
  const { passed, missing, unrouted, rerouted, failed, failures } = report
  if (passed + missing.count + unrouted.count + rerouted + failures.size > 0) print()
  if (passed > 0) print(style.dim(`${plural(passed, 'page')} skipped: their routes only follow links`))
  showListed(output, missing, 'missing or damaged')
  showListed(output, unrouted, 'that no route matches any more')
  if (rerouted > 0)
    print(`${plural(rerouted, 'page')} handled by another route: the original one is no longer in the spider`)
  if (failed > 0) print(style.yellow(`${plural(failed, 'page')} failed; their stored records are left as they are`))
  for (const { code, message, count: times, url } of [...failures.values()].sort((a, b) => b.count - a.count)) {
    print(`  ${count(times)} × ${style.bold(code)}: ${clean(message)}`)
    if (url !== null) print(style.dim(`      for example ${clean(url)}`))
  }
}

function showListed(output: Output, { count: all, examples }: Listed<string>, what: string): void {
  if (all === 0) return
  output.print(output.style.yellow(`${plural(all, 'page')} ${what}`))
  for (const url of examples.slice(0, SHOWN)) output.print(`  ${clean(url)}`)
  more(output, all)
}

function more(output: Output, all: number): void {
  if (all > SHOWN) output.print(output.style.dim(`  and ${count(all - SHOWN)} more; see --json`))
}

function byName(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0
}

/** One JSON document: counts first, then the details. */
export function reparseJson({ spider, dryRun, report, seconds, interrupted }: ReparseSummary): Record<string, unknown> {
  const { pages, passed, missing, rerouted, unrouted, failed, failures, kinds, gone, rejections, fields } = report
  const sum = (of: keyof KindTally) => [...kinds.values()].reduce((all, tally) => all + tally[of], 0)
  return {
    spider,
    dryRun,
    pages,
    written: sum('written'),
    ...(dryRun ? { added: sum('added') } : {}),
    ...{ unchanged: sum('unchanged'), fenced: sum('fenced'), rejected: sum('rejected'), gone: gone.count },
    ...{ passed, missing: missing.count, failed, rerouted, unrouted: unrouted.count, seconds, interrupted },
    kinds: [...kinds]
      .sort(byName)
      .map(([kind, { added, ...tally }]) => ({ kind, ...tally, ...(dryRun ? { added } : {}) })),
    ...(dryRun
      ? {
          fields: [...fields]
            .sort(byName)
            .flatMap(([kind, tallies]) =>
              [...tallies].sort(byName).map(([field, tally]) => ({ kind, field, ...tally })),
            ),
        }
      : {}),
    rejections: [...rejections.values()].sort((a, b) => b.count - a.count),
    failures: [...failures.values()].sort((a, b) => b.count - a.count),
    goneRecords: gone.examples,
    missingPages: missing.examples,
    unroutedPages: unrouted.examples,
  }
}
