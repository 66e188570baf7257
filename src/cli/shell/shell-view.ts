import { mediaTypeOf } from '../../fetch/media-type.js'
import type { PageResult } from '../../fixture/page-result.js'
import type { ShellPage } from '../../run/shell/shell-pages.js'
import type { FieldReport } from '../../workbench/examine-field.js'
import type { FollowReport } from '../../workbench/examine-follow.js'
import type { RuleProblem } from '../../workbench/rule-problem.js'
import { clean } from '../terminal/clean.js'
import { bytes, count, duration, plural } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'

export interface JudgedLink {
  readonly url: string
  readonly route: string | null
  readonly refusal: { readonly code: string; readonly message: string } | null
}

export const HELP = `page                     the page: page.url, page.status, page.headers, page.text, page.json, page.pagination
$('h1').text()           its tree, as in cheerio and jQuery
fields({ title: 'h1', price: { select: '.price', as: 'number' } })
                         what the fields of a record would be, and why one is empty
links('a.next')          absolute URLs of the links, with what the spider's filter says
fetch('/page/2')         another page, relative to this one: page and $ are that page then
records()                with a spider: what its route makes of the page
view()                   saves the page to a file, for a browser or an editor
.editor  .help  Ctrl-D   several lines at once, the prompt's own commands, the end`

/** More than this is counted. */
const LINKS_SHOWN = 50
const VALUE_SHOWN = 40

/** One line, like that of `try`, and what is on the page. */
export function pageText({ page, response, proxy }: ShellPage, hasSpider: boolean, style: Style): string {
  const { status } = page
  const paint = status < 400 ? style.green : style.red
  const type = mediaTypeOf(page) || 'unknown type'
  const facts = [`${bytes(page.body.length)} ${clean(type)}`, ...sourceText(response, proxy)]
  const lines = [`${paint(String(status))}  ${clean(page.url)}  ${style.dim(facts.join(', '))}`]
  if (page.requestedUrl !== page.url) lines.push(style.dim(`     redirected from ${clean(page.requestedUrl)}`))
  if (hasSpider) lines.push(`     route ${style.bold(clean(page.route))}`)
  return lines.join('\n')
}

function sourceText({ cached, rendered, ms }: ShellPage['response'], proxy: string | null): string[] {
  return [
    ...(cached === undefined ? (ms > 0 ? [duration(ms)] : []) : ['from the cache']),
    ...(rendered === undefined ? [] : ['rendered']),
    ...(proxy === null ? [] : [`through ${clean(proxy)}`]),
  ]
}

export function fieldsText(reports: readonly FieldReport[], style: Style): string {
  const names = Math.max(0, ...reports.map(({ name }) => name.length))
  const values = Math.max(0, ...reports.map((report) => valueText(report).length))
  return reports.map((report) => fieldLines(report, names, values, style)).join('\n')
}

function fieldLines(report: FieldReport, names: number, values: number, style: Style): string {
  const { name, selector, matches, problem } = report
  const label = style.bold(clean(name).padEnd(names))
  const found = style.dim(`${clean(selector)}, ${plural(matches, 'match', 'matches')}`)
  const first = `${label}  ${valueText(report).padEnd(values)}  ${found}`
  if (problem === null) return first
  const indent = ' '.repeat(names + 2)
  return [first, `${indent}${style.red(problemText(problem))}`, ...suggestion(problem, indent, style)].join('\n')
}

function valueText({ value }: FieldReport): string {
  return value === undefined ? '—' : shortened(JSON.stringify(value))
}

function problemText({ message }: RuleProblem): string {
  return clean(message)
}

function suggestion({ suggestion: instead }: RuleProblem, indent: string, style: Style): string[] {
  return instead === null ? [] : [`${indent}did you mean ${style.green(clean(instead))}?`]
}

export function linksText(links: readonly JudgedLink[], hasSpider: boolean, style: Style): string {
  const lines = links.slice(0, LINKS_SHOWN).map(({ url, route, refusal }) => {
    if (refusal !== null) return `${clean(url)}  ${style.yellow(`${refusal.code}: ${clean(refusal.message)}`)}`
    return hasSpider ? `${clean(url)}  ${style.dim(`→ ${clean(route ?? '')}`)}` : clean(url)
  })
  const more = links.length - lines.length
  return [...lines, ...(more > 0 ? [style.dim(`and ${count(more)} more`)] : [])].join('\n')
}

export function noLinksText({ problem }: FollowReport, style: Style): string {
  if (problem === null) return style.yellow('no links')
  return [style.red(problemText(problem)), ...suggestion(problem, '', style)].join('\n')
}

export function resultText({ records, rejected, links, refused, logs }: PageResult, style: Style): string {
  return [
    plural(records.length, 'record'),
    ...records.flatMap(({ kind, key, data }) => [`  ${style.bold(clean(kind))} ${clean(key)}`, indented(data)]),
    ...(rejected.length > 0 ? [style.yellow(`${count(rejected.length)} rejected`)] : []),
    ...rejected.flatMap(({ kind, key, issues, data }) => [
      `  ${style.bold(clean(kind))} ${clean(key)}`,
      ...issues.map(({ field, message }) => `    ${style.yellow(clean(field))}: ${clean(message)}`),
      indented(data),
    ]),
    `${plural(links.length, 'link')} accepted, ${count(refused.length)} rejected`,
    ...logs.map((line) => style.dim(`  ${clean(line)}`)),
  ].join('\n')
}

function indented(data: unknown): string {
  const lines = JSON.stringify(data, null, 2).split('\n')
  return lines.map((line) => `    ${clean(line)}`).join('\n')
}

function shortened(text: string): string {
  return clean(text.length > VALUE_SHOWN ? `${text.slice(0, VALUE_SHOWN)}…` : text)
}
