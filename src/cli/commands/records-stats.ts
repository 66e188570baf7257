import { type Command, InvalidArgumentError } from 'commander'
import { driftsIn, share } from '../../quality/drift.js'
import { type FieldRow, HOUR_MS } from '../../quality/field-row.js'
import { type NeverMatched, neverMatched, neverText } from '../../quality/never-matched.js'
import { type FieldSummary, type KindSummary, summarise } from '../../quality/summary.js'
import type { FieldQuery, FieldStats } from '../../store/field-stats.js'
import type { RecordStore } from '../../store/record-store.js'
import { parseDuration } from '../../units.js'
import { guide } from '../help.js'
import { refuseUnknown } from '../known-names.js'
import type { Output } from '../output.js'
import { acts } from '../session.js'
import { clean } from '../terminal/clean.js'
import { ago, bar, count, duration, moment, plural } from '../terminal/format.js'
import { figure, shrinking } from '../terminal/table.js'

const BAR_WIDTH = 20
const DAY_MS = 86_400_000

export function recordsStatsCommand(records: Command): void {
  const stats = records
    .command('stats')
    .description('how often each field of the records is filled, and which fields have drifted')
    .argument('[spider]', 'only records of this spider')
    .option('--kind <kind>', 'only records of this kind')
    .option('--window <time>', 'time window, for example 24h or 7d', lengthOfTime, DAY_MS)
    .action(
      acts(async (session, spider: string | undefined, flags: { kind?: string; window: number }) => {
        const { output, clock, json } = session
        const { kind, window } = flags
        const of = { ...(spider === undefined ? {} : { spider }), ...(kind === undefined ? {} : { kind }) }
        await session.withResults(async ({ store }) => {
          await refuseUnknown(store, of)
          let newest = 0
          const drifts = await driftsIn(
            noticed(store.fields.scan(of), ({ hour }) => {
              newest = Math.max(newest, hour)
            }),
          )
          const since = clock.now() - window
          // The hour in which the window starts counts in full.
          const inWindow = await all(store.fields, {
            ...of,
            site: '',
            since: since - (since % HOUR_MS),
            sketches: true,
          })
          const never = await neverMatchedOf(store, of)
          const kinds = summarise(inWindow, drifts, never.flatMap(asField))
          const ofKind = (one: KindSummary) => never.filter((row) => isAbout(row, one))
          if (json)
            return output.jsonLines(kinds.map((one) => ({ ...one, neverMatched: ofKind(one).map(asJson), window })))
          if (kinds.length === 0) output.note(nothing(newest, window, clock.now()))
          kinds.forEach((one, index) => {
            if (index > 0) output.print()
            show(output, one, window)
            showNeverMatched(
              output,
              ofKind(one).filter(({ part }) => part === 'field'),
            )
          })
          const rules = never.filter(({ part }) => part === 'rule')
          if (kinds.length > 0 && rules.length > 0) output.print()
          showNeverMatched(output, rules, new Set(never.map((row) => row.spider)).size > 1)
        })
      }),
    )
  guide(stats, {
    examples: [
      ['records stats', 'the last 24 hours of all spiders'],
      ['records stats books --kind book --window 7d', 'a week of books'],
      ['records stats --json | jq .fields[].share', 'the shares as JSON'],
    ],
    exitCodes: ['notFound'],
  })
}

/** Rules and fields that found nothing in the newest crawl of each spider. */
async function neverMatchedOf(
  { crawls, matches }: Pick<RecordStore, 'crawls' | 'matches'>,
  { spider, kind }: { readonly spider?: string; readonly kind?: string },
): Promise<SpiderNeverMatched[]> {
  const newest = new Map((await crawls.notes()).map((note) => [note.spider, note.crawl]))
  const found: SpiderNeverMatched[] = []
  for (const [name, crawl] of newest) {
    if (spider !== undefined && name !== spider) continue
    for (const row of neverMatched(await matches.of(crawl))) found.push({ ...row, spider: name })
  }
  return found.filter(({ part, of }) => kind === undefined || (part === 'field' && of === kind))
}

type SpiderNeverMatched = NeverMatched & { readonly spider: string }

function asField({ spider, part, of, name }: SpiderNeverMatched): { spider: string; kind: string; field: string }[] {
  return part === 'field' ? [{ spider, kind: of, field: name }] : []
}

/** A rule is about all records of its spider: without links there are none. */
function isAbout({ spider, part, of }: SpiderNeverMatched, about: KindSummary): boolean {
  return spider === about.spider && (part === 'rule' || of === about.kind)
}

function asJson({ spider: _, ...row }: SpiderNeverMatched): NeverMatched {
  return row
}

function showNeverMatched({ style, print }: Output, never: readonly SpiderNeverMatched[], named = false): void {
  for (const row of never) {
    const what =
      row.part === 'field' ? `${row.name}: filled on 0 % of the records of the newest crawl` : neverText(row, count)
    const where = row.part === 'field' && row.selector !== '' ? `, selector \`${row.selector}\`` : ''
    const example = row.example === '' ? '' : `, for example ${row.example}`
    print(`${style.red('never')} ${clean(`${named ? `${row.spider} ` : ''}${what}${where}${example}`)}`)
  }
}

function lengthOfTime(text: string): number {
  try {
    return parseDuration(text)
  } catch {
    throw new InvalidArgumentError('Expected a duration like 24h or 7d.')
  }
}

async function all(fields: FieldStats, query: FieldQuery): Promise<FieldRow[]> {
  const rows: FieldRow[] = []
  for await (const row of fields.scan(query)) rows.push(row)
  return rows
}

async function* noticed<Row>(rows: AsyncIterable<Row>, notice: (row: Row) => void): AsyncGenerator<Row> {
  for await (const row of rows) {
    notice(row)
    yield row
  }
}

function nothing(newest: number, window: number, now: number): string {
  if (newest === 0) return 'no matching records'
  const days = Math.ceil((now - newest) / DAY_MS)
  return `no records in the last ${hours(window)}; the newest is from ${ago(newest, now)}: try --window ${days}d`
}

function show(output: Output, { spider, kind, records, rejected, fields }: KindSummary, window: number): void {
  const { style, print } = output
  const refused = rejected === 0 ? '' : `, ${style.yellow(`${count(rejected)} rejected`)}`
  print(
    `${style.bold(`${clean(spider)} ${clean(kind)}`)}: ${plural(records, 'record')} in the last ${hours(window)}${refused}`,
  )
  if (fields.length === 0) return
  output.table(
    [shrinking('field'), 'filled', figure(''), figure('distinct'), figure('failed'), 'type'],
    fields.map((field) => {
      const paint = field.drift.length > 0 ? style.red : (text: string) => text
      return [
        clean(field.field),
        paint(bar(field.share, BAR_WIDTH)),
        paint(percent(field.share)),
        `${field.exact ? '' : '~'}${count(field.distinct)}`,
        count(field.failed),
        typesText(field),
      ]
    }),
  )
  for (const { field, drift } of fields) {
    for (const { site, since, before, now } of drift) {
      const where = site === '' ? '' : ` on ${clean(site)}`
      const fell = `${percent(share(now))} of ${plural(now.records, 'record')}, was ${percent(share(before))}`
      print(`${style.red('drift')} ${clean(field)}${where}: ${fell} until ${moment(since)}`)
    }
  }
}

/** `24 h`, not `24 h 00 min`. */
function hours(window: number): string {
  return window % HOUR_MS === 0 && window < 2 * DAY_MS ? `${window / HOUR_MS} h` : duration(window)
}

/** Rounded so that 100 % means all and 0 % means none. */
function percent(part: number): string {
  if (part > 0 && part < 0.01) return '<1 %'
  return `${Math.floor(part * 100)} %`
}

/** A single type by name; several with their shares, largest first. */
function typesText({ types, filled }: FieldSummary): string {
  const there = Object.entries(types).filter(([, times]) => times > 0)
  const [only, ...others] = there.sort(([, a], [, b]) => b - a)
  if (only === undefined) return ''
  if (others.length === 0) return only[0]
  return [only, ...others].map(([name, times]) => `${name} ${percent(times / filled)}`).join(', ')
}
