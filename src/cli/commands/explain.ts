import type { Command } from 'commander'
import { EXIT } from '../../errors.js'
import type { CrawlInfo } from '../../frontier/frontier.js'
import { type Evidence, gatherEvidence } from '../../observe/explain/evidence.js'
import type { Found } from '../../observe/explain/find-link.js'
import { type UrlHistory, urlHistoryOf } from '../../observe/explain/url-history.js'
import { whyChanged } from '../../observe/explain/why-there.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { spiderOfCrawl } from '../export/source-memory.js'
import { guide } from '../help.js'
import { acts, type Session } from '../session.js'
import { clean } from '../terminal/clean.js'
import { count } from '../terminal/format.js'
import { rawPagePath } from '../views/link-view.js'
import { showUrlHistory } from '../views/url-history-view.js'

/** Older crawls are only searched when named. */
export const CRAWLS_ASKED = 50

export function explainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description('show the history of a URL: its state and why, how it was found, every attempt, and its records')
    .argument('<url>')
    .option('--crawl <crawl>', 'only this crawl: its id, a prefix of it, or a spider name')
    .option('--spider <file>', 'check the URL against this spider file (default: the one the crawl ran with)')
    .action(
      acts(async (session, url: string, flags: { crawl?: string; spider?: string }) =>
        session.withBackends(async (backends) => {
          const all = await crawlsNewestFirst(backends.frontier)
          const asked = flags.crawl === undefined ? all.slice(0, CRAWLS_ASKED) : [chooseCrawl(all, flags.crawl)]
          const now = backends.queueClock.now()
          const evidence = await gatherEvidence(backends, asked, url, await spiderFinder(session, flags.spider), now)
          const { found } = evidence
          if (found.kind === 'never') showNever(session, found, evidence)
          else if (found.kind === 'refused') showRejected(session, found)
          else {
            const rawPage = await rawPagePath(backends.pages, evidence.fetches)
            const history = urlHistoryOf(evidence, found.crawl, now)
            if (session.json) session.output.json(asJson(evidence, history, rawPage))
            else showUrlHistory(session, history, evidence, rawPage, now)
          }
          return found.kind === 'never' ? EXIT.notFound.code : EXIT.ok.code
        }),
      ),
    )
  guide(command, {
    examples: [
      [
        'explain https://books.example/catalogue/page-3',
        'queued, delayed, in flight, done, dead, skipped, out of scope or never seen',
      ],
      ['explain https://books.example/x --spider books.ts --json', 'checked against that spider, as JSON'],
    ],
    exitCodes: ['notFound'],
  })
}

async function spiderFinder(session: Session, file: string | undefined) {
  if (file === undefined) return (crawl: CrawlInfo) => spiderOfCrawl(session.settings, crawl)
  const { loadSpider } = await import('../../spider/load.js')
  return (crawl: CrawlInfo) => loadSpider(file, crawl.args)
}

/** `attempts` is the queue's own count; `history` lists each of them. */
function asJson({ fetches, records }: Evidence, history: UrlHistory, rawPage: string | null): Record<string, unknown> {
  const { asked, url, fp, crawl, spider, state, why, position, host, nextSlot, admitted, attempts, can, link } = history
  const about = { admitted, nextSlot, history: attempts, can, fetches, records, rawPage }
  if (link === null) return { state, url, fp, crawl, spider, asked, why, ...about }
  return { ...link, state, url, crawl, spider, asked, why, position, hostInfo: host, ...about }
}

type Never = Extract<Found, { kind: 'never' }>

function showNever({ json, output }: Session, found: Never, { asked, absence }: Evidence): void {
  const { print, style } = output
  const { judged, rule } = found
  const { url } = judged?.target ?? found.target
  if (json) {
    output.json({ state: 'never_seen', url, asked, rule, inScope: judged === null ? null : true, why: absence })
    return
  }
  print(`${style.yellow('never seen')}  ${clean(url)}`)
  for (const line of whyChanged(asked, found)) print(`  ${clean(line)}`)
  if (judged === null) {
    print('  no crawl has seen it; pass --spider <file> to check whether it is in scope')
    return
  }
  print('  it is in scope, but no page fetched so far links to it')
  print(`  links on pages at depth ${count(judged.spider.admit.maxDepth)} are not followed (scope.maxDepth)`)
  for (const { code, message } of absence) print(`  ${style.bold(code)}: ${clean(message)}`)
}

function showRejected({ json, output }: Session, { crawl, refusal }: Extract<Found, { kind: 'refused' }>): void {
  const { code, message } = refusal
  if (json) {
    output.json({ state: 'rejected', crawl: crawl.id, spider: crawl.spider, code, message })
    return
  }
  output.print(`${output.style.yellow('rejected')}  ${output.style.bold(code)}: ${clean(message)}`)
  output.print(`  the spider ${clean(crawl.spider)} rejects it, so it is never fetched`)
}
