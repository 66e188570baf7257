import type { CrawlInfo, CrawlState } from '../frontier/frontier.js'
import type { VisitCounts } from '../store/visits.js'
import type { DescribedLinks } from '../url/filter-reasons.js'

/** What is known at the end of a run about a crawl that fetched no page, or stored no record. */
export interface RunFacts {
  readonly state: CrawlState
  readonly endedBy: CrawlInfo['endedBy']
  readonly interrupted: boolean
  readonly resumed: boolean
  /** Of the crawl, and of this run alone. */
  readonly pages: number
  readonly pagesNow: number
  readonly records: number
  readonly rejected: number
  readonly fresh: number
  /** Links that the queue had no room or no budget for. */
  readonly refused: number
  readonly seeds: { readonly added: number; readonly known: number; readonly refused: number }
  /** Sources of start URLs that had none, as in `sitemap of https://a.example`. */
  readonly emptySources: readonly string[]
  readonly dead: readonly Failed[]
  readonly skipped: readonly Failed[]
  readonly filtered: readonly DescribedLinks[]
  readonly rejectedFields: readonly { readonly kind: string; readonly field: string; readonly count: number }[]
  /** Of one rejected record. */
  readonly rejectedWhy: string
  readonly routes: readonly RouteFacts[]
  readonly visits: VisitCounts | null
}

/** Links that ended with the same code. */
export interface Failed {
  readonly code: string
  readonly count: number
  /** Of one of them. */
  readonly message: string
}

export interface RouteFacts {
  readonly name: string
  readonly givesRecords: boolean
  /** Pages that it read, and those of them that produced a record. */
  readonly pages: number
  readonly gave: number
}

/** So many of the most frequent reasons of each kind. */
const MOST = 3

const NOTHING_LEFT = 'the resumed crawl had nothing left to fetch: pass --fresh to start a new one'

/** Why there is no page, or no record, one sentence for each reason; none if there are records. */
export function whyNothing(facts: RunFacts): string[] {
  if (facts.pages === 0) return whyNoPages(facts)
  const nothingLeft = facts.pagesNow === 0 && facts.resumed && !facts.interrupted ? [NOTHING_LEFT] : []
  return facts.records > 0 ? nothingLeft : [...nothingLeft, ...whyNoRecords(facts)]
}

function whyNoPages(facts: RunFacts): string[] {
  const { dead, skipped, seeds, emptySources } = facts
  const reasons = [
    ...dead.slice(0, MOST).map((one) => `${links(one.count)} failed with ${failureText(one)}`),
    ...skipped.slice(0, MOST).map((one) => `${links(one.count)} skipped with ${failureText(one)}`),
    ...emptySources.map((source) => `no start URLs in the ${source}`),
    ...(seeds.refused > 0 ? [`${count(seeds.refused, 'start URL')} rejected: out of scope, or not a URL`] : []),
    ...ending(facts),
    ...(facts.refused > 0 ? [noRoom(facts.refused)] : []),
  ]
  if (reasons.length > 0) return reasons
  if (facts.resumed) return [NOTHING_LEFT]
  if (seeds.known > 0)
    return [`${count(seeds.known, 'start URL')} seen before: see \`dedupe\` in the spider, or pass --fresh`]
  return seeds.added === 0 ? ['there was no start URL'] : []
}

function ending({ endedBy, state, interrupted }: RunFacts): string[] {
  if (endedBy === 'budget_time') return ['the time budget was used up before the first page']
  if (endedBy === 'budget_bytes') return ['the byte budget was used up before the first page']
  if (state === 'cancelled') return ['the crawl was cancelled before the first page']
  return interrupted ? ['it was stopped before the first page'] : []
}

function whyNoRecords(facts: RunFacts): string[] {
  const { routes, rejected, fresh, visits } = facts
  if (rejected > 0) return [rejectedText(facts)]
  // The summary has a line for each of these.
  if (fresh > 0 || isAllUnchanged(visits, facts.pages)) return []
  const producing = routes.filter(({ givesRecords }) => givesRecords)
  if (producing.length === 0) {
    const names = routes.map(({ name }) => name).join(', ')
    return [
      `no route produces records: ${names} only ${routes.length === 1 ? 'follows' : 'follow'} links (add \`record\` or a handler)`,
    ]
  }
  return producing
    .flatMap((route) =>
      route.pages === 0
        ? [`no page for route ${route.name} was fetched`]
        : [`route ${route.name} read ${count(route.pages, 'page')}, and none produced a record`],
    )
    .concat(producing.every(({ pages }) => pages > 0) ? [] : whyNoLinks(facts))
}

/** Why no link led to a page that could have produced a record, in addition to rules that never matched: those have lines of their own. */
function whyNoLinks({ filtered, refused, dead, skipped }: RunFacts): string[] {
  const rejected = filtered.filter(({ effect }) => effect === 'rejected')
  return [
    ...rejected
      .slice(0, MOST)
      .map(
        ({ words, setting, count: times }) =>
          `${count(times, 'link')} rejected: ${words}${setting === null ? '' : ` (${setting})`}`,
      ),
    ...dead.slice(0, MOST).map((one) => `${links(one.count)} failed with ${failureText(one)}`),
    ...skipped.slice(0, MOST).map((one) => `${links(one.count)} skipped with ${failureText(one)}`),
    ...(refused > 0 ? [noRoom(refused)] : []),
  ]
}

function rejectedText({ rejected, rejectedFields, rejectedWhy }: RunFacts): string {
  const fields = rejectedFields
    .slice(0, MOST)
    .map(({ kind, field, count: times }) => `${field === '' ? kind : `${kind}.${field}`} × ${plain(times)}`)
  const all = rejected === 1 ? 'the only record was rejected' : `all ${plain(rejected)} records were rejected`
  return `${all}${fields.length === 0 ? '' : `: ${fields.join(', ')}`}${rejectedWhy === '' ? '' : ` (${rejectedWhy})`}`
}

function isAllUnchanged(visits: VisitCounts | null, pages: number): boolean {
  return visits !== null && pages > 0 && visits.notModified + visits.sameBody >= pages
}

function noRoom(refused: number): string {
  return `${count(refused, 'link')} rejected: the queue was full or a budget was used up`
}

/** The message is that of one URL. */
function failureText({ code, count: urls, message }: Failed): string {
  if (message === '') return code
  return urls === 1 ? `${code}: ${message}` : `${code}, for example: ${message}`
}

function links(value: number): string {
  return count(value, 'URL')
}

function count(value: number, one: string): string {
  return `${plain(value)} ${value === 1 ? one : `${one}s`}`
}

function plain(value: number): string {
  return value.toLocaleString('en-US')
}
