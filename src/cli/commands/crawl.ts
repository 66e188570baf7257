import { type Command, InvalidArgumentError } from 'commander'
import { ShoalError } from '../../errors.js'
import type { RunStart } from '../../run/run-summary.js'
import type { CrawlOptions } from '../../spider/crawl-definition.js'
import type { ExportFormat } from '../../store/export/formats.js'
import { parseUrl } from '../../url/parse-url.js'
import { runWithProgress } from '../crawl-run.js'
import { crawlSource } from '../export/crawl-source.js'
import { formatFor } from '../export/export-file.js'
import { guide } from '../help.js'
import { acts, type CrawlFlags, crawlOptions, type Session, wholeNumber } from '../session.js'
import { plural } from '../terminal/format.js'
import { reportRun } from '../views/run-report.js'

const ANY_LINK = 'a[href]'

interface CrawlCommandFlags extends CrawlFlags {
  readonly follow?: string | true
  readonly field: Readonly<Record<string, string>>
  readonly out?: string
  readonly maxPages?: number
  readonly maxDepth?: number
  readonly delay?: string
  readonly allowPrivate: readonly string[]
}

export function crawlCommand(program: Command): void {
  const command = program
    .command('crawl')
    .description(
      'crawl without a spider file; without --field, stores url, status, title, text and links of every page',
    )
    .usage('[options] <url...>')
    .argument('[url...]', 'start URLs; only their hosts are crawled')
    .option(
      '--follow [selector]',
      `follow links that match this CSS selector (default selector: ${ANY_LINK}, all links)`,
    )
    .option('--field <name=selector>', 'add a field to the record; can be repeated', field, {})
    .option('--out <file>', 'export the records to this file at the end: .jsonl, .csv, .parquet or .sql')
    .option('--max-pages <n>', 'stop after this many pages', wholeNumber)
    .option('--max-depth <n>', 'follow links at most this deep (start URLs are depth 0)', wholeNumber)
    .option('--delay <duration>', 'delay between requests to a host, for example 500ms (default: 1s)')
    .option('--allow-private <host:port>', 'allow this address in a private network; can be repeated', collect, [])
    .action(
      acts(async (session, given: string[], flags: CrawlCommandFlags) => {
        const options = asOptions(given, flags)
        const format = flags.out === undefined ? null : recordFormat(flags.out)
        const finished = await runWithProgress(session, flags, { kind: 'crawl', options })
        await reportRun(session, finished)
        if (flags.out !== undefined && format !== null && finished.start !== null) {
          // A crawl without records must not replace the records of an earlier one.
          if (finished.summary.records === 0) session.output.note(`no records: ${flags.out} was not written`)
          else {
            const rows = await writeRecords(session, finished.start, format, flags.out)
            if (!session.json) session.output.print(`\n${plural(rows, 'record')} written to ${flags.out}`)
          }
        }
        return finished.exitCode
      }),
    )
  crawlOptions(command)
  guide(command, {
    examples: [
      ['crawl https://books.example/ --follow --max-pages 50', 'the first 50 pages of a site'],
      [
        "crawl https://books.example/ --follow 'a.next' --field title=h1 --field price=.price --out books.csv",
        'a table of fields',
      ],
    ],
    exitCodes: ['nothingFetched', 'interrupted', 'terminated'],
  })
}

function recordFormat(out: string): ExportFormat {
  const format = formatFor(out, undefined)
  if (format !== 'warc') return format
  throw new ShoalError('usage', `${out}: WARC archives contain raw pages, not records`, {
    hint: 'Keep raw pages with `savePages: true` in a spider file, then run `shoal export --out <file>`.',
  })
}

/** Only the records of this crawl. */
async function writeRecords(
  session: Session,
  { spider, crawl }: RunStart,
  format: ExportFormat,
  out: string,
): Promise<number> {
  const { exportToFile } = await import('../../store/export/export.js')
  return session.withBackends(async ({ store }) => {
    const source = crawlSource(store.records, crawl)
    return (await exportToFile(source, { spider }, format, out)).rows
  })
}

/** `--follow` right before the first URL takes that URL for its selector. */
function asOptions(given: readonly string[], flags: CrawlCommandFlags): CrawlOptions {
  const swallowed = typeof flags.follow === 'string' && /^https?:\/\//.test(flags.follow) ? flags.follow : null
  const follow = flags.follow === true || swallowed !== null ? ANY_LINK : flags.follow
  const urls = swallowed === null ? given : [swallowed, ...given]
  if (urls.length === 0) throw new ShoalError('usage', "missing required argument 'url'")
  return {
    urls: urls.map(withoutUserInfo),
    ...(follow === undefined ? {} : { follow }),
    ...(Object.keys(flags.field).length === 0 ? {} : { fields: flags.field }),
    ...(flags.maxPages === undefined ? {} : { pages: flags.maxPages }),
    ...(flags.maxDepth === undefined ? {} : { maxDepth: flags.maxDepth }),
    ...(flags.delay === undefined ? {} : { delay: flags.delay }),
    ...(flags.allowPrivate.length === 0 ? {} : { allowPrivate: flags.allowPrivate }),
  }
}

/** A name and password in a URL are never sent; here they would end up in files and process lists. */
function withoutUserInfo(url: string): string {
  if (parseUrl(url) === null) return url
  const parsed = new URL(url)
  if (parsed.username === '' && parsed.password === '') return url
  parsed.username = ''
  parsed.password = ''
  return parsed.href
}

function field(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const [, name, selector] = /^([A-Za-z_][\w-]*)=(.+)$/s.exec(text) ?? []
  if (name === undefined || selector === undefined)
    throw new InvalidArgumentError('Expected name=selector, for example title=h1.')
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`The field ${name} is given twice.`)
  return { ...before, [name]: selector }
}

function collect(text: string, before: readonly string[]): string[] {
  return [...before, text]
}
