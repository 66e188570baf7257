import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import { nameDistance } from '../../nearest.js'
import type { RecordQuery, Records, StoredRecord } from '../../store/record-store.js'
import { fingerprint } from '../../url/fingerprint.js'
import type { Json } from '../../url/link.js'
import { parseUrl } from '../../url/parse-url.js'
import { guide } from '../help.js'
import { refuseUnknown } from '../known-names.js'
import { type RecordFlags, recordFilters, recordQuery } from '../record-filters.js'
import { acts, type Session, shellWord, wholeNumber } from '../session.js'
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

interface GetFlags {
  readonly url?: string
  readonly key?: string
  readonly kind?: string
  readonly spider?: string
}

function getCommand(records: Command): void {
  const get = records
    .command('get')
    .description('show the records of one key or one page in full')
    .argument('[key]', 'record key, or the URL of the page')
    .option('--url <url>', 'page the records came from')
    .option('--key <key>', 'record key, where it looks like an option')
    .option('--kind <kind>', 'only records of this kind')
    .option('--spider <name>', 'only records of this spider')
    .action(
      acts(async (session, word: string | undefined, flags: GetFlags) => {
        const queries = queriesOf(word, flags)
        await session.withResults(async ({ store, pages }) => {
          for (const query of queries) {
            let found = 0
            for await (const record of store.records.scan(query)) {
              found += 1
              const page = { fp: fingerprint(record.url), crawl: record.crawl, limit: FETCHES_READ }
              const rawPage = await rawPagePath(pages, await store.fetches.of(page))
              if (session.json) session.output.json({ ...record, rawPage })
              else showRecord(session, record, rawPage)
            }
            if (found > 0) return
          }
          throw await noRecord(queries, store.records)
        })
      }),
    )
  guide(get, {
    examples: [
      ['records get B-0042', 'the record with this key'],
      ['records get B-0042 --kind book --json', 'one book, as JSON'],
      ['records get https://books.example/catalogue/tome_1/index.html', 'the records of that page'],
    ],
    exitCodes: ['notFound'],
  })
}

/** Tried one after the other: a record that has no other key has the URL of its page as one. */
function queriesOf(word: string | undefined, flags: GetFlags): readonly [RecordQuery, ...RecordQuery[]] {
  const { url, key = word, kind, spider } = flags
  if (word !== undefined && flags.key !== undefined)
    throw new ShoalError('usage', `two keys: ${word} and --key ${flags.key}`, { hint: 'Pass one of them.' })
  if (url === undefined && key === undefined)
    throw new ShoalError('usage', 'no record chosen: pass its key, or the URL of its page', {
      hint: 'For example `shoal records get B-0042`; `shoal records list` shows keys.',
    })
  const rest = { ...(kind !== undefined && { kind }), ...(spider !== undefined && { spider }) }
  const ofPage = (page: string) => ({ ...rest, url: asStored(page) })
  if (url !== undefined) return [{ ...ofPage(url), ...(key !== undefined && { key }) }]
  const query = { ...rest, key: String(key) }
  return word !== undefined && parseUrl(word) !== null ? [query, ofPage(word)] : [query]
}

/** Records that are searched for a key that was meant. */
const KEYS_READ = 10_000
const KEYS_SHOWN = 3

async function noRecord([query]: readonly [RecordQuery, ...RecordQuery[]], records: Pick<Records, 'scan'>) {
  const { key, url, ...rest } = query
  const among = [
    ...(query.kind === undefined ? [] : [` of kind ${query.kind}`]),
    ...(query.spider === undefined ? [] : [` of spider ${query.spider}`]),
  ].join('')
  if (key === undefined)
    return new ShoalError('not_found', `there is no record${among} with the URL ${url}`, {
      hint: 'See what happened to it: `shoal explain <url>`.',
    })
  const near: { readonly key: string; readonly distance: number }[] = []
  let isEmpty = true
  for await (const record of records.scan({ ...rest, limit: KEYS_READ })) {
    isEmpty = false
    const distance = nameDistance(key, record.key)
    if (distance !== null) near.push({ key: record.key, distance })
  }
  const meant = near
    .sort((a, b) => a.distance - b.distance)
    .slice(0, KEYS_SHOWN)
    .map((one) => one.key)
  const list = `shoal records list${query.kind === undefined ? '' : ` --kind ${shellWord(query.kind)}`}`
  return new ShoalError(
    'not_found',
    `there is no record${among} with the key ${key}${meant.length === 0 ? '' : `, did you mean ${meant.join(', ')}?`}`,
    { hint: isEmpty ? 'List all records: `shoal records list`.' : `List keys: \`${list}\`.` },
  )
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
