import type { ErrorCode } from '../../errors.js'
import type { Frontier } from '../../frontier/frontier.js'
import type { RunSummary } from '../../run/run-summary.js'
import type { KindCount, Records } from '../../store/record-store.js'
import type { Output } from '../output.js'
import { clean } from '../terminal/clean.js'
import { count, duration, noun, plural, rate, setDuration } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'
import { wrap } from '../terminal/width.js'
import { countLines } from './counts-view.js'
import { filteredLines } from './filtered-view.js'
import { neverMatchedLines } from './never-matched-view.js'
import { visitLines } from './visits-view.js'

/** What the summary shows of a crawl in addition to its counters. */
export interface SummaryDetails {
  readonly kinds: readonly KindCount[]
  readonly rejectedFields: readonly { readonly kind: string; readonly field: string; readonly count: number }[]
  readonly skipped: readonly (readonly [code: string, count: number])[]
}

/** Up to this many skipped links are counted by reason. */
const SKIPPED_READ = 5_000

/** So many of the most frequent reasons why links were changed or rejected; `shoal status` has all of them. */
const REASONS_SHOWN = 6

/** So many of the largest counts of the spider; `shoal status` has all of them. */
const NAMES_SHOWN = 10

export async function summaryDetails(
  frontier: Pick<Frontier, 'links'>,
  records: Pick<Records, 'counts' | 'rejectedByField'>,
  crawl: string,
  spider: string,
): Promise<SummaryDetails> {
  return {
    kinds: await records.counts({ spider, crawl }),
    // With millions of rejected records this query may time out; the run has finished all the same.
    rejectedFields: await records.rejectedByField({ spider, crawl }).catch(() => []),
    skipped: await skippedByReason(frontier, crawl),
  }
}

async function skippedByReason(
  frontier: Pick<Frontier, 'links'>,
  crawl: string,
): Promise<(readonly [string, number])[]> {
  const reasons = new Map<string, number>()
  const links = await frontier.links({ crawl, state: 'skipped', limit: SKIPPED_READ })
  for (const link of links) {
    const code = link.failures.at(-1)?.code ?? 'unknown'
    reasons.set(code, (reasons.get(code) ?? 0) + 1)
  }
  return [...reasons].sort((a, b) => b[1] - a[1])
}

export function printSummary(output: Output, summary: RunSummary, details: SummaryDetails | null): void {
  const { style, print } = output
  const printWrapped = (lines: readonly string[]) => {
    for (const line of lines.flatMap((one) => wrap(one, output.width))) print(line)
  }
  const took = duration(summary.seconds * 1000)
  const speed = summary.seconds > 0 ? `, ${rate(summary.pagesNow / summary.seconds)}` : ''
  print()
  const drained = summary.drained ? '; its workers were drained remotely' : ''
  const rest = summary.interrupted ? `${drained}; pages in flight were finished, the rest stays queued` : ''
  print(`${headline(output, summary)} ${style.dim(`after ${took}${speed}${rest}`)}`)
  print(
    `  ${figure(summary.pages)}  ${noun(summary.pages, 'page')} fetched${summary.retried > 0 ? style.dim(`, ${count(summary.retried)} retried`) : ''}`,
  )
  if (summary.responses !== null) print(`             ${sourcesText(summary.responses)}`)
  const shares = sharesText(summary.workers)
  if (shares !== null) print(`             ${style.dim(shares)}`)
  for (const line of visitLines(summary.visits, style)) print(line)
  const why = summary.why.map((reason) => `             ${style.yellow('why')} ${clean(reason)}`)
  if (summary.pages === 0) printWrapped(why)
  print(`  ${figure(summary.records)}  ${noun(summary.records, 'record')}${kindsText(details)}`)
  if (summary.pages > 0) printWrapped(why)
  printWrapped(freshLines(summary.fresh))
  if (summary.rejected > 0) print(`  ${figure(summary.rejected)}  ${style.yellow('rejected')}${fieldsText(details)}`)
  printWrapped(summary.drift.map(({ message }) => `             ${style.red('drift')} ${clean(message)}`))
  printWrapped(neverMatchedLines(summary.neverMatched, style))
  printWrapped(filteredLines(summary, style, REASONS_SHOWN))
  for (const line of countLines(summary.counts, style, NAMES_SHOWN)) print(line)
  if (summary.skipped > 0) print(`  ${figure(summary.skipped)}  skipped${listText(details?.skipped ?? [])}`)
  printWrapped(deadLines(summary, style))
}

/** Each code with what went wrong and where; the URL on a line of its own, to be copied. */
export function deadLines({ dead, deadLetters }: Pick<RunSummary, 'dead' | 'deadLetters'>, style: Style): string[] {
  if (dead === 0) return []
  const codes = listText(deadLetters.map(({ code, count }) => [code, count] as const))
  const lines = [`  ${figure(dead)}  ${style.red(noun(dead, 'dead letter'))}${codes}`]
  for (const { code, examples } of deadLetters)
    for (const { message, url } of examples)
      lines.push(`             ${code}: ${clean(message)}`, `               ${style.dim(clean(url))}`)
  return lines
}

/** Never left out with a cache: whoever forgot about it would wonder why the site does not change. */
export function sourcesText({ cache, network }: NonNullable<RunSummary['responses']>): string {
  return `${plural(cache, 'response')} from the cache, ${count(network)} from the network`
}

/** How the workers of this run shared the pages; null when there was only one. */
export function sharesText(workers: RunSummary['workers']): string | null {
  if (workers.length < 2) return null
  return `by ${plural(workers.length, 'worker')}: ${workers.map(({ pages }) => count(pages)).join(', ')}`
}

/** What fails on a page that was fetched. */
const AFTER_FETCHING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'handler_error',
  'handler_timeout',
  'html_too_complex',
  'poison',
  'too_many_links',
])

type HeadlineFacts = Pick<RunSummary, 'interrupted' | 'state' | 'endedBy' | 'pages' | 'deadLetters'>

/** Why a second run has so few records. They differ from the stored ones: somebody who corrected a selector must not think that nothing changed. */
export function freshLines(fresh: RunSummary['fresh']): string[] {
  const windows = new Map<number, number>()
  for (const { records, windowMs } of fresh) windows.set(windowMs, (windows.get(windowMs) ?? 0) + records)
  return [...windows].map(([windowMs, records]) => {
    const stored = records === 1 ? 'the stored one is' : 'the stored ones are'
    return `  ${figure(records)}  ${noun(records, 'record')} changed but not written: ${stored} less than ${setDuration(windowMs)} old (\`fresh: 0\` always writes)`
  })
}

export function headline({ style }: Pick<Output, 'style'>, summary: HeadlineFacts): string {
  if (summary.interrupted) return style.yellow('Stopped')
  if (summary.state === 'cancelled') return style.yellow('Cancelled')
  if (summary.endedBy !== null)
    return style.yellow(`Stopped by its ${summary.endedBy === 'budget_time' ? 'time' : 'byte'} budget`)
  if (summary.pages === 0) {
    const wasFetched = summary.deadLetters.some(({ code }) => AFTER_FETCHING.has(code))
    return style.red(wasFetched ? 'Finished, but every page failed' : 'Finished without fetching a page')
  }
  return style.green('Finished')
}

function figure(value: number): string {
  return count(value).padStart(9)
}

function kindsText(details: SummaryDetails | null): string {
  const kinds = details?.kinds.filter((kind) => kind.records > 0) ?? []
  return kinds.length === 0 ? '' : `: ${kinds.map((kind) => `${count(kind.records)} ${clean(kind.kind)}`).join(', ')}`
}

function fieldsText(details: SummaryDetails | null): string {
  const fields = details?.rejectedFields ?? []
  return listText(fields.map((row) => [`${row.kind}.${row.field}`, row.count] as const))
}

function listText(rows: readonly (readonly [string, number])[]): string {
  const shown = rows.slice(0, 5).map(([name, times]) => `${clean(name)} × ${count(times)}`)
  if (rows.length > 5) shown.push(`and ${plural(rows.length - 5, 'more', 'more')}`)
  return shown.length === 0 ? '' : `: ${shown.join(', ')}`
}

/** Commands that work as printed, each on a line of its own so that it can be copied. */
export function printNextSteps(
  output: Output,
  title: string,
  steps: readonly (readonly [line: string, does: string])[],
): void {
  output.print()
  output.print(title)
  for (const [line, does] of steps) {
    output.print(`  ${output.style.dim(does)}`)
    output.print(`    ${output.style.cyan(line)}`)
  }
}
