import { relative } from 'node:path'
import type { Difference } from '../../fixture/differences.js'
import { type CheckedFixture, type CheckReport, isFailed } from '../../run/check/check-report.js'
import type { Json } from '../../url/link.js'
import type { Output } from '../output.js'
import { clean } from '../terminal/clean.js'
import { count, plural } from '../terminal/format.js'
import { wrap } from '../terminal/width.js'

/** More differences of one page than this are counted, not shown. */
const SHOWN = 10
const VALUE_CHARS = 60
const INDENT = ' '.repeat(11)

export function showCheck(output: Output, { file, spider, error, fixtures }: CheckReport): void {
  const { print, style, width } = output
  if (spider === null || error !== null) {
    for (const line of wrap(`${style.red('error')}  ${clean(error?.message ?? file)}`, width)) print(line)
    if (error !== null) for (const line of wrap(`       ${style.dim(error.hint)}`, width)) print(line)
  }
  if (spider !== null) {
    const parts = `${plural(spider.routes, 'route')}, ${plural(spider.kinds, 'record kind')}`
    print(`${style.green('valid')}  ${clean(file)}  spider ${style.bold(clean(spider.name))}, ${parts}`)
    for (const warning of spider.warnings) print(`  ${style.yellow('warning')}  ${clean(warning)}`)
    for (const page of spider.skipped)
      print(`  ${style.dim(`skipped  ${clean(fromHere(page))}: nothing says which URL it came from`)}`)
  }
  for (const fixture of fixtures) showFixture(output, fixture)
}

export function showCheckSummary({ print, style }: Output, reports: readonly CheckReport[]): void {
  const fixtures = reports.flatMap((report) => report.fixtures)
  const invalid = reports.filter(({ error }) => error !== null).length
  const counted = (state: CheckedFixture['state'], word: string) => {
    const number = fixtures.filter((one) => one.state === state).length
    return number === 0 ? [] : [`${count(number)} ${word}`]
  }
  const states = [
    ...counted('ok', 'ok'),
    ...counted('updated', 'updated'),
    ...counted('new', 'without an expectation'),
    ...counted('differs', 'changed'),
    ...counted('error', 'failed'),
  ]
  print()
  if (invalid > 0) print(style.red(`${plural(invalid, 'spider')} not valid`))
  if (fixtures.length > 0) {
    const paint = fixtures.some(isFailed) ? style.red : style.green
    print(paint(`${plural(fixtures.length, 'saved page')}: ${states.join(', ')}`))
  } else if (invalid === 0) {
    print('No saved pages yet. Save one with what the spider makes of it:')
    print('  shoal try <spider> <url> --save fixtures/<name>.html')
  }
  if (fixtures.some(({ state }) => state === 'differs' || state === 'new'))
    print(style.dim('If the new result is right, accept it: add --update.'))
}

function showFixture(output: Output, fixture: CheckedFixture): void {
  const { print, style, width } = output
  const detail = (text: string) => {
    for (const line of wrap(INDENT + text, width)) print(line)
  }
  const { file, state, differences, error } = fixture
  const paint = isFailed(fixture) ? style.red : state === 'ok' ? style.green : style.yellow
  const made = error === null ? `  ${style.dim(summaryOf(fixture))}` : ''
  print(`  ${paint(WORDS[state].padEnd(7))}  ${clean(fromHere(file))}${made}`)
  if (error !== null) {
    detail(clean(error.message))
    // What the handler says about itself is all there is; the hint of the code is about crawls.
    if (error.code !== 'handler_error') detail(style.dim(error.hint))
  }
  for (const difference of differences.slice(0, SHOWN)) detail(differenceText(difference))
  if (differences.length > SHOWN) detail(style.dim(`and ${count(differences.length - SHOWN)} more; all with --json`))
}

const WORDS: Readonly<Record<CheckedFixture['state'], string>> = {
  ok: 'ok',
  new: 'new',
  differs: 'changed',
  updated: 'updated',
  error: 'failed',
}

function summaryOf({ route, records, rejected, links }: CheckedFixture): string {
  const parts = [
    plural(records, 'record'),
    ...(rejected > 0 ? [`${count(rejected)} rejected`] : []),
    plural(links, 'link'),
  ]
  return `route ${clean(route ?? '')}: ${parts.join(', ')}`
}

/** `book a-12  price: 51.77 → null`. */
function differenceText({ part, name, field, expected, now }: Difference): string {
  const what = part === 'link' ? `link ${clean(name)}` : clean(name)
  if (field !== null) return `${what}  ${clean(field)}: ${valueText(expected)} → ${valueText(now)}`
  if (part !== 'rejected') return `${what}  ${now === undefined ? 'is missing now' : 'is new'}`
  return now === undefined ? `${what}  is no longer rejected` : `${what}  is rejected now: ${clean(String(now))}`
}

function valueText(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
  return clean(text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text)
}

function fromHere(file: string): string {
  return relative(process.cwd(), file)
}
