import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import type { StoredRecord } from '../../store/record-store.js'
import { fingerprint } from '../../url/fingerprint.js'
import type { Json } from '../../url/link.js'
import { parseUrl } from '../../url/parse-url.js'
import { guide } from '../help.js'
import { refuseUnknown } from '../known-names.js'
import { type RecordFlags, recordFilters, recordQuery } from '../record-filters.js'
import { acts, type Session, wholeNumber } from '../session.js'
import { clean } from '../terminal/clean.js'
import { ago, count, moment } from '../terminal/format.js'
import { shrinking } from '../terminal/table.js'
import { cutEnd } from '../terminal/width.js'
import { rawPagePath } from '../views/link-view.js'
import { recordsHistoryCommand } from './records-history.js'
import { recordsMergedCommand } from './records-merged.js'
import { recordsStatsCommand } from './records-stats.js'

/** Widest cell of the list, in columns. */
const VALUE_WIDTH = 60
/** Fetches of a page by one crawl, retries included, that are searched for its raw page. */
const FETCHES_READ = 100

export function recordsCommand(program: Command): void {
  const records = program.command('records').description('list and inspect stored records')
  guide(records, { examples: [['records list', 'the first records']] })
  listCommand(records)
  getCommand(records)
  rejectedCommand(records)
  recordsStatsCommand(records)
  recordsHistoryCommand(records)
  recordsMergedCommand(records)
}

function listCommand(records: Command): void {
  const list = recordFilters(records.command('list'))
    .description('list records')
    .option('--limit <n>', 'show at most this many', wholeNumber, 20)
    .action(
      acts(async (session, flags: RecordFlags & { limit: number }) => {
        await session.withResults(async ({ store }) => {
          const { output, clock } = session
          await refuseUnknown(store, flags)
          const found: StoredRecord[] = []
          for await (const record of store.records.scan({ ...recordQuery(flags, clock.now()), limit: flags.limit })) {
            if (session.json) output.json(record)
            else found.push(record)
          }
          if (session.json) return
          if (found.length === 0) return output.note('no matching records')
          output.table(
            ['kind', 'key', shrinking('data'), 'updated'],
            found.map((record) => [
              clean(record.kind),
              cutEnd(clean(record.key), VALUE_WIDTH),
              clean(JSON.stringify(record.data)),
              ago(record.updatedAt, clock.now()),
            ]),
          )
          if (found.length === flags.limit)
            output.note(`the first ${count(flags.limit)}; more with --limit, all with \`shoal export\``)
        })
      }),
    )
  guide(list, {
    examples: [
      ['records list --kind book --limit 5', 'the first five books'],
      ['records list --since 1h --json', 'records of the last hour, one per line'],
    ],
    exitCodes: ['notFound'],
  })
}

function getCommand(records: Command): void {
  const get = records
    .command('get')
    .description('show the records of one page or one key in full')
    .option('--url <url>', 'page the records came from')
    .option('--key <key>', 'record key')
    .option('--kind <kind>', 'only records of this kind')
    .action(
      acts(async (session, flags: { url?: string; key?: string; kind?: string }) => {
        const { url, key, kind } = flags
        if (url === undefined && key === undefined)
          throw new ShoalError('usage', 'no record chosen: pass --url or --key')
        await session.withResults(async ({ store, pages }) => {
          const query = {
            ...(url === undefined ? {} : { url: asStored(url) }),
            ...(key === undefined ? {} : { key }),
            ...(kind === undefined ? {} : { kind }),
          }
          let found = 0
          for await (const record of store.records.scan(query)) {
            found += 1
            const page = { fp: fingerprint(record.url), crawl: record.crawl, limit: FETCHES_READ }
            const rawPage = await rawPagePath(pages, await store.fetches.of(page))
            if (session.json) session.output.json({ ...record, rawPage })
            else showRecord(session, record, rawPage)
          }
          if (found === 0) {
            throw new ShoalError(
              'not_found',
              `there is no record with ${url === undefined ? `the key ${key}` : `the URL ${url}`}`,
              {
                hint:
                  url === undefined
                    ? 'List records: `shoal records list`.'
                    : 'See what happened to it: `shoal explain <url>`.',
              },
            )
          }
        })
      }),
    )
  guide(get, {
    examples: [
      ['records get --url https://books.example/catalogue/tome_1/index.html', 'the records of that page'],
      ['records get --key B-0042 --kind book --json', 'one book, as JSON'],
    ],
    exitCodes: ['notFound'],
  })
}

/** Records have the URL of the page as the parser writes it. */
function asStored(url: string): string {
  return parseUrl(url)?.href ?? url
}

function showRecord({ output }: Session, record: StoredRecord, rawPage: string | null): void {
  const { style, print } = output
  print(`${style.bold(clean(record.kind))} ${clean(record.key)}`)
  print(style.dim(`  ${clean(record.url)}, spider ${clean(record.spider)}, crawl ${record.crawl}`))
  print(
    style.dim(
      `  first seen ${moment(record.firstSeenAt)}, changed ${moment(record.updatedAt)}, confirmed ${moment(record.scrapedAt)}`,
    ),
  )
  if (rawPage !== null) print(style.dim(`  raw page ${clean(rawPage)}`))
  for (const [name, value] of fieldsOf(record.data))
    print(`  ${clean(name)}: ${clean(typeof value === 'string' ? value : JSON.stringify(value))}`)
}

function fieldsOf(data: Json): [string, Json][] {
  return data !== null && typeof data === 'object' && !Array.isArray(data) ? Object.entries(data) : [['data', data]]
}

function rejectedCommand(records: Command): void {
  const rejected = records
    .command('rejected')
    .description('list records that do not match their schema')
    .option('--spider <name>', 'only records of this spider')
    .option('--kind <kind>', 'only records of this kind')
    .option('--limit <n>', 'show at most this many', wholeNumber, 20)
    .action(
      acts(async (session, flags: { spider?: string; kind?: string; limit: number }) => {
        await session.withResults(async ({ store }) => {
          const { output } = session
          await refuseUnknown(store, flags)
          const rows: string[][] = []
          for await (const record of store.records.rejected(flags)) {
            if (session.json) output.json(record)
            const issue = record.issues[0]
            rows.push([
              clean(record.kind),
              clean(issue?.field ?? ''),
              clean(issue?.message ?? record.reason),
              clean(record.url),
            ])
          }
          if (session.json) return
          if (rows.length === 0) return output.note('no rejected records')
          output.table(['kind', 'field', 'what is wrong', shrinking('url')], rows)
          if (rows.length === flags.limit) output.note(`the first ${count(flags.limit)}; more with --limit`)
        })
      }),
    )
  guide(rejected, {
    examples: [['records rejected --kind book --json', 'with their raw data, one per line']],
    exitCodes: ['notFound'],
  })
}
