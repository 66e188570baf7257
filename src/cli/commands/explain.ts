import type { Command } from 'commander'
import { EXIT } from '../../errors.js'
import type { CrawlInfo, HostInfo } from '../../frontier/frontier.js'
import { type AbsenceReason, whyAbsent } from '../../run/why-absent.js'
import type { FetchRow, StoredRecord } from '../../store/record-store.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { type Found, findLink, type Known } from '../find-link.js'
import { guide } from '../help.js'
import { fetchTable, historyTable } from '../link-view.js'
import { missingPool } from '../missing-pool.js'
import { rawPagePath } from '../raw-page.js'
import { acts, programName, type Session, shellWord } from '../session.js'
import { rememberedSpider } from '../source-memory.js'
import { clean } from '../terminal/clean.js'
import { ago, bytes, count, duration, moment, plural } from '../terminal/format.js'
import { paceText, slotText } from './status.js'

const FETCHES_SHOWN = 20
const RECORDS_SHOWN = 10
/** Older crawls are not asked unless named. */
export const CRAWLS_ASKED = 50
/** Where `explain` of the queue stops counting. */
const POSITION_CAP = 10_000

interface Evidence {
  readonly fetches: readonly FetchRow[]
  readonly records: readonly StoredRecord[]
  /** Where the newest one of this crawl lies. */
  readonly rawPage: string | null
  /** Reasons to wait that the queue does not know. */
  readonly waits: readonly string[]
  /** Of a URL that no crawl knows. */
  readonly absence: readonly AbsenceReason[]
}

export function explainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description('say where a URL is, and why')
    .argument('<url>')
    .option('--crawl <crawl>', 'only this crawl: id, beginning of it, or name of a spider')
    .option('--spider <file>', 'judge the URL by this spider (default: the one the crawl was run with)')
    .action(
      acts(async (session, url: string, flags: { crawl?: string; spider?: string }) =>
        session.withPlant(async ({ frontier, board, store, pages }) => {
          const all = await crawlsNewestFirst(frontier)
          const asked = flags.crawl === undefined ? all.slice(0, CRAWLS_ASKED) : [chooseCrawl(all, flags.crawl)]
          const spiderOf = await spiderFinder(session, flags.spider)
          const found = await findLink(frontier, asked, url, spiderOf)
          const evidence: Evidence = { fetches: [], records: [], rawPage: null, waits: [], absence: [] }
          if (found.kind === 'never' && found.judged !== null) {
            const { crawl, spider, target } = found.judged
            Object.assign(evidence, { absence: await whyAbsent({ frontier, board }, crawl, spider, target) })
          }
          if (found.kind === 'known') {
            const { url, fp } = found.target
            const records: StoredRecord[] = []
            for await (const record of store.records({ spider: found.crawl.spider, url, limit: RECORDS_SHOWN }))
              records.push(record)
            const fetches = await store.fetches({ fp, crawl: found.crawl.id, limit: FETCHES_SHOWN })
            const { link, state } = found.where
            const waits =
              link !== null && (state === 'queued' || state === 'delayed')
                ? await missingPool(frontier, await spiderOf(found.crawl), link.route, session.clock.now())
                : []
            Object.assign(evidence, { records, fetches, rawPage: await rawPagePath(pages, fetches), waits })
          }
          if (session.json) session.output.json(asJson(session, found, evidence))
          else show(session, found, evidence)
          return found.kind === 'never' ? EXIT.notFound.code : EXIT.ok.code
        }),
      ),
    )
  guide(command, {
    examples: [
      [
        'explain https://books.example/catalogue/page-3',
        'queued, delayed, in hand, done, dead, skipped, out of scope, or never seen',
      ],
      ['explain https://books.example/x --spider books.ts --json', 'judged by that spider, for a program'],
    ],
    exits: ['notFound'],
  })
}

async function spiderFinder(session: Session, file: string | undefined) {
  if (file === undefined) return (crawl: CrawlInfo) => rememberedSpider(session.settings, crawl.spider)
  const { loadSpider } = await import('../../spider/load.js')
  const spider = await loadSpider(file)
  return async () => spider
}

function asJson(session: Session, found: Found, { absence, waits, ...evidence }: Evidence): Record<string, unknown> {
  if (found.kind === 'never')
    return { state: 'never_seen', url: found.url, inScope: found.judged === null ? null : true, why: absence }
  const { id: crawl, spider } = found.crawl
  if (found.kind === 'refused') return { state: 'refused', crawl, spider, ...found.refusal }
  const { where } = found
  const reasons = [...why(where, session.clock.now(), evidence.fetches.length > 0), ...waits]
  if (where.link === null) return { state: where.state, ...found.target, crawl, spider, why: reasons, ...evidence }
  const { state, url, ...link } = where.link
  const { position, host } = where
  return { state, url, crawl, spider, why: reasons, position, ...link, hostInfo: host, ...evidence }
}

function show(session: Session, found: Found, evidence: Evidence): void {
  const { output, clock } = session
  const { style, print } = output
  if (found.kind === 'never') {
    print(`${style.yellow('never seen')}  ${clean(found.url)}`)
    if (found.judged === null) {
      print('  no crawl knows it; name the spider with --spider to see whether it is in scope')
      return
    }
    const { maxDepth } = found.judged.spider.admit
    print('  it is in scope, but no page that was read links to it')
    print(`  links on pages at depth ${count(maxDepth)} are not followed (scope.maxDepth)`)
    for (const { code, message } of evidence.absence) print(`  ${style.bold(code)}: ${clean(message)}`)
    return
  }
  if (found.kind === 'refused') {
    print(`${style.yellow('refused')}  ${style.bold(found.refusal.code)}: ${clean(found.refusal.message)}`)
    print(`  the spider ${clean(found.crawl.spider)} does not let it in, so it is never fetched`)
    return
  }
  const { where, crawl, target } = found
  const { link } = where
  const now = clock.now()
  const paint = {
    queued: style.cyan,
    delayed: style.yellow,
    leased: style.cyan,
    done: style.green,
    dead: style.red,
    skipped: style.yellow,
  }[where.state]
  print(`${paint(where.state === 'leased' ? 'in hand' : where.state)}  ${clean(target.url)}`)
  for (const line of [...why(where, now, evidence.fetches.length > 0), ...evidence.waits]) print(`  ${clean(line)}`)
  const fetch = evidence.fetches[0]
  if (where.state === 'done' && fetch !== undefined) {
    print(
      `  status ${fetch.status}, ${bytes(fetch.bytes)} in ${duration(fetch.ms)}, ${moment(fetch.at)} (${ago(fetch.at, now)})`,
    )
  }
  if (where.state === 'done') {
    const kinds = evidence.records.map((record) => `${record.kind} ${record.key}`)
    print(
      kinds.length === 0
        ? '  no records carry this URL'
        : `  ${plural(kinds.length, 'record')}: ${clean(kinds.join(', '))}`,
    )
  }
  const more =
    link === null
      ? ''
      : `, route ${clean(link.route)}, depth ${link.depth}, priority ${link.priority}, added ${ago(link.addedAt, now)}`
  print(style.dim(`  crawl ${crawl.id} of ${clean(crawl.spider)} (${crawl.state})${more}`))
  if (evidence.rawPage !== null) print(style.dim(`  raw page ${clean(evidence.rawPage)}`))
  if (evidence.fetches.length > 0) fetchTable(output, evidence.fetches)
  // A skipped link has its one reason on the second line already.
  if (link !== null && link.failures.length > (where.state === 'skipped' ? 1 : 0)) historyTable(output, link.failures)
  if (where.state === 'dead') {
    print()
    print(
      `try it again: ${style.cyan(`${programName(process.env)} dead replay ${shellWord(target.url)} --crawl ${crawl.id}${session.sameDatabase}`)}`,
    )
  }
}

/** Why a host is asked less often than the spider says. */
function slowness({ host, slowedFromMs, latencyMs }: HostInfo): string[] {
  if (slowedFromMs === null || latencyMs === null) return []
  return [
    `${host} answers slowly or with errors (${duration(latencyMs)} on average, failures count for more): it is asked less often until it is well again`,
  ]
}

/** One sentence or two for each state. */
export function why(where: Known, now: number, fetched: boolean): string[] {
  if (where.link === null) return fetched ? [] : ['the queue has seen it, and the store knows of no fetch']
  const { state, link, host, position, crawlState } = where
  const last = link.failures.at(-1)
  const held = crawlState === 'running' ? [] : [`the crawl is ${crawlState}: nothing is handed out`]
  if (state === 'queued') {
    const place =
      position === null
        ? 'it waits for its turn'
        : position >= POSITION_CAP
          ? `more than ${count(POSITION_CAP)} links of its host come first`
          : `${plural(position, 'link')} of its host ${position === 1 ? 'comes' : 'come'} first`
    return [place, ...held, `next slot of ${host.host}: ${slotText(host, now)} (${paceText(host)})`, ...slowness(host)]
  }
  if (state === 'delayed') {
    const due =
      link.dueAt === null
        ? 'later'
        : link.dueAt <= now
          ? 'now'
          : `in ${duration(link.dueAt - now)}, ${moment(link.dueAt)}`
    const cause =
      last === undefined
        ? 'it was added with a delay'
        : `attempt ${link.attempts} ended with ${last.code}: ${last.message}`
    return [`due ${due}`, cause, ...held]
  }
  if (state === 'leased') {
    const since = link.leasedAt === null ? '' : ` for ${duration(now - link.leasedAt)}`
    return [`worker ${link.worker ?? 'unknown'} has it${since}, attempt ${link.attempts + 1}`]
  }
  if (state === 'dead') {
    return [
      `${plural(link.attempts, 'attempt')}, the last ended with ${last === undefined ? 'an unknown error' : `${last.code}: ${last.message}`}`,
    ]
  }
  if (state === 'skipped')
    return [last === undefined ? 'it was given up by hand' : `not fetched: ${last.code}: ${last.message}`]
  return []
}
