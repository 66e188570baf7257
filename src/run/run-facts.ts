import type { CrawlId, Frontier } from '../frontier/frontier.js'
import type { MatchRow } from '../quality/match-row.js'
import type { Spider } from '../spider/spider.js'
import type { Records } from '../store/record-store.js'
import type { Backends } from '../wire/backends.js'
import type { Failed, RouteFacts, RunFacts } from './why-nothing.js'

/** So many skipped links are read to count their reasons. */
const SKIPPED_READ = 1_000

type GatheredFacts = Pick<RunFacts, 'dead' | 'skipped' | 'rejectedFields' | 'rejectedWhy' | 'routes'>

/** What only matters if a crawl has no pages or no records. */
export async function gatherFacts(
  { frontier, store }: Pick<Backends, 'frontier' | 'store'>,
  crawl: CrawlId,
  spider: Pick<Spider, 'name' | 'routes'>,
  matches: readonly MatchRow[],
): Promise<GatheredFacts> {
  const about = { spider: spider.name, crawl }
  return {
    dead: await deadLinks(frontier, crawl),
    skipped: await skippedLinks(frontier, crawl),
    // With millions of rejected records this query may time out; the run has finished all the same.
    rejectedFields: await store.records.rejectedByField(about).catch(() => []),
    rejectedWhy: await newestRejection(store.records, spider.name),
    routes: routeFacts(spider, matches),
  }
}

async function deadLinks(frontier: Pick<Frontier, 'deadByError' | 'links'>, crawl: CrawlId): Promise<Failed[]> {
  const groups = await frontier.deadByError(crawl)
  return Promise.all(
    groups.map(async ({ code, count }) => {
      const [link] = await frontier.links({ crawl, state: 'dead', code, limit: 1 })
      return { code, count, message: link?.failures.at(-1)?.message ?? '' }
    }),
  )
}

async function skippedLinks(frontier: Pick<Frontier, 'links'>, crawl: CrawlId): Promise<Failed[]> {
  const found = new Map<string, Failed>()
  for (const link of await frontier.links({ crawl, state: 'skipped', limit: SKIPPED_READ })) {
    const { code = 'unknown', message = '' } = link.failures.at(-1) ?? {}
    const before = found.get(code)
    found.set(code, before === undefined ? { code, count: 1, message } : { ...before, count: before.count + 1 })
  }
  return [...found.values()].sort((a, b) => b.count - a.count)
}

async function newestRejection(records: Pick<Records, 'rejected'>, spider: string): Promise<string> {
  for await (const { issues } of records.rejected({ spider, limit: 1 })) return issues[0]?.message ?? ''
  return ''
}

function routeFacts({ routes }: Pick<Spider, 'routes'>, matches: readonly MatchRow[]): RouteFacts[] {
  return [...routes.values()].map(({ name, givesRecords }) => {
    const row = matches.find(({ part, of }) => part === 'route' && of === name)
    return { name, givesRecords, pages: row?.seen ?? 0, gave: row?.matched ?? 0 }
  })
}
