import type { PageFacts, Timings, TriedPage, TriedRejection } from '../../run/try/tried-page.js'
import type { Json } from '../../url/link.js'
import type { EachReport } from '../../workbench/examine-each.js'
import type { FieldReport } from '../../workbench/examine-field.js'
import type { FollowReport } from '../../workbench/examine-follow.js'
import type { RuleProblem } from '../../workbench/rule-problem.js'
import type { Output } from '../output.js'
import { clean } from '../terminal/clean.js'
import { bytes, count, duration, plural } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'
import { figure, shrinking } from '../terminal/table.js'
import { cutEnd, padEnd, padStart, widthOf, wrap } from '../terminal/width.js'

/** More links, lines or rejected records than this are counted, not shown. */
const SHOWN = 20
const HREF_SHOWN = 200
/** A value is shown on one line, even into a pipe. */
const VALUE_SHOWN = 200
/** Wider names and selectors do not push the values of all others to the right. */
const WIDEST_NAME = 24
const WIDEST_SELECTOR = 60
const LEAST_SELECTOR = 24
const LEAST_VALUE = 20

/** What `shoal try` shows of a page. */
export function showTriedPage(output: Output, page: TriedPage, most = SHOWN): void {
  const { style, print } = output
  showFacts(output, page)
  showRules(output, page)
  if (page.failure === null) {
    print(`\n${plural(page.records.length, 'record')}`)
    for (const record of page.records.slice(0, most)) {
      print(`  ${style.bold(clean(record.kind))} ${clean(record.key)}`)
      print(indented(JSON.stringify(record.data, null, 2)))
    }
    more(output, page.records.length, most)
  }
  showRejected(output, page, most)
  showLinks(output, page, most)
  showLines(output, page)
  if (page.saved.length > 0) print(`\nsaved ${page.saved.map(clean).join('\nsaved ')}`)
}

function showFacts({ style, print, width }: Output, page: TriedPage): void {
  const paint = page.status < 400 ? style.green : style.red
  print(`${paint(String(page.status))}  ${clean(page.finalUrl)}`)
  const aside = (parts: readonly string[]) => {
    for (const line of hanging(parts.filter((part) => part !== '').join(' · '), 5, width)) print(line)
  }
  for (const { url, status } of page.redirects) print(style.dim(`     ${status} from ${clean(url)}`))
  aside([`${bytes(page.size)} of ${page.contentType || 'unknown type'}`, sourceText(page), renderedText(page)])
  const why = page.pattern === null ? 'given with --route' : `matches ${clean(page.pattern)}`
  aside([`route ${style.bold(clean(page.route))} (${why})`])
  const timings = timingTexts(page.timings)
  if (timings.length > 0) print(style.dim(`     ${timings.join(' · ')}`))
}

function sourceText({ source }: PageFacts): string {
  switch (source.kind) {
    case 'network':
      return source.proxy === null ? 'from the network' : `from the network through ${clean(source.proxy)}`
    case 'cache':
      return `from the cache, ${duration(source.ageMs)} old`
    case 'file':
      return `from ${clean(source.file)}`
  }
}

function renderedText({ rendered }: PageFacts): string {
  return rendered === null ? 'not rendered' : `rendered (${rendered})`
}

const TIMING_NAMES: Readonly<Record<keyof Timings, string>> = {
  robots: 'robots.txt',
  proxy: 'proxy',
  response: 'response',
  render: 'rendering',
  handler: 'rules and handler',
}

function timingTexts(timings: Timings): string[] {
  return (Object.keys(TIMING_NAMES) as (keyof Timings)[]).flatMap((name) => {
    const ms = timings[name]
    return ms === undefined ? [] : [`${TIMING_NAMES[name]} ${duration(ms)}`]
  })
}

function showRules(output: Output, page: TriedPage): void {
  const { print, style } = output
  if (page.size === 0) print(style.yellow('\nThe page is empty.'))
  const { each, fields, follow } = page.rules
  if (fields.length > 0 || each !== null) {
    print(`\nfields  ${style.dim('selector, number of matches, first value')}`)
    if (each !== null) rows(output, [eachRow(each)])
    rows(
      output,
      fields.map((field) => fieldRow(field, page, style)),
    )
  }
  if (follow.length > 0) {
    print(`\nfollow  ${style.dim('selector, number of matches, links')}`)
    rows(
      output,
      follow.map((rule) => followRow(rule)),
    )
  }
  if (fields.length + follow.length === 0 && each === null)
    print(style.dim(`\nThis route has no rules${page.handler ? ', only a handler' : ''}: there is nothing to examine.`))
  const missed = [...fields, ...follow, ...(each === null ? [] : [each])].some(
    ({ problem }) => problem?.code === 'no_match',
  )
  if (missed && page.needsBrowser !== null)
    for (const line of hanging(
      `${style.yellow('!')} Scripts build this page (${page.needsBrowser}): try again with --rendered.`,
      2,
      output.width,
    ))
      print(line)
}

interface Row {
  readonly name: string
  readonly selector: string
  readonly matches: number
  readonly found: string
  readonly isFine: boolean
  readonly remarks: readonly string[]
}

/** A selector that is too long for its column has a line of its own, and is never cut: it is what the reader has to change. */
function rows({ print, style, width }: Output, all: readonly Row[]): void {
  const widest = (texts: readonly string[], most: number) =>
    Math.max(0, ...texts.map((text) => widthOf(text)).filter((one) => one <= most))
  const most = Math.min(WIDEST_SELECTOR, Math.max(LEAST_SELECTOR, Math.floor(width / 2)))
  const nameWidth = widest(
    all.map(({ name }) => name),
    WIDEST_NAME,
  )
  const selectorWidth = widest(
    all.filter(({ name }) => widthOf(name) <= nameWidth).map(({ selector }) => selector),
    most,
  )
  const countWidth = Math.max(...all.map(({ matches }) => count(matches).length))
  for (const { name, selector, matches, found, isFine, remarks } of all) {
    const mark = isFine ? style.green('✓') : style.red('✗')
    const label = `${mark} ${nameWidth === 0 ? '' : `${padEnd(name, nameWidth)}  `}`
    const isLong = widthOf(name) > nameWidth || widthOf(selector) > selectorWidth
    const result = `${padStart(count(matches), countWidth)}  `
    if (isLong)
      for (const line of hanging(`${label.trimEnd()}${name === '' ? '' : ' '} ${selector}`, 2, width)) print(line)
    const start = isLong ? `      ${result}` : `  ${label}${padEnd(selector, selectorWidth)}  ${result}`
    print(`${start}${cutEnd(found, Math.max(LEAST_VALUE, width - widthOf(start)))}`.trimEnd())
    for (const remark of remarks) for (const line of hanging(remark, 6, width)) print(line)
  }
}

/** Wrapped, and indented as a whole; the following lines a little more. */
function hanging(text: string, indent: number, width: number): string[] {
  return wrap(text, width - indent).map((line) => ' '.repeat(indent) + line)
}

function eachRow({ selector, matches, problem }: EachReport): Row {
  const remarks = problemTexts(problem)
  return {
    name: 'each',
    selector: clean(selector),
    matches,
    found: plural(matches, 'record'),
    isFine: matches > 0,
    remarks,
  }
}

function fieldRow(field: FieldReport, page: TriedPage, style: Style): Row {
  const { name, selector, as, matches, value, problem } = field
  const issues = page.rejected.flatMap((record) => record.issues).filter((issue) => isAbout(name, issue.field))
  const reasons = [...new Set(issues.map((issue) => `rejected: ${issueText(issue)}`))].slice(0, 3)
  return {
    name: clean(name),
    selector: clean(as === null ? selector : `${selector} (${as})`),
    matches,
    found: value === undefined ? (matches === 0 ? style.red('no match') : style.red('no value')) : shortValue(value),
    isFine: problem === null && value !== undefined && issues.length === 0,
    remarks: [...problemTexts(problem), ...reasons.map((reason) => style.yellow(clean(reason)))],
  }
}

/** A field and what is inside it: `offers` and `offers[0].price`. */
function isAbout(name: string, field: string): boolean {
  return field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`)
}

function followRow({ selector, route, matches, accepted, rejected, problem }: FollowReport): Row {
  const reasons = Object.entries(rejected).map(([reason, links]) => `${links} ${reason}`)
  const dropped = reasons.length === 0 ? '' : `, rejected: ${reasons.join(', ')}`
  return {
    name: '',
    selector: clean(route === null ? selector : `${selector} → ${route}`),
    matches,
    found: matches === 0 ? 'no match' : `${count(accepted)} accepted${dropped}`,
    isFine: problem === null && accepted > 0,
    remarks: problemTexts(problem),
  }
}

function problemTexts(problem: RuleProblem | null): string[] {
  if (problem === null) return []
  const { message, suggestion, suggestionMatches: matches } = problem
  const guess = `did you mean ${`\`${suggestion}\``}? ${count(matches)} ${matches === 1 ? 'match' : 'matches'}`
  // "No match" is already on the line.
  const adds = !message.startsWith('nothing matches `')
  return [...(adds || suggestion !== null ? [clean(message)] : []), ...(suggestion === null ? [] : [clean(guess)])]
}

function issueText({ message, value }: TriedRejection['issues'][number]): string {
  return value === undefined || value === null ? message : `${message} (it is ${shortValue(value)})`
}

/** Issues of a field are next to its rule. */
function showRejected(output: Output, { rejected, rules }: TriedPage, most: number): void {
  const { print, style } = output
  if (rejected.length === 0) return
  print(`\n${style.yellow(`${plural(rejected.length, 'record')} rejected`)}`)
  for (const record of rejected.slice(0, most)) {
    print(`  ${style.bold(clean(record.kind))} ${clean(record.key)}`)
    for (const issue of record.issues.filter(({ field }) => !rules.fields.some(({ name }) => isAbout(name, field))))
      for (const line of hanging(`${style.yellow(clean(issue.field))}: ${clean(issueText(issue))}`, 4, output.width))
        print(line)
    print(indented(JSON.stringify(record.data, null, 2)))
  }
  more(output, rejected.length, most)
}

function showLinks(output: Output, { links, refused, failure }: TriedPage, most: number): void {
  const { print } = output
  if (failure === null) print(`\n${plural(links.length, 'link')} accepted`)
  if (links.length > 0) {
    output.table(
      ['  route', figure('priority'), shrinking('url')],
      links.slice(0, most).map((link) => [`  ${clean(link.route)}`, String(link.priority), clean(link.url)]),
    )
    more(output, links.length, most)
  }
  if (refused.length === 0) return
  print(`\n${plural(refused.length, 'link')} rejected`)
  output.table(
    ['  reason', shrinking('link')],
    refused.slice(0, most).map((link) => [`  ${link.code}`, clean(shorten(link.href))]),
  )
  more(output, refused.length, most)
}

function showLines(output: Output, { logs, counts }: TriedPage): void {
  const { print } = output
  if (logs.length > 0) {
    print(`\n${plural(logs.length, 'line')} logged`)
    for (const line of logs.slice(0, SHOWN)) for (const part of line.split('\n')) print(`  ${clean(part)}`)
    more(output, logs.length, SHOWN)
  }
  if (counts.length > 0) {
    print('\ncounted')
    for (const one of counts) print(`  ${clean(one.name)}  ${count(one.count)}`)
  }
}

function more({ print, style }: Output, all: number, shown: number): void {
  if (all > shown) print(style.dim(`  and ${count(all - shown)} more; all with --json`))
}

function shortValue(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return clean(text.length > VALUE_SHOWN ? `${text.slice(0, VALUE_SHOWN)}…` : text)
}

/** A rejected link may be of any length. */
function shorten(href: string): string {
  return href.length > HREF_SHOWN ? `${href.slice(0, HREF_SHOWN)}…` : href
}

/** Values may contain anything, line breaks included; only the line breaks of the JSON are kept. */
function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${clean(line)}`)
    .join('\n')
}
