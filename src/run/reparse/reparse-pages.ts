import type { Clock } from '../../clock.js'
import { asShoalError } from '../../errors.js'
import type { CrawlId } from '../../frontier/frontier.js'
import type { Harvest, Route, Spider } from '../../spider/spider.js'
import type { BlobStore } from '../../store/blob-store.js'
import { compareLease } from '../../store/judge.js'
import { type KeptPage, pageStatus } from '../../store/kept-pages.js'
import { cleanText, type PreparedRecord, prepareBatch, storedKey } from '../../store/prepare.js'
import type { GivenKey, LeasedRecord, PageReading, PageRecord } from '../../store/record-lookup.js'
import type { RecordRow, RecordStore, RejectedRow, WriteStatus } from '../../store/record-store.js'
import type { Admitter } from '../../url/admit.js'
import { type Asked, harvestPage, type PageReporter, rowsOf } from '../../worker/harvest-page.js'
import { type PageAbout, runningPage } from '../../worker/running-page.js'
import { changedFields, changeOf } from './reparse-fields.js'
import {
  emptyReport,
  list,
  noteChange,
  noteFailure,
  noteRejected,
  type ReparseReport,
  tallyOf,
} from './reparse-report.js'

/** What a reparse works with: no fetcher and no queue. */
export interface ReparseParts {
  readonly spider: Pick<Spider, 'name'>
  /** What reads the pages of a crawl: the spider, built with the arguments of that crawl. */
  readonly readerOf: (crawl: CrawlId) => PageReader
  readonly store: Pick<RecordStore, 'records' | 'lookup'>
  readonly pages: Pick<BlobStore, 'get'>
  readonly clock: Clock
  /** Nothing is written; the report says what would be. */
  readonly dryRun: boolean
  /** When the reparse started. */
  readonly startedAt: number
  /** Runs one piece of work at a time, among all pages of this thread. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** No further page is started; those read so far are written. */
  readonly isDraining: () => boolean
  /** Called with the page that a handler works on, and with null when it is done. */
  readonly onHandler: (page: number | null) => void
  /** Logs what a page logs; left out: nothing is logged. */
  readonly reporterOf?: (page: PageAbout) => PageReporter
  /** Repeats a call to either store while it is down. */
  readonly untilBack: <Answer>(call: () => Promise<Answer>) => Promise<Answer>
}

/**
 * Takes some pages from the blob store to the record store as a visit would, with the lease that fetched them: records of these pages may be
 * overwritten, records of later fetches may not. It can be repeated. A page that fails is counted and skipped.
 */
export async function reparsePages(pages: readonly KeptPage[], parts: ReparseParts): Promise<ReparseReport> {
  const report = emptyReport()
  const readings = pages.map((page) => readingOf(page, parts))
  const bodies = await parts.untilBack(() => Promise.all(readings.map((reading) => bodyOf(reading, parts))))
  const given: Given = { records: [], rejected: [], readings: [], keys: [] }
  await parts.inTurn(async () => {
    for (const [index, reading] of readings.entries()) {
      if (parts.isDraining()) break
      report.pages += 1
      const { page, link, route } = reading
      const body = bodies[index] ?? null
      if (route === null) list(report.unrouted, link.url)
      else if (!route.givesRecords) passOver(reading, report, given)
      else if (body === null) list(report.missing, page.url)
      else await readAgain({ ...reading, route }, body, index, parts, report, given)
    }
  })
  for (const row of given.rejected) noteRejected(report, row)
  if (parts.dryRun) await compare(given, parts, report)
  else await write(given, parts, report)
  return report
}

/** A spider with its filter. */
export interface PageReader {
  readonly spider: Spider
  readonly admitter: Admitter
}

/** A page, its link, and the route it was fetched for; if that route no longer exists, the one that matches the URL now. */
interface Reading {
  readonly page: KeptPage
  readonly spider: Spider
  readonly link: Asked['link']
  readonly route: Route | null
}

function readingOf(page: KeptPage, { readerOf }: ReparseParts): Reading {
  const { spider, admitter } = readerOf(page.crawl)
  const link: Asked['link'] = page.link ?? { url: page.url, depth: page.depth }
  const recorded = spider.routes.get(page.route)
  if (recorded !== undefined) return { page, spider, link, route: recorded }
  const admission = admitter.resolve(link.url, '')
  return { page, spider, link, route: admission.ok ? (spider.routes.get(admission.target.route) ?? null) : null }
}

/** All pages of a job are requested at once: the blob store reads neighbours together. */
function bodyOf({ page, route }: Reading, { pages }: ReparseParts): Promise<Uint8Array | null> | null {
  return route?.givesRecords === true ? pages.get(page.page) : null
}

/** The results of some pages. */
interface Given {
  readonly records: RecordRow[]
  readonly rejected: RejectedRow[]
  /** Of the pages whose handler finished. */
  readonly readings: PageReading[]
  /** Of all records, rejected or not. */
  readonly keys: GivenKey[]
}

/** Records from when its route still produced some are outdated all the same. */
function passOver({ page, link }: Reading, report: ReparseReport, given: Given): void {
  report.passed += 1
  given.readings.push({ url: cleanText(link.url), gen: page.gen, epoch: page.epoch })
}

async function readAgain(
  { page, spider, link, route }: Reading & { readonly route: Route },
  body: Uint8Array,
  index: number,
  { clock, onHandler, reporterOf, startedAt }: ReparseParts,
  report: ReparseReport,
  given: Given,
): Promise<void> {
  const { url, status, headers, attempt, crawl, gen, epoch, at } = page
  if (route.name !== page.route) report.rerouted += 1
  let harvest: Harvest
  try {
    onHandler(index)
    const answered = { url, status: pageStatus(status), headers: headers ?? {}, body }
    const about = { route: route.name, url: link.url }
    const options = { ruleLinks: false, reporter: reporterOf?.(about) }
    harvest = await runningPage.run(about, () => harvestPage(route, { link, attempt }, answered, clock, options))
  } catch (thrown) {
    const { code, message } = asShoalError(thrown)
    return noteFailure(report, { code, message, url: link.url })
  } finally {
    onHandler(null)
  }
  const rows = rowsOf(harvest, spider, { crawl, gen, epoch, bypassFresh: true, link }, at)
  for (const row of rows.records) given.records.push({ ...row, reparsedAt: startedAt })
  given.rejected.push(...rows.rejected)
  given.readings.push({ url: cleanText(link.url), gen, epoch })
  for (const { site, kind, key } of rows.records) given.keys.push({ site: cleanText(site), kind, key: storedKey(key) })
  for (const { site, kind, key } of rows.rejected) given.keys.push({ site: cleanText(site), kind, key: storedKey(key) })
}

async function write({ records, rejected, readings, keys }: Given, parts: ReparseParts, report: ReparseReport) {
  const { spider, store, untilBack } = parts
  // Both at once, so that they travel to the database thread together.
  const [statuses, left] = await untilBack(() =>
    Promise.all([
      records.length + rejected.length === 0 ? [] : store.records.write({ records, rejected, fetches: [] }),
      readings.length === 0 ? [] : store.lookup.leftOver(spider.name, readings, keys),
    ]),
  )
  statuses.forEach((status, index) => {
    const row = records[index]
    if (row !== undefined) tallyOf(report, row.kind)[JUDGED[status]] += 1
  })
  for (const record of left) noteGone(report, record)
}

/** `fresh` cannot happen: the freshness window is off. */
const JUDGED = {
  written: 'written',
  unchanged: 'unchanged',
  fresh: 'unchanged',
  fenced: 'fenced',
  quarantined: 'rejected',
} as const satisfies Record<WriteStatus, string>

function noteGone(report: ReparseReport, { kind, key, url }: PageRecord): void {
  tallyOf(report, kind).gone += 1
  list(report.gone, { kind, key, url })
}

async function compare({ records, readings, keys }: Given, parts: ReparseParts, report: ReparseReport) {
  const { spider, store, untilBack } = parts
  const { prepared } = prepareBatch({ records, rejected: [], fetches: [] })
  for (const row of prepared.rejected) {
    noteRejected(report, { ...row, issues: JSON.parse(row.issues) as RejectedRow['issues'] })
  }
  // If a page produced several records with one key, the last one wins, as in a write.
  const last = new Map(prepared.records.map((row) => [JSON.stringify([row.site, row.kind, row.key, row.url]), row]))
  const rows = [...last.values()]
  const wanted = rows.map(({ site, kind, key }) => ({ spider: spider.name, site, kind, key }))
  const [stored, left] = await untilBack(() =>
    Promise.all([store.lookup.byKeys(wanted), store.lookup.leftOver(spider.name, readings, keys)]),
  )
  rows.forEach((row, index) => {
    judgeRow(row, stored[index] ?? null, report)
  })
  for (const record of left) noteGone(report, record)
}

function judgeRow(row: PreparedRecord, stored: LeasedRecord | null, report: ReparseReport): void {
  const tally = tallyOf(report, row.kind)
  if (stored === null) {
    tally.written += 1
    tally.added += 1
  } else if (compareLease(row, stored) < 0) tally.fenced += 1
  else {
    const changes = changedFields(stored.data, JSON.parse(row.data))
    // It is part of the content: a kind that now has one is written even if nothing else changed.
    if (row.identity !== stored.identity) changes.push(changeOf('(identity)', stored.identity, row.identity))
    tally[changes.length === 0 ? 'unchanged' : 'written'] += 1
    for (const change of changes) noteChange(report, row, change)
  }
}
