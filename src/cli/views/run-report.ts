import { relative } from 'node:path'
import type { CrawlArgs } from '../../frontier/frontier.js'
import { argumentsText } from '../../spider/arguments.js'
import type { FinishedRun } from '../crawl-run.js'
import { programName, type Session, shellWord } from '../session.js'
import { printNextSteps, printSummary, type SummaryDetails, summaryDetails } from './summary-view.js'

/** The end of a run: one JSON line, or a summary with the next steps. */
export async function reportRun(
  session: Session,
  { start, source, summary }: FinishedRun,
  { exported = false }: { readonly exported?: boolean } = {},
): Promise<void> {
  const { output, sameDatabase } = session
  if (session.json) return output.json(summaryJson(summary))
  const details = await detailsOf(session, summary.crawl, start?.spider ?? null)
  printSummary(output, summary, details)
  const shoal = programName(process.env)
  const steps: [string, string][] = []
  if (summary.interrupted) steps.push([`${shoal} ${sameCommand(process.argv.slice(2))}`, 'resume'])
  const [largest] = [...(details?.kinds ?? [])]
    .filter(({ records }) => records > 0)
    .sort((a, b) => b.records - a.records)
  if (largest !== undefined && !exported)
    steps.push([
      `${shoal} ${exportOf(largest.kind)} --crawl ${shellWord(summary.crawl)}${sameDatabase}`,
      'export them as a table',
    ])
  const refused =
    source.kind === 'crawl' ? summary.deadLetters.find(({ code }) => code === 'private_address') : undefined
  if (refused !== undefined)
    steps.push([
      `${shoal} ${sameCommand(process.argv.slice(2))} --allow-private ${shellWord(hostAndPort(refused.sample))}`,
      'if you mean this private address, allow it',
    ])
  if (details !== null && summary.dead > 0)
    steps.push([`${shoal} dead list --crawl ${summary.crawl}${sameDatabase}`, 'see what failed, and why'])
  if (details !== null && summary.rejected > 0)
    steps.push([`${shoal} records rejected${sameDatabase}`, 'list records that do not match their schema'])
  const unmatched = summary.neverMatched.find(({ example }) => example !== '')
  if (source.kind === 'file' && unmatched !== undefined)
    steps.push([
      `${shoal} try ${shellWord(relative('.', source.path))} ${shellWord(unmatched.example)}${sameArgs(source.args)}${sameDatabase}`,
      'see what each selector finds on a page',
    ])
  if (details !== null && summary.drift.length > 0)
    steps.push([
      `${shoal} records stats ${shellWord(start?.spider ?? '')}${sameDatabase}`,
      'see how often fields are filled',
    ])
  if (steps.length > 0) printNextSteps(output, 'Next:', steps)
}

/** One kind: in a table of several, every row would have the empty columns of the others. */
function exportOf(kind: string): string {
  const file = kind.replace(/[^\w.-]+/g, '-').replace(/^[-.]+/, '')
  return `export --kind ${shellWord(kind)} --out ${file === '' ? 'records' : file}.csv`
}

/** Without them, a spider that requires an argument would be refused. */
function sameArgs(args: CrawlArgs = {}): string {
  return Object.entries(args)
    .map(([name, value]) => ` -a ${shellWord(argumentsText({ [name]: value }))}`)
    .join('')
}

/** As `--allow-private` takes it. */
function hostAndPort(url: string): string {
  const { hostname, port, protocol } = new URL(url)
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`
}

/** The command line again, to resume what it began. */
export function sameCommand(args: readonly string[]): string {
  return args
    .filter((arg) => arg !== '--fresh')
    .map(shellWord)
    .join(' ')
}

/** The keys up to `seconds` are stable; others may follow. */
export function summaryJson(summary: FinishedRun['summary']): Record<string, unknown> {
  const { crawl, state, pages, records, failed, dead, retried, seconds, ...more } = summary
  return { crawl, state, pages, records, failed, dead, retried, seconds, ...more }
}

/** Null for backends that lived in the memory of the run. */
export async function detailsOf(
  session: Session,
  crawl: string,
  spider: string | null,
): Promise<SummaryDetails | null> {
  const { queue, store } = session.settings
  if (spider === null || queue.startsWith('memory:') || store.startsWith('memory:')) return null
  return session.withBackends((backends) => summaryDetails(backends.frontier, backends.store.records, crawl, spider))
}
