import type { Command } from 'commander'
import { asShoalError, EXIT, type ShoalError } from '../../errors.js'
import type { TriedPage } from '../../run/try-page.js'
import { guide } from '../help.js'
import { acts, type Session } from '../session.js'
import { clean } from '../terminal/clean.js'
import { bytes, count, duration, plural } from '../terminal/format.js'
import { figure, shrinking } from '../terminal/table.js'

/** More links than this are counted, not shown. */
const SHOWN = 20
const HREF_SHOWN = 200

export function tryCommand(program: Command): void {
  const command = program
    .command('try')
    .description('fetch one page and show its route, records and links, without storing anything')
    .argument('<spider>', 'spider file')
    .argument('<url>')
    .action(
      acts(async (session, file: string, url: string) => {
        const [{ loadSpider }, { tryPage }] = await Promise.all([
          import('../../spider/load.js'),
          import('../../run/try-page.js'),
        ])
        const spider = await loadSpider(file)
        const page = await tryPage(spider, url, session.settings.browser).catch((thrown: unknown) => {
          throw failedTry(thrown)
        })
        if (session.json) session.output.json(page)
        else show(session, page)
        return page.status >= 400 ? EXIT.nothingFetched.code : EXIT.ok.code
      }),
    )
  guide(command, {
    examples: [
      ['try books.ts https://books.example/catalogue/tome_1/index.html', 'the records and links of that page'],
    ],
    exitCodes: ['nothingFetched'],
  })
}

/** A page that cannot be fetched gives `try` an exit code of its own; errors that the user can fix keep theirs. */
function failedTry(thrown: unknown): ShoalError {
  const error = asShoalError(thrown)
  if (error.next === 'stop' || error.next === 'backend') return error
  process.exitCode = EXIT.nothingFetched.code
  return error
}

function show({ output }: Session, page: TriedPage): void {
  const { style, print } = output
  const paint = page.status < 400 ? style.green : style.red
  print(
    `${paint(String(page.status))}  ${clean(page.finalUrl)}  ${style.dim(`${bytes(page.bytes)} in ${duration(page.ms)}`)}`,
  )
  if (page.finalUrl !== page.url) print(style.dim(`     redirected from ${clean(page.url)}`))
  print(`     route ${style.bold(clean(page.route))}`)

  print(`\n${plural(page.records.length, 'record')}`)
  for (const record of page.records) {
    print(`  ${style.bold(clean(record.kind))} ${clean(record.key)}`)
    print(indent(JSON.stringify(record.data, null, 2)))
  }
  if (page.rejected.length > 0) {
    print(`\n${style.yellow(`${count(page.rejected.length)} rejected`)}`)
    for (const record of page.rejected) {
      print(`  ${style.bold(clean(record.kind))} ${clean(record.key)}`)
      for (const issue of record.issues) print(`    ${style.yellow(clean(issue.field))}: ${clean(issue.message)}`)
      print(indent(JSON.stringify(record.data, null, 2)))
    }
  }

  print(`\n${plural(page.links.length, 'link')} accepted`)
  if (page.links.length > 0) {
    output.table(
      ['  route', figure('priority'), shrinking('url')],
      page.links.slice(0, SHOWN).map((link) => [`  ${clean(link.route)}`, String(link.priority), clean(link.url)]),
    )
    if (page.links.length > SHOWN) print(style.dim(`  and ${count(page.links.length - SHOWN)} more; all with --json`))
  }
  if (page.refused.length > 0) {
    print(`\n${plural(page.refused.length, 'link')} rejected`)
    output.table(
      ['  reason', shrinking('link')],
      page.refused.slice(0, SHOWN).map((link) => [`  ${link.code}`, clean(shorten(link.href))]),
    )
    if (page.refused.length > SHOWN)
      print(style.dim(`  and ${count(page.refused.length - SHOWN)} more; all with --json`))
  }
}

/** A rejected link may be of any length. */
function shorten(href: string): string {
  return href.length > HREF_SHOWN ? `${href.slice(0, HREF_SHOWN)}…` : href
}

/** Values may contain anything, line breaks included; only the line breaks of the JSON are kept. */
function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${clean(line)}`)
    .join('\n')
}
