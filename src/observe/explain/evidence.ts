import type { CrawlInfo, Frontier, LinkInfo } from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import type { Spider } from '../../spider/spider.js'
import type { FetchRow, RecordStore, StoredRecord } from '../../store/record-store.js'
import { readVitals } from '../vitals/read-vitals.js'
import { type Found, findLink } from './find-link.js'
import { missingPool } from './missing-pool.js'
import { type AbsenceReason, whyAbsent } from './why-absent.js'

export interface HistoryBackends {
  readonly frontier: Frontier
  readonly notes: Notes
  readonly store: Pick<RecordStore, 'fetches' | 'records'>
}

/** Everything that queue, store and workers know about a URL. */
export interface Evidence {
  readonly asked: string
  readonly found: Found
  /** The spider of the crawl that has the URL, if it can be loaded here. */
  readonly spider: Spider | null
  /** Fetches by that crawl, newest first. */
  readonly fetches: readonly FetchRow[]
  readonly records: readonly StoredRecord[]
  /** Reasons to wait that the queue does not know about. */
  readonly waits: readonly string[]
  /** Why no crawl has the URL. */
  readonly absence: readonly AbsenceReason[]
  /** Pool/proxy that a worker uses for it right now; null: none, or not reported. */
  readonly proxy: string | null
}

const FETCHES_READ = 20
const RECORDS_READ = 10
/** A page that redirected elsewhere on every fetch: only this many URLs are searched for records. */
const URLS_ASKED = 3

/** Searches the crawls, newest first. Every query uses an index, however large they are. */
export async function gatherEvidence(
  { frontier, notes, store }: HistoryBackends,
  crawls: readonly CrawlInfo[],
  asked: string,
  spiderOf: (crawl: CrawlInfo) => Promise<Spider | null>,
  now: number,
): Promise<Evidence> {
  const found = await findLink(frontier, crawls, asked, spiderOf)
  const nothing = { asked, found, spider: null, fetches: [], records: [], waits: [], absence: [], proxy: null }
  if (found.kind === 'refused') return nothing
  if (found.kind === 'never') {
    if (found.judged === null) return nothing
    const { crawl, spider, target } = found.judged
    return { ...nothing, spider, absence: await whyAbsent({ frontier, notes }, crawl, spider, target) }
  }
  const { crawl, where, target } = found
  const spider = await spiderOf(crawl)
  const fetches = await store.fetches.of({ fp: target.fp, crawl: crawl.id, limit: FETCHES_READ })
  const pending = where.link !== null && (where.state === 'queued' || where.state === 'delayed')
  return {
    ...nothing,
    ...{ spider, fetches },
    records: await recordsOf(store, crawl.spider, target.url, fetches),
    waits: pending ? await missingPool(frontier, spider, where.link.route, now) : [],
    proxy: where.state === 'leased' && where.link !== null ? await proxyOf(notes, where.link) : null,
  }
}

/** Records have the URL of the page they were read from, which is where the redirects ended. */
async function recordsOf(
  store: HistoryBackends['store'],
  spider: string,
  url: string,
  fetches: readonly FetchRow[],
): Promise<StoredRecord[]> {
  const urls = new Set([url, ...fetches.filter(({ error }) => error === null).map((row) => row.url)])
  const found: StoredRecord[] = []
  for (const one of [...urls].slice(0, URLS_ASKED)) {
    const limit = RECORDS_READ - found.length
    if (limit > 0) for await (const record of store.records.scan({ spider, url: one, limit })) found.push(record)
  }
  return found
}

async function proxyOf(notes: Notes, { worker, fp }: LinkInfo): Promise<string | null> {
  if (worker === null) return null
  const received = (await readVitals(notes, [worker])).get(worker)
  const proxy = received?.vitals.inFlight.find((one) => one.fp === fp)?.proxy ?? null
  return proxy === null ? null : `${proxy.pool}/${proxy.proxy}`
}
