import { type Command, InvalidArgumentError } from 'commander'
import { ShoalError } from '../../errors.js'
import type { RunStart } from '../../run/run-summary.js'
import type { CrawlOptions } from '../../spider/crawl-definition.js'
import type { RecordSource } from '../../store/export/export.js'
import type { ExportFormat } from '../../store/export/formats.js'
import { parseUrl } from '../../url/parse-url.js'
import { runWithProgress } from '../crawl-run.js'
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
      'crawl without a spider file; without --field it stores url, status, title, text and links of every page',
    )
    .usage('[options] <url...>')
    .argument('[url...]', 'where to begin; only their hosts are visited')
    .option(
      '--follow [selector]',
      `follow links: all of them, or those a CSS selector finds (default selector: ${ANY_LINK})`,
    )
    .option('--field <name=selector>', 'a field of the record; may be repeated', field, {})
    .option('--out <file>', 'write the records to this file afterwards: .jsonl, .csv, .parquet or .sql')
    .option('--max-pages <n>', 'at most so many pages', wholeNumber)
    .option('--max-depth <n>', 'at most so many clicks from the first page', wholeNumber)
    .option('--delay <duration>', 'between two requests to a host, for example 500ms (default: 1s)')
    .option(
      '--allow-private <host:port>',
      'an address in a private network that may be fetched; may be repeated',
      collect,
      [],
    )
    .action(
      acts(async (session, given: string[], flags: CrawlCommandFlags) => {
        const options = asOptions(given, flags)
        const format = flags.out === undefined ? null : recordFormat(flags.out)
        const finished = await runWithProgress(session, flags, { kind: 'crawl', options })
        await reportRun(session, finished)
        if (flags.out !== undefined && format !== null && finished.start !== null) {
          const rows = await writeRecords(session, finished.start, format, flags.out)
          if (!session.json) session.output.print(`\n${plural(rows, 'record')} written to ${flags.out}`)
        }
        return finished.exitCode
      }),
    )
  crawlOptions(command)
  guide(command, {
    examples: [
      ['crawl https://books.example/ --follow --max-pages 50', 'the first fifty pages of a site'],
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
  throw new ShoalError('usage', `${out}: an archive is made of raw pages`, {
    hint: 'Keep them with `savePages: true` in a spider file, then `shoal export --out <file>`.',
  })
}

/** What this crawl stored or confirmed; the site may have older records of other pages and fields. */
async function writeRecords(
  session: Session,
  { spider, crawl }: RunStart,
  format: ExportFormat,
  out: string,
): Promise<number> {
  const { exportToFile } = await import('../../store/export/export.js')
  return session.withBackends(async ({ store }) => {
    const source: RecordSource = {
      async *records(query) {
        for await (const record of store.records(query)) if (record.crawl === crawl) yield record
      },
    }
    return (await exportToFile(source, { spider }, format, out)).rows
  })
}

/** `--follow` may stand right before the first URL and takes it for a selector. */
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
    throw new InvalidArgumentError('Write name=selector, for example title=h1.')
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`The field ${name} is given twice.`)
  return { ...before, [name]: selector }
}

function collect(text: string, before: readonly string[]): string[] {
  return [...before, text]
}
