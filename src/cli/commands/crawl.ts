import { stat } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { ShoalError } from '../../errors.js'
import type { RunStart } from '../../run/run-summary.js'
import { CRAWL_FORMATS, type CrawlFormat, type CrawlOptions } from '../../spider/crawl-definition.js'
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
  readonly each?: string
  readonly key?: string
  readonly jsonPath?: string
  readonly format?: CrawlFormat
  readonly sitemap?: true
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
      'crawl without a spider file; without --field, stores url, status, title, description, language, text and links of every page',
    )
    .usage('[options] <url...>')
    .argument('[url...]', 'start URLs; only their hosts are crawled')
    .option(
      '--follow [selector]',
      `follow links that match this CSS selector (default selector: ${ANY_LINK}, all links)`,
    )
    .option('--sitemap', 'also start from the sitemaps of the hosts, as robots.txt names them, or /sitemap.xml')
    .option('--field <name=selector>', 'add a field to the record; can be repeated', field, {})
    .option('--each <selector>', 'one record per matching element; the selectors of the fields are relative to it')
    .option(
      '--json-path <path>',
      'for JSON: one record per value of this path, for example items[*]; fields are paths into it, all of it without --field',
    )
    .option(
      '--key <field>',
      'the field that identifies a record (default: the URL, with --each and --json-path its position too)',
    )
    .addOption(
      new Option(
        '--format <format>',
        'contents to store of each page without --field: text, or the main content as Markdown',
      ).choices(CRAWL_FORMATS),
    )
    .option(
      '--out <file>',
      'export the records to this file at the end: .jsonl, .csv, .parquet or .sql; with --format markdown also a folder/, one .md file per page',
    )
    .option('--max-pages <n>', 'stop after this many pages', wholeNumber)
    .option('--max-depth <n>', 'follow links at most this deep (start URLs are depth 0)', wholeNumber)
    .option('--delay <duration>', 'delay between requests to a host, for example 500ms (default: 1s)')
    .option('--allow-private <host:port>', 'allow this address in a private network; can be repeated', collect, [])
    .action(
      acts(async (session, given: string[], flags: CrawlCommandFlags) => {
        const options = asOptions(given, flags)
        const format = flags.out === undefined ? null : await outFormat(flags.out, flags)
        const finished = await runWithProgress(session, flags, { kind: 'crawl', options })
        await reportRun(session, finished, { exported: flags.out !== undefined })
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
      ['crawl https://docs.example/ --sitemap --format markdown --out pages/', 'a folder of Markdown files'],
      [
        "crawl https://shop.example/list --follow 'a.next' --each .product --field name=h2 --field price=.price --out shop.csv",
        'one row per product of a list',
      ],
      ["crawl https://api.example/items --json-path 'items[*]' --key id --out items.jsonl", 'the items of a JSON API'],
      [
        "crawl https://books.example/ --follow 'a.next' --field title=h1 --field price=.price --out books.csv",
        'a table of fields',
      ],
    ],
    exitCodes: ['nothingFetched', 'interrupted', 'terminated'],
  })
}

/** Whether `out` is a folder for Markdown, or the format of the file. */
async function outFormat(out: string, { format }: CrawlCommandFlags): Promise<ExportFormat | 'folder'> {
  const isFolder = /[/\\]$/.test(out) || (await stat(out).catch(() => null))?.isDirectory() === true
  if (!isFolder) return recordFormat(out)
  if (format === 'markdown') return 'folder'
  throw new ShoalError('usage', `${out}: is a folder; one file per page needs --format markdown`, {
    hint: 'Pass --format markdown, or name a file: --out pages.jsonl.',
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
  format: ExportFormat | 'folder',
  out: string,
): Promise<number> {
  const { exportToFile } = await import('../../store/export/export.js')
  return session.withBackends(async ({ store }) => {
    const source = crawlSource(store.records, crawl)
    if (format === 'folder') {
      const { writeMarkdownFolder } = await import('../export/markdown-folder.js')
      return writeMarkdownFolder(source.scan({ spider }), out)
    }
    return (await exportToFile(source, { spider }, format, out)).rows
  })
}

/** `--follow` right before the first URL takes that URL for its selector. */
function asOptions(given: readonly string[], flags: CrawlCommandFlags): CrawlOptions {
  const swallowed = typeof flags.follow === 'string' && /^https?:\/\//.test(flags.follow) ? flags.follow : null
  const follow = flags.follow === true || swallowed !== null ? ANY_LINK : flags.follow
  const urls = swallowed === null ? given : [swallowed, ...given]
  if (urls.length === 0) throw new ShoalError('usage', "missing required argument 'url'")
  checkTogether(flags)
  return {
    urls: urls.map(withoutUserInfo),
    ...(follow === undefined ? {} : { follow }),
    ...recordOptions(flags),
    ...(flags.sitemap === undefined ? {} : { sitemap: true }),
    ...(flags.maxPages === undefined ? {} : { pages: flags.maxPages }),
    ...(flags.maxDepth === undefined ? {} : { maxDepth: flags.maxDepth }),
    ...(flags.delay === undefined ? {} : { delay: flags.delay }),
    ...(flags.allowPrivate.length === 0 ? {} : { allowPrivate: flags.allowPrivate }),
  }
}

function recordOptions({ field, each, jsonPath, key, format }: CrawlCommandFlags): Partial<CrawlOptions> {
  const paths = Object.entries(field).map(([name, path]) => [name, { path }] as const)
  const fields = jsonPath === undefined ? field : Object.fromEntries(paths)
  const rows = jsonPath === undefined ? each : jsonPath.startsWith('$') ? jsonPath : `$.${jsonPath}`
  return {
    ...(paths.length === 0 ? {} : { fields }),
    ...(rows === undefined ? {} : { each: rows }),
    ...(key === undefined ? {} : { key }),
    ...(format === undefined ? {} : { format }),
  }
}

/** Options that contradict each other, or have no effect without another. */
function checkTogether({ field, each, jsonPath, key, format }: CrawlCommandFlags): void {
  const hasFields = Object.keys(field).length > 0
  if (each !== undefined && jsonPath !== undefined)
    throw wrong('--each is for HTML and --json-path for JSON', 'Pass one of them.')
  if (each !== undefined && !hasFields) throw wrong('--each needs fields', 'Add one: --field title=h2.')
  if (each?.startsWith('$'))
    throw wrong(`--each takes a CSS selector, not the path ${each}`, 'For JSON, pass --json-path.')
  if (format !== undefined && (hasFields || each !== undefined || jsonPath !== undefined))
    throw wrong(
      '--format stores whole pages, so it cannot be combined with fields',
      'Drop --format, or --field, --each and --json-path.',
    )
  if (key !== undefined && !hasFields && jsonPath === undefined)
    throw wrong('--key names a field, and there are none', `Add it: --field ${key}=<selector>.`)
  if (key !== undefined && hasFields && !Object.hasOwn(field, key))
    throw wrong(`--key: there is no field ${key}`, `Known: ${Object.keys(field).join(', ')}.`)
}

function wrong(message: string, hint: string): ShoalError {
  return new ShoalError('usage', message, { hint })
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
